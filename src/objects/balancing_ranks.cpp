// SPDX-License-Identifier: Apache-2.0
// The part of rank 0 in a balancing without a central rank: it adds up the loads of ranks, decides
// whether the ranks exchange elements, and whether the migrations pay. It sees no element.
#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <type_traits>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/objects/detail/job.hpp>

#include "objects/balance/balancers.hpp"
#include "rank_messages.hpp"

namespace starling::detail {
namespace {

template <class M>
std::vector<balance::rank_loads> loads_of(const std::vector<M>& ranks) {
  std::vector<balance::rank_loads> all;
  for (const M& r : ranks) all.push_back(r.loads);
  return all;
}

/// Number of rounds of diffusion: four times through all distances, if the balancer allows so many.
std::uint32_t rounds_of(int ranks, unsigned at_most) {
  return std::min(at_most, 4 * unsigned(std::bit_width(unsigned(ranks) - 1)));
}

}  // namespace

bool balancing_lead::is_spread() const {
  return m_balancer->name() == rank_balancing::balancer && m_array.space().rank_count() > 1 &&
         !m_array.has_insertions();
}

void balancing_lead::request_loads() {
  // Another balancer was chosen after the elements had kept their reports: it gets the next ones.
  if (!is_spread()) return finish_without_migrations(0);
  m_begin_ns = tracer::now();
  m_summaries.assign(std::size_t(m_array.space().rank_count()), {});
  m_awaited.assign(m_summaries.size(), true);
  m_awaits_outcomes = false;
  for (int r = 0; r < m_array.space().rank_count(); ++r)
    send_to_rank(m_array, r, load_request{m_round, m_skipped + 1});
}

template <class M>
bool balancing_lead::complete(std::vector<M>& all, int from, M&& m) {
  const bool is_expected = std::is_same_v<M, rank_outcome> == m_awaits_outcomes &&
                           m.round == m_round && std::size_t(from) < m_awaited.size() &&
                           m_awaited[std::size_t(from)];
  if (!is_expected || !is_possible(m.loads))
    throw archive_error("a message about the balancing of " + m_array.type() +
                        (is_expected ? " with an impossible load" : " that is not expected"));
  m_awaited[std::size_t(from)] = false;
  all[std::size_t(from)] = std::move(m);
  return std::ranges::find(m_awaited, true) == m_awaited.end();
}

void balancing_lead::receive(int from, rank_summary&& m) {
  if (!complete(m_summaries, from, std::move(m))) return;
  m_before = balance::estimate_of(loads_of(m_summaries));
  const balance::estimate& now = m_before;
  if (now.step_seconds == 0) return finish_without_migrations(0);
  if (!is_due(now)) return finish_without_migrations(skip_after(false));
  m_is_balanced = now.overfull_bytes == 0 &&
                  now.step_seconds <= now.ideal_seconds * (1 + m_balancer->options().tolerance);
  if (!m_is_balanced) return start_exchange();
  balance::plan nothing;
  nothing.before = nothing.after = now;
  record(nothing, 0, m_begin_ns);
  // With a report, the ranks describe their elements in any case.
  if (m_array.space().report().is_on()) return start_exchange();
  finish_without_migrations(skip_after(false));
}

void balancing_lead::start_exchange() {
  const std::vector<balance::rank_loads> loads = loads_of(m_summaries);
  const balance::cost_model cost = costs();
  exchange_order order;
  order.round = m_round;
  order.exchanges = m_is_balanced ? 0 : rounds_of(int(loads.size()), m_balancer->options().rounds);
  order.seconds_per_migration = cost.seconds_per_migration;
  order.seconds_per_byte = cost.seconds_per_byte;
  order.ideal_seconds = m_before.ideal_seconds;
  order.tolerance = m_balancer->options().tolerance;
  m_outcomes.assign(loads.size(), {});
  m_awaited.assign(loads.size(), true);
  m_awaits_outcomes = true;
  std::vector<std::vector<balance::device_share>> shares = balance::shares_of(loads);
  for (std::size_t r = 0; r < loads.size(); ++r) {
    order.shares = std::move(shares[r]);
    send_to_rank(m_array, int(r), order);
  }
}

void balancing_lead::receive(int from, rank_outcome&& m) {
  if (!complete(m_outcomes, from, std::move(m))) return;
  balance::plan found;
  found.before = m_before;
  found.after = balance::estimate_of(loads_of(m_outcomes));
  std::size_t migrations = 0;
  for (const rank_outcome& o : m_outcomes) {
    migrations += o.migrations;
    found.bytes += o.bytes;
    found.cost_seconds = std::max(found.cost_seconds, o.cost_seconds);
  }
  found.decision = m_is_balanced ? balance::verdict::balanced
                                 : balance::judge(found, migrations, steps_to_pay(),
                                                  m_balancer->options().minimum_gain);
  const bool migrates = found.decision == balance::verdict::migrate;
  if (!migrates) {
    found.after = found.before;
    found.bytes = 0;
    if (found.decision != balance::verdict::does_not_pay) found.cost_seconds = 0;
  }
  if (!m_is_balanced) record(found, migrates ? migrations : 0, m_begin_ns);
  if (m_array.space().report().is_on()) note_outcomes(found);
  if (!migrates) return finish_without_migrations(skip_after(false));
  m_skipped = skip_after(true);
  m_decided_ns = tracer::now();
  for (int r = 0; r < m_array.space().rank_count(); ++r)
    send_to_rank(m_array, r, exchange_end{m_round, m_skipped});
}

void balancing_lead::note_outcomes(balance::plan found) {
  std::vector<element_report> reports;
  const job& j = *m_array.space().current_job();
  for (std::size_t r = 0; r < m_outcomes.size(); ++r) {
    note_devices(j.first_worker(int(r)), m_outcomes[r].devices);
    std::ranges::move(m_outcomes[r].reports, std::back_inserter(reports));
  }
  sort_reports(reports);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> position;
  for (std::uint32_t i = 0; i < reports.size(); ++i)
    position[{reports[i].worker, reports[i].slot}] = i;
  balance::snapshot loads = snapshot_of(reports);
  balance::require_valid(loads);  // reports come from other ranks
  loads.steps = steps_to_pay();
  if (found.decision == balance::verdict::migrate)
    for (const rank_outcome& o : m_outcomes)
      for (const auto& d : o.moves) {
        const auto at = position.find({d.from, d.slot});
        if (at == position.end() || d.to >= loads.workers.size())
          throw archive_error("a migration of " + m_array.type() +
                              " from or to a place that does not exist");
        found.migrations.push_back(
            {at->second, loads.elements[at->second].id, d.from, d.to, d.why});
      }
  std::ranges::sort(found.migrations, {}, &balance::migration::element);
  note(loads, found, reports);
}

}  // namespace starling::detail
