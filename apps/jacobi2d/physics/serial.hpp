// SPDX-License-Identifier: Apache-2.0
/// \file
/// The serial solver of the whole grid: the reference that every solver must match bit by bit.
#pragma once

#include <vector>

#include "problems.hpp"

namespace jacobi2d {

/// Two loops over separate arrays; shares no code with the kernels.
class serial_solver {
 public:
  explicit serial_solver(const problem& start);

  void step();
  /// Returns the value of a cell of the grid, each coordinate in -1 … n.
  [[nodiscard]] float at(int x, int y) const { return m_now[index(x, y)]; }
  /// Returns the largest change of a cell in the last step.
  [[nodiscard]] double change() const;
  [[nodiscard]] std::uint64_t checksum() const;
  /// Returns the largest distance from the analytic solution of `mode`.
  [[nodiscard]] double error(const problem& start) const;
  [[nodiscard]] long steps() const { return m_steps; }

 private:
  [[nodiscard]] std::size_t index(int x, int y) const {
    const auto n = [](int i) { return static_cast<std::size_t>(i); };
    return n(x + 1) + n(m_grid.x + 2) * n(y + 1);
  }
  template <class Visit>
  void for_each_cell(Visit visit) const;

  extent m_grid;
  std::vector<float> m_now, m_next;
  long m_steps = 0;
};

}  // namespace jacobi2d
