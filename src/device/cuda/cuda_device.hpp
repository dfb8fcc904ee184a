// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "../backend.hpp"
#include "cuda_sharing.hpp"
#include "cuda_stream.hpp"

namespace starling::detail {

class cuda_device final : public backend_device {
 public:
  /// `number` is CUDA's own. @throws device_error
  cuda_device(int number, word_store words);

  [[nodiscard]] const device_properties& properties() const noexcept override {
    return m_properties;
  }
  [[nodiscard]] int number() const noexcept { return m_shared.device; }

  [[nodiscard]] void* allocate(memory_kind kind, std::size_t bytes) override;
  void deallocate(memory_kind kind, void* memory, std::size_t bytes) noexcept override;

  [[nodiscard]] std::unique_ptr<backend_stream> make_stream(const stream_request& r) override;
  [[nodiscard]] std::unique_ptr<backend_stream> adopt_stream(void* native,
                                                             const stream_request& r) override;
  [[nodiscard]] std::shared_ptr<backend_event> make_event() override;
  [[nodiscard]] std::shared_ptr<backend_event> make_timed_event() override;
  [[nodiscard]] backend_partitions divide(int units) override;

  void load_kernels() override;
  bool enable_peer_access(backend_device& other) override;
  bool export_memory(const void* memory, memory_name& name) override {
    return m_sharing.export_memory(memory, name);
  }
  void* map_memory(const memory_name& name) override { return m_sharing.map_memory(name); }
  void pin(std::span<std::byte> memory) override;
  void unpin(std::span<std::byte> memory) noexcept override;

 private:
  cuda_resources m_shared;
  std::shared_ptr<cuda_event_pool> m_timed_events;
  cuda_sharing m_sharing{m_shared.device};
  device_properties m_properties;
  int m_priority_of[2];  // CUDA's priority for each Starling priority
};

/// Returns the properties of a device, with its PCI address and nearby cores. @throws device_error
[[nodiscard]] device_properties read_cuda_properties(int number);

}  // namespace starling::detail
