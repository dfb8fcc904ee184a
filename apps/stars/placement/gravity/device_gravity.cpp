// SPDX-License-Identifier: Apache-2.0
#include "placement/gravity/device_gravity.hpp"

#include <starling/core/error.hpp>

#include "common/upload.hpp"
#include "placement/launch.hpp"

namespace stars {

device_gravity::device_gravity(starling::device& where, starling::stream& queue, const octree& tree,
                               double xscale, const gravity_options& options)
    : m_options(options),
      m_tables(tree, xscale, options.theta), m_target{lanes_of(where),
                                                      where.properties().group_scratch_bytes},
      m_copy(apps::upload(where, queue, m_tables.bytes())), m_plan(m_tables.plan(m_copy.data())),
      m_memory({m_tables.leaf_count(), m_tables.interior_count()}, [&](std::size_t size) {
        return where.allocate<double>(starling::memory_kind::device, size, queue);
      }) {}

void device_gravity::solve(starling::stream& queue, const density_view& density,
                           centres_kind centres, double* results) {
  if (centres == centres_kind::kept && !m_has_centres)
    throw starling::usage_error("device_gravity: no solve has found centres of mass yet");
  for_each_kernel(density, centres, results,
                  [&queue](const auto& kernel) { submit(queue, kernel); });
  m_has_centres = true;
}

}  // namespace stars
