// SPDX-License-Identifier: Apache-2.0
#include "serial.hpp"

#include <cmath>
#include <utility>

namespace jacobi3d {

template <class Visit>
void serial_solver::for_each_cell(Visit visit) const {
  for (int z = 0; z < m_grid.z; ++z)
    for (int y = 0; y < m_grid.y; ++y)
      for (int x = 0; x < m_grid.x; ++x) visit(x, y, z);
}

serial_solver::serial_solver(const problem& start) : m_grid(start.grid()) {
  const initial_values value = start.values();
  m_now.resize(index(m_grid.x, m_grid.y, m_grid.z) + 1);
  for (int z = -1; z <= m_grid.z; ++z)
    for (int y = -1; y <= m_grid.y; ++y)
      for (int x = -1; x <= m_grid.x; ++x) m_now[index(x, y, z)] = value(x, y, z);
  m_next = m_now;
}

void serial_solver::step() {
  for_each_cell([this](int x, int y, int z) {
    const double total = at(x, y, z) + at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) +
                         at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1);
    m_next[index(x, y, z)] = total * (1.0 / 7.0);
  });
  std::swap(m_now, m_next);
  ++m_steps;
}

double serial_solver::change() const {
  double most = 0.0;
  for_each_cell([&](int x, int y, int z) {
    most = std::fmax(most, std::fabs(m_now[index(x, y, z)] - m_next[index(x, y, z)]));
  });
  return most;
}

std::uint64_t serial_solver::checksum() const {
  std::uint64_t total = 0;
  for_each_cell([&](int x, int y, int z) {
    total += checksum_of(at(x, y, z), cell_number(m_grid, x, y, z));
  });
  return total;
}

double serial_solver::error(const problem& start) const {
  const initial_values value = start.values();
  const double amplitude = start.amplitude(m_steps);
  double most = 0.0;
  for_each_cell([&](int x, int y, int z) {
    most = std::fmax(most, std::fabs(at(x, y, z) - amplitude * value(x, y, z)));
  });
  return most;
}

}  // namespace jacobi3d
