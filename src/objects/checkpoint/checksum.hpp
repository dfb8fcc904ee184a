// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace starling::detail {

/// XXH3, 64 bits, of bytes that arrive in pieces. The value depends on the bytes only, not on the
/// pieces, the processor or the version of the library.
class checksum {
 public:
  checksum();
  checksum(checksum&&) noexcept;
  checksum& operator=(checksum&&) noexcept;
  ~checksum();

  void add(std::span<const std::byte> bytes);
  /// Returns the checksum of the bytes since the construction or the last `reset`.
  [[nodiscard]] std::uint64_t value() const;
  void reset();

 private:
  struct state;
  std::unique_ptr<state> m_state;
};

[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace starling::detail
