// SPDX-License-Identifier: Apache-2.0
//
// Runs one competitor through all questions. A competitor is a class with
//   static constexpr const char* name;        its column in the table
//   static constexpr int max_workers;         the most threads that it can use
//   static std::string version();             the measured library and version
//   static sizes defaults();                  the common sizes, or smaller sizes if it is slow
//   explicit Competitor(int workers);         starts its threads; not timed
// and a member function for each question that it can express. Without the function the table's
// cell stays empty.
#pragma once

#include <array>
#include <concepts>
#include <exception>
#include <string>

#include "../common/report.hpp"
#include "problems.hpp"

namespace starling::bench {

inline const std::vector<std::string>& questions() {
  static const std::vector<std::string> names = {"spawn",
                                                 "child",
                                                 "continuation_ready",
                                                 "continuation_pending",
                                                 "join",
                                                 "join_pending",
                                                 "channel",
                                                 "pending",
                                                 "fib",
                                                 "heat_10",
                                                 "heat_100",
                                                 "heat_1000"};
  return names;
}

template <class Type>
concept competitor = std::constructible_from<Type, int> && requires {
  { Type::name } -> std::convertible_to<std::string>;
  { Type::max_workers } -> std::convertible_to<int>;
  { Type::version() } -> std::convertible_to<std::string>;
  { Type::defaults() } -> std::same_as<sizes>;
};

/// Adds flags of the problem sizes, with the competitor's own defaults.
inline void add_sizes(CLI::App& app, sizes& size) {
  const auto count = [&app](const char* flag, std::uint64_t& value, const char* help) {
    app.add_option(flag, value, help)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U))
        ->capture_default_str()
        ->group("Problem sizes");
  };
  count("--spawns", size.spawns, "Tasks of spawn");
  count("--children", size.children, "Children of child");
  count("--continuations", size.continuations, "Links of continuation_ready and _pending");
  count("--chain-length", size.chain_length, "Links of one chain");
  count("--joins", size.joins, "Inputs of join and join_pending");
  count("--round-trips", size.round_trips, "Round trips of channel");
  count("--cycles", size.cycles, "Cycles of pending");
  count("--heat-points", size.heat_points, "Points of heat, a multiple of 16");
  count("--heat-steps", size.heat_steps, "Steps of heat");
  app.add_option("--fib-n", size.fib_n, "The n of fib(n)")
      ->check(CLI::Range(2, 60))
      ->capture_default_str()
      ->group("Problem sizes");
}

inline void record_sizes(report& results, const sizes& size) {
  results.config("spawns", size.spawns);
  results.config("children", size.children);
  results.config("continuations", size.continuations);
  results.config("chain_length", size.chain_length);
  results.config("joins", size.joins);
  results.config("round_trips", size.round_trips);
  results.config("cycles", size.cycles);
  results.config("fib_n", size.fib_n);
  results.config("heat_points", size.heat_points);
  results.config("heat_steps", size.heat_steps);
}

/// Runs all chosen questions with one competitor.
template <competitor Competitor>
class suite {
 public:
  suite(const options& chosen, const sizes& size, report& results)
      : m_chosen(chosen), m_size(size), m_results(results), m_competitor(chosen.workers) {}

  void run() {
    small_tasks();
    waiting();
    for (const std::uint64_t partitions : {10, 100, 1000}) heat(partitions);
  }

 private:
  template <class Problem, class Solve>
  void ask(const std::string& question, Problem problem, Solve solve) {
    if (!m_chosen.runs(question)) return;
    if constexpr (std::invocable<Solve, Competitor&, Problem&>) {
      m_results.add(measure(m_chosen, question, problem,
                            [&](Problem& given) { return solve(m_competitor, given); }));
    } else {
      fmt::print("{:<22}{:>10}  this competitor has no means for it\n", question, "-");
    }
  }

  // A lambda whose return type is invalid is not invocable: the competitor lacks that question.
  void small_tasks() {
    ask("spawn", counting_problem(m_size.spawns),
        [](auto& c, auto& p) -> decltype(c.spawn(p)) { return c.spawn(p); });
    ask("child", counting_problem(m_size.children),
        [](auto& c, auto& p) -> decltype(c.child(p)) { return c.child(p); });
    const chain_problem chains(m_size.continuations, m_size.chain_length);
    ask("continuation_ready", chains, [](auto& c, auto& p) -> decltype(c.continuation_ready(p)) {
      return c.continuation_ready(p);
    });
    ask("continuation_pending", chains,
        [](auto& c, auto& p) -> decltype(c.continuation_pending(p)) {
          return c.continuation_pending(p);
        });
  }

  void waiting() {
    ask("join", counting_problem(m_size.joins),
        [](auto& c, auto& p) -> decltype(c.join(p)) { return c.join(p); });
    ask("join_pending", counting_problem(m_size.joins),
        [](auto& c, auto& p) -> decltype(c.join_pending(p)) { return c.join_pending(p); });
    ask("channel", channel_problem(m_size.round_trips),
        [](auto& c, auto& p) -> decltype(c.channel(p)) { return c.channel(p); });
    ask("pending", counting_problem(m_size.cycles),
        [](auto& c, auto& p) -> decltype(c.pending(p)) { return c.pending(p); });
    ask("fib", fib_problem(m_size.fib_n),
        [](auto& c, auto& p) -> decltype(c.fib(p)) { return c.fib(p); });
  }

  void heat(std::uint64_t partitions) {
    const std::string question = fmt::format("heat_{}", partitions);
    if (!m_chosen.runs(question)) return;
    heat_problem problem(m_size.heat_points, m_size.heat_steps, partitions);
    m_results.check("heat_serial_is_exact", problem.serial_error() < 1e-12);
    ask(question, std::move(problem),
        [](auto& c, auto& p) -> decltype(c.heat(p)) { return c.heat(p); });
  }

  const options& m_chosen;
  const sizes& m_size;
  report& m_results;
  Competitor m_competitor;
};

/// Implements `main` of a competitor. Exit codes: 0 right, 1 failed, 2 bad usage, 3 a wrong answer.
template <competitor Competitor>
int run_suite(int argc, char** argv) try {
  CLI::App app{std::string("Cost of small tasks: ") + Competitor::name};
  options chosen;
  sizes size = Competitor::defaults();
  add_options(app, chosen);
  add_sizes(app, size);
  try {
    app.parse(argc, argv);
    require_known(chosen, questions());
    if (chosen.workers > Competitor::max_workers) {
      throw CLI::ValidationError(fmt::format("--workers: {} can use {} at most", Competitor::name,
                                             Competitor::max_workers));
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_bad_usage;
  }
  size = size.scaled(chosen.scale);
  require_writable(chosen.json);
  report results(Competitor::name, chosen);
  results.config("version", Competitor::version());
  record_sizes(results, size);
  results.print_heading();
  suite<Competitor>(chosen, size, results).run();
  results.write(chosen.json);
  return results.exit_code();
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", Competitor::name, error.what());
  return exit_failed;
}

}  // namespace starling::bench
