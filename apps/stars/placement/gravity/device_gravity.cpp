// SPDX-License-Identifier: Apache-2.0
#include "placement/gravity/device_gravity.hpp"

#include <starling/core/error.hpp>

#include "common/upload.hpp"
#include "placement/launch.hpp"

namespace stars {

device_gravity::device_gravity(starling::device& where, starling::stream& queue, const octree& tree,
                               double xscale, const gravity_options& options)
    : m_options(options), m_tables(tree, xscale, options.theta),
      m_sizes(m_tables.leaf_count(), m_tables.interior_count()),
      m_target{lanes_of(where), where.properties().group_scratch_bytes},
      m_copy(apps::upload(where, queue, m_tables.bytes())), m_plan(m_tables.plan(m_copy.data())) {
  const auto allocate = [&](std::size_t size) {
    return where.allocate<double>(starling::memory_kind::device, size, queue);
  };
  m_masses = allocate(m_sizes.masses);
  m_centres = allocate(m_sizes.centres);
  m_moments = allocate(m_sizes.moments);
  m_expansions = allocate(m_sizes.expansions);
  m_corrections = allocate(m_sizes.corrections);
}

void device_gravity::solve(starling::stream& queue, const density_view& density,
                           centres_kind centres, double* results) {
  if (centres == centres_kind::kept && !m_has_centres)
    throw starling::usage_error("device_gravity: no solve has found centres of mass yet");
  for_each_kernel(density, centres, results,
                  [&queue](const auto& kernel) { submit(queue, kernel); });
  m_has_centres = true;
}

std::size_t device_gravity::bytes() const {
  const std::size_t numbers =
      m_sizes.masses + m_sizes.centres + m_sizes.moments + m_sizes.expansions + m_sizes.corrections;
  return m_copy.size() + sizeof(double) * numbers;
}

}  // namespace stars
