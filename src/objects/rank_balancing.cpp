// SPDX-License-Identifier: Apache-2.0
#include "rank_balancing.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/job.hpp>

#include "rank_messages.hpp"

namespace starling::detail {
namespace {

using balance::diffusing_element;
using destination = balance::diffusing_rank::destination;

diffusing_element described(const element_report& r, double steps) {
  return {.worker = r.worker,
          .slot = r.slot,
          .host_seconds = r.load.host_seconds / (r.load.is_modelled ? 1 : steps),
          .device_seconds = r.load.device_seconds / (r.load.is_device_modelled ? 1 : steps),
          .state_bytes = r.load.state_bytes,
          .device_bytes = r.load.device_bytes,
          .is_anchored = r.is_anchored,
          .is_bound_to_rank = r.is_bound_to_rank};
}

}  // namespace

rank_balancing::rank_balancing(array_base& of) : m_array(of), m_kept(of.worker_count()) {}

void rank_balancing::require(bool is_right, const char* what) const {
  if (!is_right)
    throw archive_error("a message about the balancing of " + m_array.type() + ": " + what);
}

void rank_balancing::require_elements(const std::vector<diffusing_element>& elements) const {
  for (const diffusing_element& e : elements) {
    require(e.worker < m_array.space().worker_total(),
            "an element of a worker that does not exist");
    require(is_possible(e), "an impossible load");
  }
}

// --- loads

void rank_balancing::receive(int from, load_request&& m) {
  require(from == 0 && m.steps > 0, "loads are requested by rank 0");
  require(m_phase == phase::idle || m_phase == phase::summed_up, "a request during a balancing");
  m_phase = phase::collects;
  m_round = m.round;
  m_steps = m.steps;
  m_moves.clear();
  m_reports.clear();
  m_destinations = 0;
  collect();
}

void rank_balancing::collect() {
  m_missing = m_array.worker_count();
  worker& here = *m_array.local(0).home;
  for (local_elements& local : m_array.locals())
    send_call(
        *local.home,
        [this, &here, kept = &m_kept[local.index]] {
          send_call(
              here,
              [this, reports = std::exchange(*kept, {})]() mutable { add(std::move(reports)); },
              priority::high);
        },
        priority::high);
}

void rank_balancing::add(std::vector<element_report> reports) {
  if (m_array.is_closed()) return;
  std::ranges::move(reports, std::back_inserter(m_reports));
  if (--m_missing == 0) send_summary();
}

std::vector<balance::worker_place> rank_balancing::places() const {
  std::vector<balance::worker_place> found(m_array.worker_count());
  const std::vector<worker_device> devices = devices_of_workers(m_array.space().owner());
  for (std::size_t w = 0; w < std::min(found.size(), devices.size()); ++w)
    found[w] = {devices[w].key, devices[w].memory_bytes};
  return found;
}

std::vector<diffusing_element> rank_balancing::elements() const {
  std::vector<diffusing_element> found;
  for (const element_report& r : m_reports) {
    found.push_back(described(r, double(m_steps)));
    if (!is_possible(found.back()))
      throw usage_error("element " + std::to_string(r.number.element) + " of " + m_array.type() +
                        " has a load that is negative or not a number");
  }
  return found;
}

void rank_balancing::send_summary() {
  m_phase = phase::summed_up;
  // Reports of an earlier round remain if the elements of other ranks have sent theirs to rank 0.
  std::erase_if(m_reports, [this](const element_report& r) { return r.round != m_round; });
  m_rank.emplace(std::uint32_t(m_array.space().first_worker()), places(), elements());
  send_to_rank(m_array, 0, rank_summary{m_round, m_rank->loads_before()});
}

// --- rounds of diffusion

void rank_balancing::receive(int from, exchange_order&& m) {
  require(from == 0 && m.round == m_round && m_phase == phase::summed_up,
          "an exchange that is not due");
  require(m.shares.size() == m_rank->device_count() &&
              std::ranges::all_of(m.shares, [](const auto& s) { return s.ranks > 0; }),
          "other devices than those of the summary");
  m_order = std::move(m);
  m_rank->set_shares(m_order.shares);
  m_exchange = 0;
  begin_exchange();
  advance();
}

std::pair<std::vector<int>, double> rank_balancing::partners() const {
  const auto to =
      balance::diffusion::partners(std::uint32_t(m_array.space().rank()),
                                   std::uint32_t(m_array.space().rank_count()), m_exchange);
  if (to[0] == to[1]) return {{int(to[0])}, 2};
  return {{int(to[0]), int(to[1])}, 1};
}

void rank_balancing::begin_exchange() {
  m_phase = phase::loads;
  if (m_exchange == m_order.exchanges) return;
  m_load = m_rank->load();
  for (const int to : partners().first)
    send_to_rank(m_array, to, partner_load{m_round, m_exchange, m_load});
}

void rank_balancing::receive(int from, partner_load&& m) {
  require(m.round == m_round && is_exchanging(), "a load of another round");
  require(is_possible(m.load), "an impossible load");
  require(m_loads.emplace(sender(m.exchange, from), m.load).second, "a load that comes twice");
  advance();
}

void rank_balancing::receive(int from, partner_elements&& m) {
  require(m.round == m_round && is_exchanging(), "elements of another round");
  require_elements(m.elements);
  require(m_arrived.emplace(sender(m.exchange, from), std::move(m.elements)).second,
          "elements that come twice");
  advance();
}

void rank_balancing::advance() {
  while ((m_phase == phase::loads || m_phase == phase::elements) &&
         m_exchange < m_order.exchanges) {
    const auto [ranks, factor] = partners();
    const auto have = [this, needed = &ranks](const auto& inbox) {
      return std::ranges::all_of(*needed,
                                 [&](int r) { return inbox.contains(sender(m_exchange, r)); });
    };
    if (m_phase == phase::loads) {
      if (!have(m_loads)) return;
      m_phase = phase::elements;
      for (const int to : ranks) {
        const auto load = m_loads.extract(sender(m_exchange, to)).mapped();
        send_to_rank(m_array, to,
                     partner_elements{m_round, m_exchange, m_rank->give(m_load, load, factor)});
      }
    }
    if (!have(m_arrived)) return;
    for (const int from : ranks) m_rank->take(m_arrived.extract(sender(m_exchange, from)).mapped());
    ++m_exchange;
    begin_exchange();
  }
  if (m_phase == phase::loads) end_exchanges();
}

// --- the result

void rank_balancing::end_exchanges() {
  m_phase = phase::awaits;
  require(m_loads.empty() && m_arrived.empty(), "a message behind the last round of diffusion");
  balance::cost_model costs;
  costs.seconds_per_migration = m_order.seconds_per_migration;
  costs.seconds_per_byte = m_order.seconds_per_byte;
  m_result = m_rank->place(costs, m_order.ideal_seconds, m_order.tolerance);
  std::ranges::copy(m_result.moved, std::back_inserter(m_moves));
  std::map<int, std::vector<destination>> found;
  const job& j = *m_array.space().current_job();
  for (const destination& d : m_result.arrived) found[j.location_of(d.from).rank].push_back(d);
  for (auto& [rank, elements] : found)
    send_to_rank(m_array, rank, found_destinations{m_round, std::move(elements)});
  send_outcome_if_complete();
}

void rank_balancing::receive(int from, found_destinations&& m) {
  require(m.round == m_round && m_phase >= phase::loads, "destinations of another round");
  const object_space& space = m_array.space();
  const job& j = *space.current_job();
  for (const destination& d : m.elements) {
    require(d.from - space.first_worker() < m_array.worker_count(), "an element of another rank");
    require(d.to < space.worker_total() && j.location_of(d.to).rank == from,
            "a destination on another rank");
  }
  m_destinations += m.elements.size();
  std::ranges::copy(m.elements, std::back_inserter(m_moves));
  send_outcome_if_complete();
}

void rank_balancing::send_outcome_if_complete() {
  if (m_phase != phase::awaits || m_destinations < m_result.left) return;
  require(m_destinations == m_result.left, "more destinations than elements");
  m_phase = phase::idle;
  rank_outcome end;
  end.round = m_round;
  end.loads = m_result.loads;
  end.cost_seconds = m_result.cost_seconds;
  end.migrations = m_moves.size();
  end.bytes = m_result.bytes;
  if (m_array.space().report().is_on()) {
    end.reports = std::move(m_reports);
    end.moves = m_moves;
    end.devices = devices_of_workers(m_array.space().owner());
  }
  m_reports.clear();
  send_to_rank(m_array, 0, std::move(end));
}

void rank_balancing::receive(int from, exchange_end&& m) {
  require(from == 0 && m.round == m_round && m_phase == phase::idle && m_rank.has_value(),
          "the end of a balancing comes from rank 0, after its outcome");
  m_rank.reset();
  std::vector<balancing_orders> orders(m_array.worker_count());
  for (const destination& d : m_moves)
    orders[d.from - m_array.space().first_worker()].moves.push_back({d.slot, d.to, d.why});
  for (local_elements& local : m_array.locals()) {
    balancing_orders& mine = orders[local.index];
    mine.round = m_round;
    mine.skip = m.skip;
    mine.keeps_reports = true;
    mine.balancer = balancer;
    send_orders(local, std::move(mine));
  }
}

}  // namespace starling::detail
