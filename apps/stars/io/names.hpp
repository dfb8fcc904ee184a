// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "mesh/mesh.hpp"

namespace stars {

/// The file in a plotfile's directory with the data that the plotfile format does not support.
inline constexpr std::string_view metadata_name = "stars.json";

/// Returns the boundary with this name, if there is one.
[[nodiscard]] constexpr std::optional<boundary_kind> find_boundary(std::string_view name) {
  for (const auto kind :
       {boundary_kind::outflow, boundary_kind::reflecting, boundary_kind::periodic})
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

}  // namespace stars
