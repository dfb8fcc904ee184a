// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <starling/core/task.hpp>
#include <starling/device/buffer.hpp>
#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

#include "common/stored_cells.hpp"
#include "common/submit.hpp"
#include "physics/decomposition.hpp"
#include "physics/group.hpp"
#include "physics/halo.hpp"
#include "physics/problems.hpp"
#include "physics/update.hpp"

namespace jacobi3d {

using apps::submit;

/// The arrays of a block on its device and the operations on them. Each operation is submitted to
/// the given stream and ordered by it alone. Iteration `it` reads array it % 2 and writes the
/// second array; its outgoing faces are in the buffers of number it % 2.
class block_memory {
 public:
  /// @throws starling::out_of_memory
  block_memory(starling::device& where, const decomposition& cut, triple place);

  [[nodiscard]] const block_layout& shape() const noexcept { return m_shape; }
  [[nodiscard]] bool has_neighbour(face f) const noexcept { return !m_faces[0][f].empty(); }
  /// Returns the buffer of the cells sent through `f` in iteration `it`.
  [[nodiscard]] std::span<double> outgoing(long it, face f) {
    return m_faces[std::size_t(it & 1)][f].span();
  }
  [[nodiscard]] double* values(long it) noexcept { return m_values[std::size_t(it & 1)].data(); }

  /// Return and set the cells of array it % 2 as a checkpoint has them, see stored_cells.hpp.
  [[nodiscard]] starling::task<std::vector<double>> cells(starling::device& where,
                                                          starling::stream& s, long it);
  starling::task<> set_cells(starling::device& where, starling::stream& s, long it,
                             const std::vector<double>& cells);

  void fill(starling::stream& s, const initial_values& initial);
  /// Makes the cell in the middle wrong.
  void spoil(starling::stream& s);
  /// Pack one face, or all faces, of the values before iteration `it`.
  void pack_face(starling::stream& s, long it, face f);
  void pack_all(starling::stream& s, long it);
  void unpack_face(starling::stream& s, long it, face f, const double* received);
  void unpack_all(starling::stream& s, long it, const received_faces& received);
  void update(starling::stream& s, long it);
  /// Do the same in two parts: the cells that need no neighbour's cells, and the remaining cells.
  void update_interior(starling::stream& s, long it);
  void update_exterior(starling::stream& s, long it);
  /// Unpacks, updates, and packs the faces that iteration `it + 1` sends.
  void step_fused(starling::stream& s, long it, const received_faces& received);

 private:
  [[nodiscard]] apps::cell_rows rows() const {
    return {m_shape.n, m_shape.at(0, 0, 0), m_shape.pitch, m_shape.plane};
  }
  [[nodiscard]] sent_faces outgoing_faces(long it);

  triple m_origin;
  block_layout m_shape;
  divided_cells m_divided;
  tiling m_tiles;
  starling::buffer<double> m_values[2];
  per_face<starling::buffer<double>> m_faces[2];  // empty if there is no neighbour
};

}  // namespace jacobi3d
