// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include <starling/core/error.hpp>
#include <starling/core/task.hpp>
#include <starling/device/buffer.hpp>
#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

#include "common/physics/shape.hpp"

/// The cells of an array on a device as a checkpoint has them: on the host, without ghosts and
/// padding, in rows along x and planes of rows. They are the same for every device.
namespace apps {

/// The rows of cells in an array.
struct cell_rows {
  triple n;          ///< cells along each axis
  offset first = 0;  ///< offset of cell 0 0 0 in the array
  offset pitch = 0;  ///< distance of a cell to its neighbour in y
  offset plane = 0;  ///< distance of a cell to its neighbour in z

  [[nodiscard]] offset count() const { return offset{n.x} * n.y * n.z; }
  /// Calls visit(offset in the array, number of the cell) for the first cell of each row.
  template <class Visit>
  void for_each(Visit visit) const {
    offset number = 0;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y, number += n.x) visit(first + y * pitch + z * plane, number);
  }
};

/// Returns the cells of `array`, which has all values when `s` has passed this point.
template <class T>
starling::task<std::vector<T>> stored_cells(starling::device& where, starling::stream& s,
                                            const starling::buffer<T>& array, cell_rows rows) {
  auto on_host = where.allocate<T>(starling::memory_kind::pinned, array.size(), s);
  s.copy(on_host, array);
  co_await s.completion();
  std::vector<T> cells;
  cells.reserve(std::size_t(rows.count()));  // instead of a size, which would clear the memory
  rows.for_each([&](offset at, offset) {
    cells.insert(cells.end(), on_host.data() + at, on_host.data() + at + rows.n.x);
  });
  co_return cells;
}

/// Sets the cells of `array` in the order of `s`. Ghosts and padding keep their values. `cells` and
/// `array` must exist until the task has ended.
/// @throws starling::usage_error if there are more or fewer cells
template <class T>
starling::task<> restore_cells(starling::device& where, starling::stream& s,
                               starling::buffer<T>& array, cell_rows rows,
                               const std::vector<T>& cells) {
  if (offset(cells.size()) != rows.count())
    throw starling::usage_error(
        fmt::format("{} stored cells instead of {}: this state is that of "
                    "another part of the grid",
                    cells.size(), rows.count()));
  auto on_host = where.allocate<T>(starling::memory_kind::pinned, array.size(), s);
  s.copy(on_host, array);
  co_await s.completion();
  rows.for_each([&](offset at, offset number) {
    std::copy_n(cells.data() + number, rows.n.x, on_host.data() + at);
  });
  s.copy(array, on_host);
}

}  // namespace apps
