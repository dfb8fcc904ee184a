// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <starling/core/error.hpp>

#include "loads_file.hpp"
#include "replay.hpp"
#include "synthetic.hpp"

namespace starling::launch {
namespace {

constexpr int usage_exit_code = 2;

constexpr const char* balance_footer = R"(
The table has, for each balancer: its decision, its time, the imbalance before and after (step time
divided by the ideal), the step time after, the number of migrations, the megabytes that leave a
rank, the time that the migrations take, and the megabytes of messages between ranks in a step.

Examples:
  starling balance loads.json --balancer greedy,refine --migrations 10
  starling balance --synthetic elements=1000000,ranks=10000,pattern=front --json report.json
  starling balance loads.json --plot plot.json && python3 tools/plot_balance.py plot.json plot.svg)";

struct choices {
  std::string file, made_up, json, plot, save;
  std::vector<std::string> balancers;
  double steps = -1;
  std::size_t balancing = 0;
  std::size_t migrations = 0;
  balance::balancer_options options;
};

void describe(CLI::App& app, choices& into) {
  app.footer(balance_footer);
  auto* file =
      app.add_option("loads", into.file, "File of recorded loads, or report of a run (JSON)");
  app.add_option(
         "--synthetic", into.made_up,
         "Loads to make up instead: elements=N,ranks=N,workers=N,devices=N (the last two of "
         "each rank),seed=N,pattern=uniform|random|hotspot|gradient|front|opposing")
      ->option_text("NAME=VALUE,...")
      ->excludes(file);
  app.add_option("--balancing", into.balancing,
                 "Of the report of a run: use the loads before balancing N (default: the last)")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000'000))
      ->needs(file);
  app.add_option("--balancer", into.balancers,
                 fmt::format("Balancers, separated by commas (default: all): {}",
                             fmt::join(balance::balancer_names(), ", ")))
      ->option_text("NAME,...")
      ->delimiter(',');
  app.add_option("--steps", into.steps,
                 "Steps until the next balancing, in which migrations must pay")
      ->option_text("N")
      ->check(CLI::Range(0.0, 1e18));
  app.add_option("--tolerance", into.options.tolerance,
                 "Share of the ideal by which a balanced step may exceed it (default 0.02)")
      ->option_text("X")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--minimum-gain", into.options.minimum_gain,
                 "Share of the step time that migrations must save (default 0.01)")
      ->option_text("X")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--rounds", into.options.rounds, "Rounds of `diffusion` (default 30)")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--inner", into.options.inner,
                 "Balancer of each level of `hierarchical` (default greedy)")
      ->option_text("NAME");
  app.add_flag_callback(
      "--morton", [&into] { into.options.is_hilbert = false; },
      "`curve`: a Morton curve, not a Hilbert curve");
  app.add_option("--migrations", into.migrations, "Print so many migrations, with their reasons")
      ->option_text("N");
  app.add_option("--json", into.json, "Write a report to this file")->option_text("FILE");
  app.add_option("--plot", into.plot,
                 "Write the loads before and after, for tools/plot_balance.py, to this file")
      ->option_text("FILE");
  app.add_option("--save", into.save, "Write the loads to this file")->option_text("FILE");
}

int wrong(const std::string& why) {
  fmt::print(stderr, "starling balance: {}\nSee `starling balance --help`.\n", why);
  return usage_exit_code;
}

int run(const choices& chosen) {
  balance::snapshot loads;
  try {
    for (const std::string& name : chosen.balancers)
      (void)balance::make_balancer(name, chosen.options);
    if (chosen.file.empty()) loads = make_loads(parse_synthetic(chosen.made_up));
  } catch (const std::exception& fault) {
    return wrong(fault.what());
  }
  if (!chosen.file.empty()) loads = read_loads(chosen.file, chosen.balancing);
  if (chosen.steps >= 0) loads.steps = chosen.steps;
  if (!chosen.save.empty()) write_loads(loads, chosen.save);
  std::vector<replay> done;
  print_heading(loads);
  for (const std::string& name :
       chosen.balancers.empty() ? balance::balancer_names() : chosen.balancers) {
    done.push_back(replay_loads(loads, name, chosen.options));
    print_line(done.back());
    std::fflush(stdout);
  }
  if (chosen.migrations > 0)
    for (const replay& each : done) print_migrations(loads, each, chosen.migrations);
  const std::string source = chosen.file.empty() ? "synthetic " + chosen.made_up : chosen.file;
  if (!chosen.json.empty()) write_report(loads, done, source, chosen.json);
  if (!chosen.plot.empty()) write_plot(loads, done, chosen.plot);
  return 0;
}

}  // namespace

int run_balance(int argc, char** argv) {
  CLI::App app(balance_summary, "starling balance");
  choices chosen;
  describe(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return app.exit(stop);  // help
    return wrong(stop.what());
  }
  if (chosen.file.empty() && chosen.made_up.empty())
    return wrong("name a file of loads, or make up loads with --synthetic");
  try {
    return run(chosen);
  } catch (const std::exception& fault) {
    fmt::print(stderr, "starling balance: {}\n", fault.what());
    return 1;
  }
}

}  // namespace starling::launch
