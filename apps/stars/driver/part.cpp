// SPDX-License-Identifier: Apache-2.0
#include "driver/part.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "driver/naming_rank.hpp"
#include "mesh/leaf_flags.hpp"
#include "mesh/regrid_plan.hpp"

namespace stars {

using starling::future;
using starling::task;

namespace {

part_plan plan_of(const part_setup& setup, std::span<const int> first_leaves, int number) {
  transfer_plan whole = plan_transfers(setup.start.grid, setup.start.boundary);
  drop_direction(whole, setup.numerics.error.dropped_direction);
  return plan_part(whole, first_leaves, number);
}

division_of_parts one_part(int part, double seconds, std::vector<leaf_flags> flags) {
  division_of_parts own;
  own.parts.push_back({part, seconds, std::move(flags)});
  return own;
}
/// A reduction that puts what comes from all parts together, in the order of the parts.
struct all_parts {
  division_of_parts operator()(division_of_parts a, division_of_parts b) const {
    division_of_parts all;
    std::merge(std::move_iterator(a.parts.begin()), std::move_iterator(a.parts.end()),
               std::move_iterator(b.parts.begin()), std::move_iterator(b.parts.end()),
               std::back_inserter(all.parts),
               [](const auto& x, const auto& y) { return x.part < y.part; });
    return all;
  }
};
std::vector<leaf_flags> flags_of(const division_of_parts& all) {
  std::vector<leaf_flags> flags;
  for (const auto& one : all.parts) flags.insert(flags.end(), one.flags.begin(), one.flags.end());
  return flags;
}
std::vector<double> seconds_of(const division_of_parts& all) {
  std::vector<double> seconds;
  for (const auto& one : all.parts) seconds.push_back(one.seconds);
  return seconds;
}

}  // namespace

part::part(const part_setup& setup, int parts)
    : m_setup(setup), m_parts(parts), m_first(equal_parts(setup.start.grid.subgrid_count(), parts)),
      m_mine(plan_of(setup, m_first, this_index())), m_self(this_element()),
      m_outflow(setup.start.outflow) {
  for (int p = 0; p < parts; ++p) m_channels.emplace_back(*this, this_array()[p]);
}

void part::begin() {
  starling::runtime& rt = *starling::runtime::current();
  snapshot initial = m_setup.start;
  initial.data = naming_rank(
      [&] { return first_data(m_setup.origin.chosen, initial.grid, m_mine.first, m_mine.count); });
  m_simulation = make_part(rt, std::move(initial), m_setup.numerics, m_setup.place, m_setup.staged,
                           m_setup.resident, this);
  m_counted = busy_so_far();  // the beginning is no step
}

void part::begin_on(std::vector<node_key> leaves) {
  m_simulation.reset();
  const mesh& before = m_setup.start.grid;
  m_setup.start.grid = {octree(std::move(leaves), before.tree().boundary()), before.xscale()};
  m_first = equal_parts(m_setup.start.grid.subgrid_count(), m_parts);
  m_mine = plan_of(m_setup, m_first, this_index());
  begin();
}

task<> part::test(starling::callback<division_of_parts> done) {
  std::vector<refinement_rule> rules = make_problem(m_setup.origin.chosen)->rules;
  std::vector<leaf_flags> flags = co_await m_simulation->test(std::move(rules));
  contribute(one_part(this_index(), 0.0, std::move(flags)), all_parts(), done);
}

task<> part::advance(step_request wanted, starling::callback<part_outcome> done) {
  part_outcome outcome;
  m_held.reset();
  try {
    outcome.done = co_await do_steps(*m_simulation, wanted);
  } catch (const unphysical_state& e) {
    outcome = {{}, true, e};
  }
  if (wanted.is_waited) co_await wait_for_account();
  contribute(outcome, any_outcome(), done);
}

task<> part::finish(starling::callback<part_outcome> done) {
  part_outcome outcome;
  try {
    co_await m_simulation->finish();
  } catch (const unphysical_state& e) {
    outcome = {{}, true, e};
  }
  co_await wait_for_account();
  contribute(outcome, any_outcome(), done);
}

task<> part::wait_for_account() {
  if (m_account) co_await *std::exchange(m_account, std::nullopt);
}

/// Returns the time of this part's work: of staged work by its clock, of resident work by the
/// runtime, which knows what the device runs for this chare.
double part::busy_so_far() { return m_busy.seconds() + load_so_far().device_elapsed_seconds; }

double part::time_to_report() {
  const auto& artificial = m_setup.balance.artificial;
  if (artificial.empty()) return busy_so_far() - m_counted;
  return artificial[std::size_t(this_index() + m_divisions) % artificial.size()];
}

task<> part::regrid(std::vector<refinement_rule> rules, level_limits limits,
                    starling::callback<part_outcome> done) {
  const double seconds = time_to_report();
  std::vector<leaf_flags> flags = co_await m_simulation->test(std::move(rules));
  division_of_parts own = one_part(this_index(), seconds, std::move(flags));
  const division_of_parts all = co_await reduce(std::move(own), all_parts());
  const octree& tree = m_setup.start.grid.tree();
  octree next = adapt(tree, find_marks(tree, flags_of(all)), limits);
  if (next.leaf_count() < m_parts)
    throw starling::option_error(
        fmt::format("the mesh has become so coarse that its {} sub-grids cannot be divided among "
                    "{} ranks; give a higher --min-level than {}, or start fewer ranks",
                    next.leaf_count(), m_parts, limits.min));
  co_await divide_again(std::move(next), seconds_of(all), std::move(done));
}

task<> part::rebalance(starling::callback<part_outcome> done) {
  division_of_parts own = one_part(this_index(), time_to_report(), {});
  const division_of_parts all = co_await reduce(std::move(own), all_parts());
  octree same = m_setup.start.grid.tree();
  co_await divide_again(std::move(same), seconds_of(all), std::move(done));
}

/// Goes on with the next tree, which may be the present one, and divides it by times of the parts.
task<> part::divide_again(octree next, std::vector<double> seconds,
                          starling::callback<part_outcome> done) {
  const octree& tree = m_setup.start.grid.tree();
  regrid_plan plan = plan_regrid(tree, next);
  const std::vector<int> from = origins_of(plan, next.leaf_count());
  const division_input in{from, m_first, tree.leaf_count()};
  part_outcome outcome;
  outcome.changed = !(next == tree);
  outcome.imbalance = imbalance_of(seconds);
  std::vector<int> first = cuts_of(in, seconds, outcome.changed);
  outcome.moved = count_moved(in, first);
  m_divisions += 1;
  if (outcome.changed || first != m_first)
    co_await move_to(std::move(next), std::move(plan), std::move(first));
  m_counted = busy_so_far();  // the change itself is no step
  contribute(outcome, any_outcome(), done);
}

std::vector<int> part::cuts_of(const division_input& in, std::span<const double> seconds,
                               bool changed) const {
  if (m_setup.balance.kind == balance_kind::time) return next_parts(in, seconds);
  return changed ? equal_parts(int(in.from.size()), m_parts) : m_first;
}

/// Sends leaves to the parts that have them next, receives those from other parts meanwhile, and
/// goes on with the next tree.
task<> part::move_to(octree next, regrid_plan plan, std::vector<int> next_first) {
  m_held.reset();
  const std::vector<int> now_first = std::exchange(m_first, std::move(next_first));
  leaf_sender sender(plan, now_first, m_first, this_index());
  leaf_moves kept = sender.kept();
  std::vector<double> rows = co_await m_simulation->rows_of(sender.sent());
  future<> sent = spawn(send_leaves(std::move(sender), std::move(rows)));
  m_setup.start.grid = {std::move(next), m_setup.start.grid.xscale()};
  m_mine = plan_of(m_setup, m_first, this_index());
  std::vector<moved_leaves> received;
  const std::size_t expected = pieces_from_others(plan, now_first, m_first, this_index());
  for (std::size_t got = 0; got < expected; got += received.back().leaves.size())
    received.push_back(co_await when<&part::leaves_from>(m_regrids));
  co_await std::move(sent);
  m_regrids += 1;
  m_aggregated += m_simulation->aggregated();
  m_simulation =
      co_await m_simulation->next(m_setup.start.grid, std::move(kept), std::move(received), this);
}

task<> part::send_leaves(leaf_sender sender, std::vector<double> rows) {
  constexpr std::size_t most = 256 * 512 / cells_per_subgrid;  // in a message: 16 MB
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
  /// Calls a function of each part at the same time. Returns their results, by part, after all of
  /// them have answered. @throws the error of the lowest part
  template <auto Entry, class... Args>
  auto each(Args... args) {
    std::vector<decltype(m_parts[0].template call<Entry>(args...))> answers;
    for (int p = 0; p < m_count; ++p) answers.push_back(m_parts[p].template call<Entry>(args...));
    return starling::when_all(std::move(answers));
  }

 public:
  across_ranks(starling::runtime& rt, const part_setup& setup)
      : m_setup(setup), m_count(starling::rank_count()),
        m_parts(starling::create_rank_group<part>(rt, setup, m_count)) {}

  /// Makes the simulations of the parts; the tests of their states may refine the tree `rounds`
  /// times.
  task<> begin(int rounds, level_limits limits) {
    if (m_setup.place == residency::resident && m_setup.balance.kind == balance_kind::time)
      m_parts.measure_loads(true);
    co_await each<&part::begin>();
    for (; rounds > 0; --rounds) {
      auto [done, answer] = starling::make_reply<division_of_parts>();
      m_parts.invoke<&part::test>(done);
      const division_of_parts all = co_await std::move(answer);
      octree next = adapt(grid().tree(), find_marks(grid().tree(), flags_of(all)), limits);
      if (next == grid().tree()) co_return;
      const std::vector<node_key> leaves(next.leaves().begin(), next.leaves().end());
      m_setup.start.grid = {std::move(next), grid().xscale()};
      co_await each<&part::begin_on>(leaves);
    }
  }

  task<double> step(double longest) override {
    const step_progress done = co_await advance({1, 0.0, longest, false});
    co_return done.dt;
  }
  task<step_progress> advance(step_request wanted) override {
    const part_outcome outcome = co_await ask<&part::advance>(wanted);
    co_return outcome.done;
  }
  task<> finish() override { co_await ask<&part::finish>(); }

  task<snapshot> header() override {
    const std::vector<part_state> states = co_await each<&part::state>();
    m_aggregated = {};
    m_bytes_sent = 0.0;
    for (const part_state& s : states) {
      m_aggregated += s.aggregated;
      m_bytes_sent += s.bytes_sent;
    }
    snapshot now = m_setup.start;
    now.step = states[0].step;
    now.time = states[0].time;
    now.outflow = states[0].outflow;
    co_return now;
  }

  task<domain_sums> sums() override {
    domain_sums all;
    for (int p = 0; p < m_count; ++p) all = co_await m_parts[p].call<&part::add_sums>(all);
    co_return all;
  }
  task<state_record> record() override {
    state_record all;
    for (int p = 0; p < m_count; ++p) all = co_await m_parts[p].call<&part::add_record>(all);
    co_return all;
  }

  task<> write_plot(std::filesystem::path path, plot_format format) override {
    const snapshot now = co_await header();
    if (format == plot_format::amrex) {
      plotfile_writer file(path, now);
      co_await ask<&part::make_nodes>();
      const auto records = co_await each<&part::write_grids>(file.path().string());
      file.commit(records);
    } else {
      vtkhdf_writer file(path, now);
      co_await ask<&part::make_nodes>();
      co_await each<&part::write_boxes>(file.place());
      file.commit();
    }
  }
  task<> write_restart(std::filesystem::path path,
                       std::map<std::string, parameter> scheme) override {
    snapshot now = co_await header();
    restart_writer file(path, {std::move(now), std::move(scheme)});
    const std::vector<std::vector<std::uint32_t>> parts =
        co_await each<&part::write_leaves>(file.place());
    std::vector<std::uint32_t> checksums;
    for (const auto& own : parts) checksums.insert(checksums.end(), own.begin(), own.end());
    file.commit(checksums);
  }

  task<bool> regrid(std::vector<refinement_rule> rules, level_limits limits) override {
    const part_outcome outcome = co_await ask<&part::regrid>(std::move(rules), limits);
    m_balanced.add(outcome.imbalance, outcome.moved);
    if (!outcome.changed) co_return false;
    std::vector<node_key> leaves = co_await m_parts[0].call<&part::leaves>();
    octree tree(std::move(leaves), grid().tree().boundary());
    m_setup.start.grid = {std::move(tree), grid().xscale()};
    co_return true;
  }
  task<bool> rebalance() override {
    const part_outcome outcome = co_await ask<&part::rebalance>();
    m_balanced.add(outcome.imbalance, outcome.moved);
    co_return outcome.moved > 0;
  }
  [[nodiscard]] balance_record balanced() const override { return m_balanced; }
  [[nodiscard]] const mesh& grid() const override { return m_setup.start.grid; }

  [[nodiscard]] starling::aggregation_statistics aggregated() const override {
    return m_aggregated;
  }
  [[nodiscard]] double bytes_sent() const override { return m_bytes_sent; }

 private:
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
  starling::aggregation_statistics m_aggregated;  // as of the last `header`
  double m_bytes_sent = 0.0;
  balance_record m_balanced;
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
                                                             const beginning& first,
                                                             const settings& s) {
  const part_setup setup{first.header, s.numerics, s.place, s.staged, s.resident, {s}, s.balance};
  auto all = std::make_unique<across_ranks>(rt, setup);
  co_await all->begin(first.rounds, limits_of(s));
  co_return all;
}

}  // namespace stars
