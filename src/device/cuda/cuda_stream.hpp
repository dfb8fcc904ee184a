// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include <cuda_runtime_api.h>

#include "../backend.hpp"
#include "cuda_driver.hpp"
#include "cuda_event.hpp"
#include "cuda_graph.hpp"

namespace starling::detail {

/// State shared by the streams of a device.
struct cuda_resources {
  int device;  // CUDA's device number
  std::shared_ptr<cuda_event_pool> events;
  std::shared_ptr<cuda_graph_cache> graphs;
  word_store words;
};

/// A CUDA stream, made here or adopted. A submission makes the stream's device current on the
/// calling thread and does not restore the previous device.
class cuda_stream final : public backend_stream {
 public:
  enum class ownership { owned, adopted };

  cuda_stream(cudaStream_t stream, ownership owner, const cuda_resources& shared) noexcept
      : m_stream(stream), m_owner(owner), m_shared(&shared) {}
  ~cuda_stream() override;

  void launch(const kernel_call& call) override;
  void copy(std::span<const transfer> transfers, member_observer* observer) override;
  void fill(void* dst, const void* value, std::size_t element, std::size_t count) override;

  void record(const std::shared_ptr<backend_event>& point) override;
  void wait(const std::shared_ptr<backend_event>& point, dependency what) override;
  void wait_native(void* event) override;

  void mark(const completion_mark& request) override;
  void synchronize() override;

  void begin_capture() override;
  [[nodiscard]] std::shared_ptr<backend_graph> end_capture() override;
  void launch_graph(const std::shared_ptr<backend_graph>& recording) override;

  [[nodiscard]] bool is_idle() override;
  [[nodiscard]] std::exception_ptr query_error() noexcept override;
  /// Also makes the stream's device current, as launches without Starling require.
  [[nodiscard]] void* native() const noexcept override;

 private:
  [[nodiscard]] bool is_unused() const noexcept;
  void fill_on_host(void* dst, const void* value, std::size_t element, std::size_t count);

  cudaStream_t m_stream;
  ownership m_owner;
  const cuda_resources* m_shared;
  // Word and number of the last requested mark. Release/acquire on the number: a thread that reads
  // it also sees the word, which never changes.
  completion_word* m_word = nullptr;
  std::atomic<std::uint64_t> m_marked{0};
  bool m_capturing = false;  // accessed by the submitter only
  // Held by one thread from the begin to the end of a capture, because a query of the stream or a
  // wait for it would invalidate the capture.
  std::mutex m_capture_lock;
};

}  // namespace starling::detail
