// SPDX-License-Identifier: Apache-2.0
#include "gravity/serial_gravity.hpp"

#include <stdexcept>

#include "kernel/loop.hpp"

namespace stars {

serial_gravity::serial_gravity(const octree& tree, double xscale, const gravity_options& options,
                               gravity_form form)
    : m_options(options), m_form(form), m_tables(tree, xscale, options.theta),
      m_plan(m_tables.plan()), m_sizes(m_tables.leaf_count(), m_tables.interior_count()),
      m_memory(m_sizes, [](std::size_t size) { return std::vector<double>(size); }) {
  if (form == gravity_form::grouped)
    throw std::invalid_argument("serial_gravity: groups of threads need a device");
}

void serial_gravity::solve(const density_view& density, std::span<double> results) {
  run(density, results, centres_kind::found);
  m_has_centres = true;
}

void serial_gravity::solve_again(const density_view& density, std::span<double> results) {
  if (!m_has_centres)
    throw std::logic_error("solve_again needs the centres of mass of an earlier solve");
  run(density, results, centres_kind::kept);
}

void serial_gravity::run(const density_view& density, std::span<double> results,
                         centres_kind centres) {
  if (results.size() != m_sizes.results)
    throw std::invalid_argument("serial_gravity: the results need four numbers for each cell");
  const gravity_arrays arrays = m_memory.arrays(results.data());
  const bool corrects = m_options.corrects_torque;
  if (m_form == gravity_form::plain)
    submit_solve<gravity_form::plain>(m_plan, arrays, density, centres, corrects, {},
                                      [](const auto& kernel) { run_loop(kernel, false); });
  else
    submit_solve<gravity_form::swept>(m_plan, arrays, density, centres, corrects,
                                      {int(host_vector::size()), 0},
                                      [](const auto& kernel) { run_loop(kernel); });
}

}  // namespace stars
