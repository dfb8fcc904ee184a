// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace starling::detail {

/// An exception in transit to another rank: its type if known, and its message.
struct portable_error {
  std::uint32_t kind = 0;
  std::int32_t number = 0;  // exit status, or number of the failed rank
  std::string type;         // type name, if the kind is unknown
  std::string text;

  [[nodiscard]] static portable_error of(const std::exception_ptr& error);
  /// Makes the exception again. `from`: the rank on which it was thrown; the message names it.
  [[nodiscard]] std::exception_ptr revive(int from) const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, number, type, text);
  }
};

}  // namespace starling::detail
