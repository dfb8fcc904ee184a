// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/device/memory_name.hpp>

namespace starling::resident::detail {

/// Zeroed memory of the host that other processes of it can map. Leaves nothing behind, however
/// its processes end.
class shared_memory {
 public:
  shared_memory() noexcept = default;
  /// @throws out_of_memory
  explicit shared_memory(std::size_t bytes);
  /// Another one's. Within its process that memory itself, which must live as long as this.
  /// @throws backend_unavailable where it cannot be reached
  explicit shared_memory(const memory_name& name);
  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&& other) noexcept;
  ~shared_memory();

  [[nodiscard]] memory_name name() const noexcept;
  [[nodiscard]] std::byte* data() const noexcept { return m_data; }
  [[nodiscard]] std::size_t size() const noexcept { return m_bytes; }
  /// Whether the mapping is this object's own.
  [[nodiscard]] bool is_own() const noexcept { return m_descriptor >= 0; }

 private:
  void map();
  [[nodiscard]] std::uint64_t* key() const noexcept;
  void release() noexcept;

  std::byte* m_data = nullptr;
  std::size_t m_bytes = 0;
  int m_descriptor = -1;  // −1: somebody else's mapping
};

}  // namespace starling::resident::detail
