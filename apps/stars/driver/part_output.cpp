// SPDX-License-Identifier: Apache-2.0
// How a part reads its state for files and reports.
#include <utility>

#include "driver/naming_rank.hpp"
#include "driver/part.hpp"

namespace stars {

using starling::task;

/// Copies the own leaves of the present state, unless there is a copy.
task<> part::hold() {
  if (m_held) co_return;
  snapshot now = co_await m_simulation->gather();
  m_held = std::move(now);
}

task<part_state> part::state() {
  co_await hold();
  starling::aggregation_statistics aggregated = m_aggregated;
  aggregated += m_simulation->aggregated();
  co_return part_state{m_held->step, m_held->time, m_outflow, aggregated, m_bytes_sent};
}

task<domain_sums> part::add_sums(domain_sums sums) {
  co_await hold();
  const auto flow = make_problem(m_setup.origin.chosen);
  sums.add(*m_held, m_mine.first, flow->gravity);
  co_return sums;
}

task<state_record> part::add_record(state_record record) {
  co_await hold();
  const auto flow = make_problem(m_setup.origin.chosen);
  record.add(*m_held, m_mine.first, *flow);
  co_return record;
}

task<std::vector<std::uint32_t>> part::write_leaves(restart_place place) {
  co_await hold();
  co_return naming_rank([&] { return write_restart_part(place, m_mine.first, m_held->data); });
}

task<> part::make_nodes(starling::callback<part_outcome> done) {
  co_await hold();
  m_nodes = std::make_unique<node_means>(m_held->grid.tree(), m_first, this_index(), m_held->data);
  co_await exchange_octants(*m_nodes);
  const part_outcome outcome;
  contribute(outcome, any_outcome(), done);
}

/// Does the transfers in their order. A message has the number of the plot and of the child.
task<> part::exchange_octants(node_means& nodes) {
  const std::int64_t plot = m_plots++ << 32;
  for (const octant_transfer& t : nodes.transfers()) {
    if (t.from == this_index()) {
      const auto to = this_array()[t.to];
      to.invoke<&part::octant_from>(plot + t.child, nodes.give(t));
    } else {
      const std::vector<double> cells = co_await when<&part::octant_from>(plot + t.child);
      nodes.take(t, cells);
    }
  }
}

plot_records part::write_grids(std::string folder) {
  const auto nodes = std::exchange(m_nodes, nullptr);
  return naming_rank([&] { return write_plot_part(folder, *m_held, *nodes); });
}

void part::write_boxes(vtkhdf_place place) {
  const auto nodes = std::exchange(m_nodes, nullptr);
  naming_rank([&] { write_vtkhdf_part(place, *m_held, *nodes); });
}

}  // namespace stars
