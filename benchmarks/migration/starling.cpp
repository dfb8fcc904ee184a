// SPDX-License-Identifier: Apache-2.0
//
// Measures migrations, the first messages after them, and what balancing gains and costs. See
// README.md.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "../common/job.hpp"
#include "../common/report.hpp"

namespace {

namespace bench = starling::bench;
using starling::callback, starling::chare_array, starling::runtime, starling::task;

/// Migrates to and fro between two workers, with a state of a given size.
struct traveller : starling::chare<traveller> {
  explicit traveller(std::size_t bytes) : m_state(bytes / sizeof(std::uint64_t)) {
    std::iota(m_state.begin(), m_state.end(), std::uint64_t(1));
  }
  explicit traveller(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_state, m_hops, m_other, m_end);
  }

  void begin(int hops, std::uint64_t other, callback<std::uint64_t> end) {
    m_hops = hops;
    m_other = other;
    m_end = std::move(end);
    this_element().template invoke<&traveller::travel>();
  }
  task<> travel() {
    while (m_hops > 0) {
      --m_hops;
      const std::size_t to = std::exchange(m_other, this_worker());
      migrate_to(to);
      co_await migration_point();
    }
    m_end.deliver(std::accumulate(m_state.begin(), m_state.end(), std::uint64_t(0)));
  }
  task<> resumed() { return travel(); }

  void go(std::uint64_t to) { migrate_to(to); }
  std::uint64_t where() { return this_worker(); }

 private:
  std::vector<std::uint64_t> m_state;
  int m_hops = 0;
  std::uint64_t m_other = 0;
  callback<std::uint64_t> m_end;
};

/// Returns the sum of numbers that cannot be computed faster than one after the other.
std::uint64_t spin(long rounds, std::uint64_t seed) {
  std::uint64_t x = seed;
  for (long i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

/// Works in steps; the first quarter of the elements works `heavy` times as long.
struct worker : starling::chare<worker> {
  worker(int steps, long rounds, int heavy, bool balances)
      : m_steps(steps), m_rounds(rounds), m_heavy(heavy), m_balances(balances) {}
  explicit worker(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_steps, m_rounds, m_heavy, m_balances, m_step, m_value, m_migrations, m_end);
  }

  using totals = std::vector<std::uint64_t>;
  void begin(callback<totals> end) {
    m_end = std::move(end);
    this_element().template invoke<&worker::run>();
  }
  task<> run() {
    const bool is_heavy = this_index() < this_array().extent().extent() / 4;
    while (m_step < m_steps) {
      m_value =
          spin(is_heavy ? m_rounds * m_heavy : m_rounds, m_value + std::uint64_t(this_index()));
      ++m_step;
      if (m_balances)
        co_await load_balance();
      else
        co_await barrier();
    }
    contribute(totals{m_value, m_migrations}, starling::reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }
  void after_migration() { ++m_migrations; }

 private:
  int m_steps = 0;
  long m_rounds = 0;
  int m_heavy = 1;
  bool m_balances = false;
  int m_step = 0;
  std::uint64_t m_value = 0;
  std::uint64_t m_migrations = 0;
  callback<totals> m_end;
};

constexpr int chares = 64;

struct settings : bench::options {
  int steps = 50;
  double unit_us = 100;  // work of a light element in one step
};

/// The value of all elements together, computed without the runtime.
std::uint64_t expected_sum(int steps, long rounds, int heavy) {
  std::uint64_t sum = 0;
  for (int i = 0; i < chares; ++i) {
    std::uint64_t value = 0;
    for (int step = 0; step < steps; ++step)
      value = spin(i < chares / 4 ? rounds * heavy : rounds, value + std::uint64_t(i));
    sum += value;
  }
  return sum;
}

/// Returns the number of rounds of `spin` that take `us` microseconds.
long rounds_for(double us) {
  using clock = std::chrono::steady_clock;
  constexpr long sample = 2'000'000;
  const auto begin = clock::now();
  volatile std::uint64_t kept = spin(sample, 1);
  static_cast<void>(kept);
  const double took = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
  return std::max(1L, std::lround(us * sample / took));
}

task<> ask_hops(const settings& chosen, bench::report& out, const std::string& name,
                std::size_t bytes, int hops) {
  if (!chosen.runs(name)) co_return;
  const auto one =
      starling::create_array<traveller>(*runtime::current(), 1, starling::placement::block, bytes);
  const std::uint64_t words = bytes / sizeof(std::uint64_t);
  const std::uint64_t last = starling::total_worker_count(*runtime::current()) - 1;
  hops = std::max(2, int(std::lround(hops * chosen.scale)));
  bench::sampling runs(chosen, name, std::uint64_t(hops));
  std::uint64_t other = last;
  while (runs.wants_more()) {
    auto [end, sum] = starling::make_reply<std::uint64_t>();
    runs.begin();
    one[0].invoke<&traveller::begin>(hops, other, end);
    const std::uint64_t found = co_await std::move(sum);
    runs.end();
    other = co_await one[0].call<&traveller::where>() == 0 ? last : 0;
    runs.judge(found + (chosen.breaks(name) ? 1 : 0) == words * (words + 1) / 2);
  }
  out.add(runs.result());
}

/// Measures round trips from worker 0 to an element on the last worker.
struct asker : starling::chare<asker> {
  enum class target { unmoved, first, later };

  /// Returns the seconds of `count` round trips together; negative if an answer was wrong. Each one
  /// follows a round trip to an element that was made there, so that its worker is awake.
  task<double> ask(target what, int count, std::uint64_t last) {
    const auto group = starling::create_group<traveller>(*runtime::current(), std::size_t(0));
    double total = 0;
    for (int i = 0; i < count; ++i) {
      const auto moved = starling::create_array<traveller>(
          *runtime::current(), 1, starling::placement::block, std::size_t(0));
      if (what != target::unmoved) {
        moved[0].invoke<&traveller::go>(last);
        co_await starling::quiescence();
      }
      // The first two messages go by way of the home and open the sender's sequence.
      for (int before = 0; what == target::later && before < 2; ++before)
        co_await moved[0].call<&traveller::where>();
      co_await group[int(last)].call<&traveller::where>();
      const auto asked = what == target::unmoved ? group[int(last)] : moved[0];
      const auto begin = std::chrono::steady_clock::now();
      if (co_await asked.call<&traveller::where>() != last) co_return -1.0;
      total += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      moved.destroy();
    }
    group.destroy();
    co_return total;
  }
};

task<> ask_messages(const settings& chosen, bench::report& out) {
  auto& rt = *runtime::current();
  const std::uint64_t last = starling::total_worker_count(rt) - 1;
  const int count = std::max(1, int(std::lround(300 * chosen.scale)));
  const auto from = starling::create_array<asker>(rt, 1, starling::placement::block);
  for (const auto& [name, what] : {std::pair("call_unmoved", asker::target::unmoved),
                                   std::pair("call_first", asker::target::first),
                                   std::pair("call_later", asker::target::later)}) {
    if (!chosen.runs(name)) continue;
    bench::sampling runs(chosen, name, std::uint64_t(count));
    while (runs.wants_more()) {
      runs.begin();
      const double seconds = co_await from[0].call<&asker::ask>(what, count, last);
      runs.end(std::abs(seconds), std::uint64_t(count));
      runs.judge(seconds > 0 && !chosen.breaks(name));
    }
    out.add(runs.result());
  }
}

struct balance_question {
  std::string name;
  int heavy;
  bool balances;
};
const std::vector<balance_question> balance_questions = {{"uneven_barrier", 8, false},
                                                         {"uneven_balanced", 8, true},
                                                         {"even_barrier", 1, false},
                                                         {"even_balanced", 1, true}};

task<> ask_balance(const settings& chosen, bench::report& out, const balance_question& asked,
                   long rounds) {
  const int steps = std::max(2, int(std::lround(chosen.steps * std::min(1.0, chosen.scale * 10))));
  bench::sampling runs(chosen, asked.name, std::uint64_t(steps));
  const std::uint64_t sum = expected_sum(steps, rounds, asked.heavy);
  std::uint64_t migrations = 0;
  while (runs.wants_more()) {
    const auto all =
        starling::create_array<worker>(*runtime::current(), chares, starling::placement::block,
                                       steps, rounds, asked.heavy, asked.balances);
    if (asked.balances) all.measure_loads(true);
    auto [end, result] = starling::make_reply<worker::totals>();
    co_await starling::quiescence();
    runs.begin();
    all.invoke<&worker::begin>(end);
    const worker::totals found = co_await std::move(result);
    runs.end();
    migrations = found.at(1);
    runs.judge(found.at(0) + (chosen.breaks(asked.name) ? 1 : 0) == sum);
    all.destroy();
  }
  out.add(runs.result());
  if (asked.balances) {
    out.metric(asked.name + "_migrations", double(migrations));
    fmt::print("{:<22}{:>10} migrations\n", "", migrations);
  }
}

task<int> lead(const settings& chosen, bench::report& out) {
  if (starling::total_worker_count(*runtime::current()) < 2)
    throw starling::usage_error(
        "migrations need two workers: --workers 2, or starling launch -n 2");
  out.config("ranks", starling::rank_count());
  out.print_heading();
  co_await ask_hops(chosen, out, "hop_1k", 1024, 20'000);
  co_await ask_hops(chosen, out, "hop_1m", 1 << 20, 400);
  co_await ask_messages(chosen, out);
  const long rounds = rounds_for(chosen.unit_us);
  for (const balance_question& q : balance_questions)
    if (chosen.runs(q.name)) co_await ask_balance(chosen, out, q, rounds);
  const auto ratio = [&out](const char* name, const char* over, const char* under) {
    if (out.metric(std::string(under) + "_ns") == 0 || out.metric(std::string(over) + "_ns") == 0)
      return;
    const double value =
        out.metric(std::string(over) + "_ns") / out.metric(std::string(under) + "_ns");
    out.metric(name, value);
    fmt::print("{:<22}{:>10.3f}\n", name, value);
  };
  ratio("gain", "uneven_barrier", "uneven_balanced");
  ratio("even_cost", "even_balanced", "even_barrier");
  out.write(chosen.json);
  co_return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "migration_starling";
  settings chosen;
  chosen.workers = 2;
  CLI::App app{"Migrations of chares, messages after them, and the gain and cost of balancing"};
  bench::add_options(app, chosen);
  app.add_option("--steps", chosen.steps, "Steps of the balancing questions")
      ->capture_default_str();
  app.add_option("--unit-us", chosen.unit_us, "Work of a light chare in one step, microseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  std::vector<std::string> names{"hop_1k", "hop_1m", "call_unmoved", "call_first", "call_later"};
  for (const balance_question& q : balance_questions) names.push_back(q.name);
  return bench::run_job(name, argc, argv, app, chosen, names,
                        [&](bench::report& out) { return lead(chosen, out); });
}
