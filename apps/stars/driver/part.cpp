// SPDX-License-Identifier: Apache-2.0
#include "driver/part.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mesh/regrid_plan.hpp"

namespace stars {

using starling::future;
using starling::task;

namespace {

part_plan plan_of(const part_setup& setup, int parts, int number) {
  transfer_plan whole = plan_transfers(setup.start.grid, setup.start.boundary);
  drop_direction(whole, setup.numerics.error.dropped_direction);
  return plan_part(whole, equal_parts(whole.leaves, parts), number);
}

}  // namespace

part::part(const part_setup& setup, int parts)
    : m_setup(setup), m_parts(parts), m_mine(plan_of(setup, parts, this_index())),
      m_self(this_element()), m_outflow(setup.start.outflow) {
  for (int p = 0; p < parts; ++p) m_channels.emplace_back(*this, this_array()[p]);
}

void part::begin(std::vector<double> data) {
  starling::runtime& rt = *starling::runtime::current();
  snapshot initial = m_setup.start;
  initial.data = std::move(data);
  m_simulation = make_part(rt, std::move(initial), m_setup.numerics, m_setup.place, m_setup.staged,
                           m_setup.resident, this);
}

namespace {

/// A reduction of equal outcomes, used to wait for all parts.
struct any_outcome {
  part_outcome operator()(const part_outcome& a, const part_outcome&) const { return a; }
};

}  // namespace

task<> part::step(double longest, starling::callback<part_outcome> done) {
  part_outcome outcome;
  try {
    outcome.dt = co_await m_simulation->step(longest);
  } catch (const unphysical_state& e) {
    outcome = {0.0, true, e};
  }
  contribute(outcome, any_outcome(), done);
}

task<> part::finish(starling::callback<part_outcome> done) {
  part_outcome outcome;
  try {
    co_await m_simulation->finish();
  } catch (const unphysical_state& e) {
    outcome = {0.0, true, e};
  }
  if (m_account) co_await *std::exchange(m_account, std::nullopt);
  contribute(outcome, any_outcome(), done);
}

namespace {

/// A reduction that puts the tests of all parts together.
struct all_flags {
  flags_of_parts operator()(flags_of_parts a, flags_of_parts b) const {
    for (auto& one : b.parts) a.parts.push_back(std::move(one));
    return a;
  }
};

std::vector<leaf_flags> in_order(flags_of_parts all) {
  std::sort(all.parts.begin(), all.parts.end(),
            [](const auto& a, const auto& b) { return a.part < b.part; });
  std::vector<leaf_flags> flags;
  for (const auto& one : all.parts) flags.insert(flags.end(), one.flags.begin(), one.flags.end());
  return flags;
}

}  // namespace

task<> part::regrid(std::vector<refinement_rule> rules, level_limits limits,
                    starling::callback<part_outcome> done) {
  std::vector<leaf_flags> flags = co_await m_simulation->test(std::move(rules));
  flags_of_parts own;
  own.parts.push_back({this_index(), std::move(flags)});
  flags_of_parts all = co_await reduce(std::move(own), all_flags());
  const octree& tree = m_setup.start.grid.tree();
  octree next = adapt(tree, find_marks(tree, in_order(std::move(all))), limits);
  const bool changed = !(next == tree);
  if (changed) co_await move_to(std::move(next));
  part_outcome outcome;
  outcome.changed = changed;
  contribute(outcome, any_outcome(), done);
}

/// Sends leaves to the parts that have them next, receives those from other parts meanwhile, and
/// goes on with the next tree.
task<> part::move_to(octree next) {
  const mesh before = m_setup.start.grid;
  const auto now_first = equal_parts(before.subgrid_count(), m_parts);
  const auto next_first = equal_parts(next.leaf_count(), m_parts);
  const regrid_plan plan = plan_regrid(before.tree(), next);
  leaf_sender sender(plan, now_first, next_first, this_index());
  leaf_moves kept = sender.kept();
  std::vector<double> rows = co_await m_simulation->rows_of(sender.sent());
  future<> sent = spawn(send_leaves(std::move(sender), std::move(rows)));
  m_setup.start.grid = {std::move(next), before.xscale()};
  m_mine = plan_of(m_setup, m_parts, this_index());
  std::vector<moved_leaves> received;
  const std::size_t expected = pieces_from_others(plan, now_first, next_first, this_index());
  for (std::size_t got = 0; got < expected; got += received.back().leaves.size())
    received.push_back(co_await when<&part::leaves_from>(m_regrids));
  co_await std::move(sent);
  m_regrids += 1;
  m_aggregated += m_simulation->aggregated();
  m_simulation =
      co_await m_simulation->next(m_setup.start.grid, std::move(kept), std::move(received), this);
}

task<> part::send_leaves(leaf_sender sender, std::vector<double> rows) {
  constexpr std::size_t most = 256;  // in a message: 16 MB
  const std::int64_t number = m_regrids;
  for (int p = 0; p < m_parts; ++p) {
    const auto to = this_array()[p];
    for (std::size_t begin = 0; begin < sender.pieces_for(p); begin += most) {
      co_await to.ready();
      to.invoke<&part::leaves_from>(number, sender.message(p, begin, most, rows));
    }
  }
}

std::vector<node_key> part::leaves() const {
  const auto all = m_setup.start.grid.tree().leaves();
  return {all.begin(), all.end()};
}

task<part_state> part::state() {
  snapshot now = co_await m_simulation->gather();
  starling::aggregation_statistics aggregated = m_aggregated;
  aggregated += m_simulation->aggregated();
  co_return part_state{std::move(now.data), now.step,   now.time,
                       m_outflow,           aggregated, m_bytes_sent};
}

// --- communication of the simulation

future<verdict> part::agree(const verdict& mine) {
  return m_self.urgent().call<&part::agree_with_all>(mine);
}
task<verdict> part::agree_with_all(verdict mine) {
  co_return co_await reduce(mine, worse_verdict());
}

future<> part::account(std::vector<double> amounts) {
  return m_self.urgent().call<&part::add_amounts>(std::move(amounts));
}
void part::add_amounts(std::vector<double> amounts) {
  m_account =
      spawn(pass_on(std::exchange(m_account, std::nullopt), m_accounts++, std::move(amounts)));
}

/// Passes sums from part to part, so that they are added in the order of all sub-grids. The last
/// part sends the total to the first part.
task<> part::pass_on(std::optional<future<>> before, std::int64_t count,
                     std::vector<double> amounts) {
  const std::vector<double> own = std::move(amounts);
  if (before) co_await *std::move(before);
  std::array<double, field_count> sums{};
  const auto next = this_array()[(this_index() + 1) % m_parts];
  if (this_index() > 0) sums = co_await when<&part::outflow_so_far>(count);
  for (std::size_t k = 0; k < own.size(); ++k) sums[k % field_count] += own[k];
  next.invoke<&part::outflow_so_far>(count, sums);
  if (this_index() > 0) co_return;
  sums = co_await when<&part::outflow_so_far>(count);
  for (std::size_t f = 0; f < field_count; ++f) m_outflow[f] += sums[f];
}

future<> part::send(std::size_t n, std::span<const double> message) {
  return m_self.urgent().call<&part::send_message>(n, message);
}
task<> part::send_message(std::size_t n, starling::rank_local<std::span<const double>> message) {
  m_bytes_sent += double(message->size_bytes());
  co_await channel_of(n).send(*message);
}

future<> part::receive(std::size_t n, std::span<double> message) {
  return m_self.urgent().call<&part::receive_message>(n, message);
}
task<> part::receive_message(std::size_t n, starling::rank_local<std::span<double>> message) {
  co_await channel_of(n).receive(*message);
}

starling::channel_wait part::send(std::size_t n, std::span<const double> message,
                                  starling::stream& at) {
  m_bytes_sent += double(message.size_bytes());
  return channel_of(n).send(message, at);
}
starling::borrow_wait<double> part::borrow(std::size_t n, std::size_t size, starling::stream& at) {
  return channel_of(n).borrow(at, size);
}

// --- all parts, used by the first rank

namespace {

class across_ranks final : public adaptive_simulation {
 public:
  across_ranks(starling::runtime& rt, const part_setup& setup)
      : m_setup(setup), m_count(starling::rank_count()),
        m_parts(starling::create_rank_group<part>(rt, setup, m_count)) {}

  task<> begin(const snapshot& initial) {
    for (int p = 0; p < m_count; ++p)  // one by one, to save memory
      co_await m_parts[p].call<&part::begin>(leaves_of(initial, p));
  }

  task<double> step(double longest) override {
    const part_outcome outcome = co_await ask<&part::step>(longest);
    co_return outcome.dt;
  }
  task<> finish() override { co_await ask<&part::finish>(); }

  task<snapshot> gather() override {
    snapshot all = m_setup.start;
    all.data.reserve(snapshot::size_of(all.grid));
    m_aggregated = {};
    m_bytes_sent = 0.0;
    for (int p = 0; p < m_count; ++p) {
      const part_state s = co_await m_parts[p].call<&part::state>();
      all.data.insert(all.data.end(), s.data.begin(), s.data.end());
      m_aggregated += s.aggregated;
      m_bytes_sent += s.bytes_sent;
      if (p > 0) continue;
      all.step = s.step;
      all.time = s.time;
      all.outflow = s.outflow;
    }
    co_return all;
  }

  task<bool> regrid(std::vector<refinement_rule> rules, level_limits limits) override {
    const part_outcome outcome = co_await ask<&part::regrid>(std::move(rules), limits);
    if (!outcome.changed) co_return false;
    std::vector<node_key> leaves = co_await m_parts[0].call<&part::leaves>();
    octree tree(std::move(leaves), grid().tree().boundary());
    m_setup.start.grid = {std::move(tree), grid().xscale()};
    co_return true;
  }
  [[nodiscard]] const mesh& grid() const override { return m_setup.start.grid; }

  [[nodiscard]] starling::aggregation_statistics aggregated() const override {
    return m_aggregated;
  }
  [[nodiscard]] double bytes_sent() const override { return m_bytes_sent; }

 private:
  /// Returns the state of the leaves of a part.
  [[nodiscard]] std::vector<double> leaves_of(const snapshot& from, int p) const {
    const int leaves = from.grid.subgrid_count();
    std::vector<int> first = equal_parts(leaves, m_count);
    first.push_back(leaves);
    const auto at = [&](int part) {
      return from.data.begin() + index_type{first[std::size_t(part)]} * compact.block;
    };
    return {at(p), at(p + 1)};
  }

  template <auto Entry, class... Args>
  task<part_outcome> ask(Args... args) {
    auto [done, answer] = starling::make_reply<part_outcome>();
    m_parts.template invoke<Entry>(args..., done);
    const part_outcome outcome = co_await std::move(answer);
    if (outcome.is_faulty) throw unphysical_state(outcome.found);
    co_return outcome;
  }

  part_setup m_setup;
  int m_count;
  starling::chare_array<part> m_parts;
  starling::aggregation_statistics m_aggregated;  // as of the last `gather`
  double m_bytes_sent = 0.0;
};

}  // namespace

void require_sub_grids(const mesh& grid, int ranks) {
  if (ranks > grid.subgrid_count())
    throw starling::option_error(fmt::format(
        "--level {}: {} sub-grid{} cannot be divided among {} ranks; give a higher level or start "
        "fewer ranks",
        grid.level(), grid.subgrid_count(), grid.subgrid_count() == 1 ? "" : "s", ranks));
}

task<std::unique_ptr<adaptive_simulation>> make_across_ranks(starling::runtime& rt,
                                                             const snapshot& initial,
                                                             const settings& s) {
  part_setup setup{{}, s.numerics, s.place, s.staged, s.resident};
  setup.start = {initial.grid,    initial.time,     initial.step,    initial.gamma,
                 initial.problem, initial.boundary, initial.outflow, {}};
  auto all = std::make_unique<across_ranks>(rt, setup);
  co_await all->begin(initial);
  co_return all;
}

}  // namespace stars
