// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/node_means.hpp"

namespace stars {

/// The fields of plots: the conserved ones, then the pressure and the three velocities.
inline constexpr std::size_t derived_fields = 4;
inline constexpr std::size_t plot_fields = stored_fields + derived_fields;
inline constexpr std::size_t plot_values = plot_fields * node_cells;

/// Returns the names of the fields in their order.
[[nodiscard]] std::vector<std::string> plot_field_names();

/// Fills `values` [plot field][z][y][x] with the fields of a node whose conserved fields are
/// `stored`.
void fill_plot_fields(std::span<const double> stored, double gamma, std::span<double> values);

}  // namespace stars
