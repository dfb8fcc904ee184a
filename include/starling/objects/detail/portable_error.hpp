// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace starling::detail {

/// An exception on its way to another rank: of a known type, or by its message.
struct portable_error {
  std::uint32_t kind = 0;
  std::int32_t number = 0;  // exit status, or the rank that has gone
  std::string type;         // where the kind is not known
  std::string text;

  [[nodiscard]] static portable_error of(const std::exception_ptr& error);
  /// `from`: the rank it comes from, which remote_error names.
  [[nodiscard]] std::exception_ptr revive(int from) const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, number, type, text);
  }
};

}  // namespace starling::detail
