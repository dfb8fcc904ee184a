// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names and shapes of the contents of a restart file.
///
/// Version 3: attributes of the root group; group `scheme` with an attribute for each parameter;
/// dataset `leaves` [leaf][level, x, y, z] with the keys of the leaves in Z-order; dataset `state`
/// [leaf][field][z][y][x]; dataset `checksums` [leaf] with the CRC-32 of the bytes of each leaf in
/// `state`. Version 2: attribute `level` in place of `leaves`, and HDF5's own checksums in `state`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "io/hdf5_operation.hpp"
#include "io/node_means.hpp"

namespace stars::restart_format {

inline constexpr std::string_view name = "sedov-restart";
inline constexpr std::int64_t version = 3;
inline constexpr std::int64_t uniform_version = 2;

inline constexpr const char* scheme = "scheme";
inline constexpr const char* leaves = "leaves";
inline constexpr const char* state = "state";
inline constexpr const char* checksums = "checksums";

inline constexpr int state_rank = 5;
using state_extents = std::array<hsize_t, state_rank>;
using leaf_extents = std::array<hsize_t, 2>;
using stored_key = std::array<std::int32_t, 4>;  ///< level, x, y, z

constexpr state_extents extents_of_state(hsize_t leaf_count) {
  return {leaf_count, stored_fields, node_edge, node_edge, node_edge};
}

}  // namespace stars::restart_format
