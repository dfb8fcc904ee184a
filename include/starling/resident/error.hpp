// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <starling/core/error.hpp>

namespace starling {

/// A resident program has ended itself because something went wrong on it: an index that is not
/// there, a mailbox without room, an entry method that called `fail`. The message names scheduler,
/// element, entry method and remedy.
class resident_error : public error {
 public:
  /// `number`: what `context::fail` was given, else 0.
  explicit resident_error(const std::string& message, std::uint32_t number = 0)
      : error(message), m_number(number) {}
  [[nodiscard]] std::uint32_t number() const noexcept { return m_number; }

 private:
  std::uint32_t m_number;
};

}  // namespace starling
