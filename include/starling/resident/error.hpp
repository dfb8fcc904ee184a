// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <starling/core/error.hpp>

namespace starling {

/// The error by which a resident program ended itself, for example an invalid index, no room for
/// another message, or a call of `context::fail` by an entry method. The message names scheduler,
/// element, entry method and remedy.
class resident_error : public error {
 public:
  /// `number`: the argument of `context::fail`, else 0.
  explicit resident_error(const std::string& message, std::uint32_t number = 0)
      : error(message), m_number(number) {}
  [[nodiscard]] std::uint32_t number() const noexcept { return m_number; }

 private:
  std::uint32_t m_number;
};

}  // namespace starling
