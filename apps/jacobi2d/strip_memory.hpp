// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <starling/device/buffer.hpp>
#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

#include "common/stored_cells.hpp"
#include "common/submit.hpp"
#include "physics/decomposition.hpp"
#include "physics/problems.hpp"
#include "physics/update.hpp"

namespace jacobi2d {

using apps::submit;

/// The two arrays of a strip on its device and the operations on them. Each operation is submitted
/// to the given stream and ordered by it alone. Iteration `it` reads array it % 2 and writes the
/// second array.
class strip_memory {
 public:
  /// @throws starling::out_of_memory
  strip_memory(starling::device& where, const decomposition& cut, int strip);

  [[nodiscard]] const strip_layout& shape() const noexcept { return m_shape; }
  [[nodiscard]] float* values(long it) noexcept { return m_values[std::size_t(it & 1)].data(); }
  /// Returns a row of the values before iteration `it`, from cell 0 on: the strip's own row at a
  /// side, or the ghost row beyond it.
  [[nodiscard]] std::span<float> own_row(long it, side d) { return row(it, m_shape.own_row(d)); }
  [[nodiscard]] std::span<float> ghost_row(long it, side d) {
    return row(it, m_shape.ghost_row(d));
  }
  [[nodiscard]] rows_beside ghosts(long it) {
    return {{ghost_row(it, side::south).data(), ghost_row(it, side::north).data()}};
  }

  /// Return and set the cells of array it % 2 as a checkpoint has them, see stored_cells.hpp.
  [[nodiscard]] starling::task<std::vector<float>> cells(starling::device& where,
                                                         starling::stream& s, long it);
  starling::task<> set_cells(starling::device& where, starling::stream& s, long it,
                             const std::vector<float>& cells);

  void fill(starling::stream& s, const initial_values& initial);
  /// Makes the cell in the middle wrong by so much that the error remains after many steps.
  void spoil(starling::stream& s);
  void update(starling::stream& s, long it, const rows_beside& beside);

 private:
  [[nodiscard]] apps::cell_rows rows() const {
    return {{m_shape.n.x, m_shape.n.y, 1}, m_shape.at(0, 0), m_shape.pitch, 0};
  }
  [[nodiscard]] std::span<float> row(long it, int y) {
    return {values(it) + m_shape.at(0, y), std::size_t(m_shape.n.x)};
  }

  int m_origin;
  strip_layout m_shape;
  tiling m_tiles;
  starling::buffer<float> m_values[2];
};

}  // namespace jacobi2d
