// SPDX-License-Identifier: Apache-2.0
#include "driver/part.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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
  for (const halo& h : m_mine.halos) m_channels.emplace_back(*this, this_array()[h.other]);
}

void part::begin(std::vector<double> data) {
  starling::runtime& rt = *starling::runtime::current();
  snapshot initial = m_setup.start;
  initial.data = std::move(data);
  m_simulation =
      m_setup.place == residency::staged
          ? make_staged(rt, std::move(initial), m_setup.numerics, m_setup.staged, this)
          : make_resident(rt, std::move(initial), m_setup.numerics, m_setup.resident, this);
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

task<part_state> part::state() {
  snapshot now = co_await m_simulation->gather();
  co_return part_state{std::move(now.data),        now.step,    now.time, m_outflow,
                       m_simulation->aggregated(), m_bytes_sent};
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
  co_await m_channels[n].send(*message);
}

future<> part::receive(std::size_t n, std::span<double> message) {
  return m_self.urgent().call<&part::receive_message>(n, message);
}
task<> part::receive_message(std::size_t n, starling::rank_local<std::span<double>> message) {
  co_await m_channels[n].receive(*message);
}

starling::channel_wait part::send(std::size_t n, std::span<const double> message,
                                  starling::stream& at) {
  m_bytes_sent += double(message.size_bytes());
  return m_channels[n].send(message, at);
}
starling::borrow_wait<double> part::borrow(std::size_t n, std::size_t size, starling::stream& at) {
  return m_channels[n].borrow(at, size);
}

// --- all parts, used by the first rank

namespace {

class across_ranks final : public simulation {
 public:
  across_ranks(starling::runtime& rt, const part_setup& setup)
      : m_setup(setup), m_count(starling::rank_count()),
        m_parts(starling::create_rank_group<part>(rt, setup, m_count)) {}

  task<> begin(const snapshot& initial) {
    for (int p = 0; p < m_count; ++p)  // one by one, to save memory
      co_await m_parts[p].call<&part::begin>(leaves_of(initial, p));
  }

  task<double> step(double longest) override { co_return co_await ask<&part::step>(longest); }
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
  task<double> ask(Args... args) {
    auto [done, answer] = starling::make_reply<part_outcome>();
    m_parts.template invoke<Entry>(args..., done);
    const part_outcome outcome = co_await std::move(answer);
    if (outcome.is_faulty) throw unphysical_state(outcome.found);
    co_return outcome.dt;
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

task<std::unique_ptr<simulation>> make_across_ranks(starling::runtime& rt, const snapshot& initial,
                                                    const settings& s) {
  part_setup setup{{}, s.numerics, s.place, s.staged, s.resident};
  setup.start = {initial.grid,    initial.time,     initial.step,    initial.gamma,
                 initial.problem, initial.boundary, initial.outflow, {}};
  auto all = std::make_unique<across_ranks>(rt, setup);
  co_await all->begin(initial);
  co_return all;
}

}  // namespace stars
