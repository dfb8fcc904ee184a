// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/device/memory_name.hpp>

namespace starling::resident::detail {

/// Zeroed host memory that other processes of the host can map. The system frees it in any case
/// when the last of these processes has ended.
class shared_memory {
 public:
  shared_memory() noexcept = default;
  /// Allocates and maps memory. @throws out_of_memory
  explicit shared_memory(std::size_t bytes);
  /// Maps the memory with this name. In the owner's process it refers to the owner's mapping, which
  /// must outlive this object. @throws backend_unavailable if it cannot be mapped
  explicit shared_memory(const memory_name& name);
  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&& other) noexcept;
  ~shared_memory();

  [[nodiscard]] memory_name name() const noexcept;
  [[nodiscard]] std::byte* data() const noexcept { return m_data; }
  [[nodiscard]] std::size_t size() const noexcept { return m_bytes; }
  /// Returns whether this object owns the mapping.
  [[nodiscard]] bool is_own() const noexcept { return m_descriptor >= 0; }

 private:
  void map();
  [[nodiscard]] std::uint64_t* key() const noexcept;
  void release() noexcept;

  std::byte* m_data = nullptr;
  std::size_t m_bytes = 0;
  int m_descriptor = -1;  // −1: empty, or another object's mapping
};

}  // namespace starling::resident::detail
