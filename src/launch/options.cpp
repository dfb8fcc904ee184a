// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "balance/command.hpp"
#include "net/bootstrap/local/wire.hpp"
#include "resize_command.hpp"

namespace starling::launch {
namespace {

constexpr int usage_exit_code = 2;

constexpr const char* launch_footer = R"(
The launcher passes its environment on to every rank, with variables (STARLING_LAUNCH_...) by
which the ranks connect. Unless you have set them, it also sets STARLING_DEVICES=rank/ranks and,
without --bind core, STARLING_WORKERS, so that each rank uses its share of the devices and of the
cores. Rank 0 reads standard input unless that is a terminal; the other ranks have no input.

The exit code is 0 when all ranks exit with 0; otherwise it is that of the first rank that fails
(128 + signal if a signal killed it). The other ranks then have 5 s (--grace) to end by
themselves, before they get SIGTERM, and SIGKILL 2 s later. The exit code is 1 when output could
not be written, 124 after --timeout, 127 or 126 when the program cannot be found or run, and 2 for a
wrong command line. SIGINT, SIGTERM and SIGHUP end the job; SIGQUIT, SIGUSR1 and SIGUSR2 go to the
ranks, which print their waiting coroutines on SIGQUIT.

With --restarts K, a job of which a signal kills or stops a rank (a crash, want of memory, kill -9)
is started again, up to K times. A program that uses starling::checkpoints then continues from the
latest checkpoint that the job has taken, whatever --starling-restart says. STARLING_LAUNCH_RESTARTS
has the number of restarts so far. --grace is 1 s unless it is given. Standard input is at its end
after a restart. An error exit or an abort of a rank, a signal to the launcher and --timeout end the
job as without --restarts. With --shrink the job continues with one rank less after each loss, for a
host of which a core or device has failed. `starling resize N` changes the number of ranks of a job
with --restarts (K may be 0) at its next checkpoint.

A program with open starling::checkpoints takes SIGUSR1 (--starling-stop-signal, an option of the
program) as the request to stop at its next checkpoint: send it to the launcher. The exit code is
then 75. A second SIGTERM, if that is the signal, ends the job at once.

Examples:
  starling launch -n 4 ./jacobi3d --iterations 100
  starling launch -n 4 --restarts 10 ./app
  starling launch -n 2 --bind core --label -- ./app -v)";

void describe(CLI::App& launch, options& into, std::string& bind) {
  launch.footer(launch_footer);
  launch.add_option("-n,--ranks", into.ranks, "How many ranks to start; -np, too")
      ->option_text("N")
      ->required()
      ->check(CLI::Range(1, detail::wire::rank_limit));
  launch
      .add_option(
          "--bind", bind,
          "core: each rank gets its own share of the usable cores; none: every rank may use "
          "all of them (default)")
      ->option_text("none|core")
      ->check(CLI::IsMember({"none", "core"}));
  launch.add_flag("--label", into.label, "Begin each line of output with its rank, as in '[3] '");
  launch.add_option("--timeout", into.timeout, "End the job after this many seconds")
      ->option_text("S")
      ->check(CLI::Range(0.001, 1e7));
  launch
      .add_option("--grace", into.grace,
                  "How many seconds after the failure of one rank the other ranks may take to end "
                  "by themselves (default 5)")
      ->option_text("S")
      ->check(CLI::Range(0.0, 1e7));
  launch
      .add_option(
          "--restarts", into.restarts,
          "How often the job may be started again from its latest checkpoint after a signal "
          "has killed a rank (default 0)")
      ->option_text("K")
      ->check(CLI::Range(0, 1'000'000));
  launch.add_flag("--shrink", into.shrink,
                  "With --restarts: continue with one rank less after the loss of a rank");
  launch.prefix_command();
}

/// Replaces `-np` by `--ranks`: option parsers read `-np` as `-n p`. Words from the program's name
/// on are not changed.
void replace_np(char** first, char** last) {
  static char ranks[] = "--ranks";
  constexpr std::string_view with_value[] = {"-n",        "-np",     "--ranks",   "--bind",
                                             "--timeout", "--grace", "--restarts"};
  bool is_value = false;
  for (; first != last && (is_value || **first == '-'); ++first) {
    is_value = !is_value && std::ranges::count(with_value, std::string_view(*first)) != 0;
    if (is_value && std::string_view(*first) == "-np") *first = ranks;
  }
}

int wrong(const std::string& why) {
  fmt::print(stderr, "starling launch: {}\nSee `starling launch --help`.\n", why);
  return usage_exit_code;
}

}  // namespace

parsed parse_command_line(int argc, char** argv) {
  CLI::App app("Starling's command line", "starling");
  app.set_version_flag("--version", "starling " STARLING_VERSION);
  app.require_subcommand(1);
  CLI::App* launch = app.add_subcommand("launch", "Start a program as several ranks on this host");
  app.add_subcommand("balance", balance_summary);  // for the help; `main` runs it and `resize`
  app.add_subcommand("resize", resize_summary);
  options found;
  std::string bind = "none";
  describe(*launch, found, bind);
  // Words after the first `--` belong to the program.
  char** const dashes = std::find_if(
      argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes - argv > 2) replace_np(argv + 2, dashes);  // after `starling launch`
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return {std::nullopt, app.exit(stop)};  // help, version
    return {std::nullopt, wrong(stop.what())};
  }
  found.bind_cores = bind == "core";
  if (found.restarts > 0 && launch->count("--grace") == 0) found.grace = 1;
  found.may_restart = launch->count("--restarts") != 0;
  if (found.shrink && found.restarts == 0)
    return {std::nullopt, wrong("--shrink requires --restarts K, at least 1")};
  found.program = launch->remaining();
  if (!found.program.empty() && found.program.front().starts_with('-')) {
    return {std::nullopt, wrong(fmt::format("there is no option {}; options of the program come "
                                            "after its name",
                                            found.program.front()))};
  }
  // A `--` after the program's name is passed to the program; a `--` before it is not.
  found.program.insert(found.program.end(),
                       dashes + (dashes != argv + argc && found.program.empty() ? 1 : 0),
                       argv + argc);
  if (found.program.empty()) {
    return {std::nullopt, wrong("no program is named; give one after the options, as in `starling "
                                "launch -n 2 ./app`")};
  }
  return {found, 0};
}

}  // namespace starling::launch
