// SPDX-License-Identifier: Apache-2.0
#include "serial.hpp"

#include <cmath>
#include <utility>

namespace jacobi2d {

template <class Visit>
void serial_solver::for_each_cell(Visit visit) const {
  for (int y = 0; y < m_grid.y; ++y)
    for (int x = 0; x < m_grid.x; ++x) visit(x, y);
}

serial_solver::serial_solver(const problem& start) : m_grid(start.grid()) {
  const initial_values value = start.values();
  m_now.resize(index(m_grid.x, m_grid.y) + 1);
  for (int y = -1; y <= m_grid.y; ++y)
    for (int x = -1; x <= m_grid.x; ++x) m_now[index(x, y)] = value(x, y);
  m_next = m_now;
}

void serial_solver::step() {
  for_each_cell([this](int x, int y) {
    const float total = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
    m_next[index(x, y)] = total * 0.25F;
  });
  std::swap(m_now, m_next);
  ++m_steps;
}

double serial_solver::change() const {
  double most = 0.0;
  for_each_cell([&](int x, int y) {
    const double before = m_next[index(x, y)];
    most = std::fmax(most, std::fabs(at(x, y) - before));
  });
  return most;
}

std::uint64_t serial_solver::checksum() const {
  std::uint64_t total = 0;
  for_each_cell(
      [&](int x, int y) { total += apps::checksum_of(at(x, y), cell_number(m_grid, x, y)); });
  return total;
}

double serial_solver::error(const problem& start) const {
  const initial_values value = start.values();
  const double amplitude = start.amplitude(m_steps);
  double most = 0.0;
  for_each_cell([&](int x, int y) {
    most = std::fmax(most, std::fabs(at(x, y) - amplitude * value.mode(x, y)));
  });
  return most;
}

}  // namespace jacobi2d
