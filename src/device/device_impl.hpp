// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <starling/device/device.hpp>

#include "backend.hpp"
#include "collector.hpp"
#include "completion_poller.hpp"
#include "device_times.hpp"
#include "stream_state.hpp"

namespace starling {

struct device_set::impl {
  impl(runtime& owner, completion_kind how, std::unique_ptr<detail::backend> family);
  ~impl();
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  runtime& owner;
  completion_kind completion;
  std::unique_ptr<detail::backend> backend;
  detail::completion_poller poller;
};

struct device::impl {
  impl(device_set::impl& set, device_id id, std::unique_ptr<detail::backend_device> opened,
       detail::worker& home);
  ~impl();
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  /// Returns an idle recycled stream, or a new one.
  [[nodiscard]] detail::stream_state& make_stream(
      starling::priority priority, const detail::backend_partition* partition = nullptr);
  /// Returns the stream that wraps a native handle.
  [[nodiscard]] detail::stream_state& adopt(void* native);
  void recycle(detail::stream_state& s) noexcept;
  /// Waits for the work of all streams.
  void finish_streams() noexcept;
  /// Returns the collector of `slot`; makes it unless another thread has done so. Destroys
  /// abandoned collectors.
  [[nodiscard]] detail::collector& add_collector(const aggregation& how,
                                                 starling::priority priority,
                                                 std::atomic<detail::collector*>& slot);

  struct division {
    std::unique_ptr<device_partition> chosen;
    std::unique_ptr<device_partition> remainder;
  };

  device_set::impl& set;
  device_id id;
  std::unique_ptr<detail::backend_device> backend;
  detail::device_times times;
  detail::stream_context context;
  std::array<std::unique_ptr<recycling_allocator>, memory_kinds> allocators;

  std::atomic<std::uint64_t> peers{0};        // bits of devices whose memory its kernels reach
  std::atomic<std::uint64_t> unreachable{0};  // bits of devices known to be out of reach
  bool exports = true;                        // memory may be exported to other ranks of the host
  bool imports = true;                        // memory of other ranks may be imported

  std::mutex mutex;  // guards the members up to `divisions`
  std::vector<std::unique_ptr<detail::stream_state>> streams;
  std::vector<detail::stream_state*> spare;
  std::map<void*, detail::stream_state*> adopted;
  std::vector<void*> word_slabs;  // pinned memory of the completion words
  std::unique_ptr<stream_pool> pool;
  std::map<int, division> divisions;  // by the requested number of compute units
  std::mutex collecting;              // guards `collectors`; `mutex` may be taken while it is held
  std::vector<std::unique_ptr<detail::collector>> collectors;

 private:
  static constexpr std::size_t words_per_slab = 512;
  [[nodiscard]] detail::completion_word& new_word();
  [[nodiscard]] detail::stream_state& add_stream(
      starling::priority priority, const detail::backend_partition* partition = nullptr);
};

}  // namespace starling
