// SPDX-License-Identifier: Apache-2.0
//
// Measures how long ranks take to start and to end, and in which phases. See README.md.
#include <sys/resource.h>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "../common/child.hpp"
#include "../common/report.hpp"

namespace {

namespace bench = starling::bench;

constexpr const char* as_rank = "--as-rank";

struct stamp {
  double wall_ns = 0;  // since the system's start: the same clock in all processes
  double cpu_ns = 0;   // of this process
};

double clock_ns(clockid_t which) {
  timespec t{};
  clock_gettime(which, &t);
  return 1e9 * double(t.tv_sec) + double(t.tv_nsec);
}
stamp now() { return {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_PROCESS_CPUTIME_ID)}; }

/// Phases of a job. Each ends with a stamp of rank 0, except the last: it ends with the launcher.
constexpr std::string_view phases[] = {"launch_and_load", "runtime", "bootstrap",
                                       "transport",       "meeting", "message",
                                       "farewell",        "leaving", "exit"};
constexpr std::size_t phase_count = std::size(phases);
constexpr std::size_t in_the_task = 5;  // the phase that ends with an answer of every rank

// --- a rank

int square(int n) { return n * n; }

starling::task<int> lead(std::vector<stamp>& at) {
  at.push_back(now());
  for (int r = 0; r < starling::rank_count(); ++r)
    if (co_await starling::async<&square>(starling::rank(r), r) != square(r)) co_return 1;
  at.push_back(now());
  co_return 0;
}

int be_rank() {
  std::vector<stamp> at{now()};
  auto options = starling::runtime_options::from_environment();
  std::optional<starling::runtime> rt(std::in_place, options);
  at.push_back(now());
  auto ranks = starling::make_bootstrap();
  at.push_back(now());
  auto network = starling::make_transport(*ranks, starling::transport_kind::ucx);
  at.push_back(now());
  const int status = starling::run(*rt, *network, lead(at));
  at.push_back(now());
  rt.reset();
  network.reset();
  at.push_back(now());
  if (ranks->rank() == 0)
    for (const stamp& s : at) std::printf("%.0f %.0f\n", s.wall_ns, s.cpu_ns);
  return status;
}

// --- the starter of the ranks

/// Returns the processor time of this process' children that have ended.
double cpu_of_children_ns() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto ns = [](const timeval& t) { return 1e9 * double(t.tv_sec) + 1e3 * double(t.tv_usec); };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

/// Times of repeated jobs, ns: of each phase, until all ranks were in the task, and in total.
struct samples {
  std::vector<double> wall[phase_count + 2], cpu[phase_count + 2];
  bool correct = true;

  void add(std::size_t what, double wall_ns, double cpu_ns) {
    wall[what].push_back(wall_ns);
    cpu[what].push_back(cpu_ns);
  }
};

void run_once(const std::vector<std::string>& line, samples& into) {
  const double cpu_before = cpu_of_children_ns();
  const double begin = clock_ns(CLOCK_MONOTONIC);
  int code = 0;
  std::istringstream said(bench::child(line).finish(code));
  const double end = clock_ns(CLOCK_MONOTONIC);
  bool well = code == 0;
  stamp last{begin, 0};
  for (std::size_t i = 0; i + 1 < phase_count; ++i) {
    stamp s;
    if (!(said >> s.wall_ns >> s.cpu_ns)) well = false;
    into.add(i, s.wall_ns - last.wall_ns, s.cpu_ns - last.cpu_ns);
    last = s;
    if (i == in_the_task) into.add(phase_count, s.wall_ns - begin, s.cpu_ns);
  }
  into.add(phase_count - 1, end - last.wall_ns, 0);
  into.add(phase_count + 1, end - begin, cpu_of_children_ns() - cpu_before);
  into.correct = into.correct && well;
}

int measure(const bench::options& chosen, const std::vector<std::string>& line, int ranks) {
  std::vector<std::string> names(std::begin(phases), std::end(phases));
  names.insert(names.end(), {"all_in_the_task", "whole"});
  bench::require_known(chosen, names);
  samples warm, taken;
  for (int i = 0; i < chosen.warmups; ++i) run_once(line, warm);
  for (int i = 0; i < chosen.repetitions; ++i) run_once(line, taken);
  bench::report out("startup_starling", chosen);
  out.config("ranks", ranks);
  const char* const ways = std::getenv("UCX_TLS");
  out.config("UCX_TLS", ways == nullptr ? "" : ways);
  out.print_heading();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!chosen.runs(names[i])) continue;
    bench::measurement m;
    m.question = names[i];
    m.items = 1;
    m.median_ns = bench::median(taken.wall[i]);
    m.cpu_ns = bench::median(taken.cpu[i]);
    const auto [low, high] = std::minmax_element(taken.wall[i].begin(), taken.wall[i].end());
    m.minimum_ns = *low;
    m.maximum_ns = *high;
    m.correct = warm.correct && taken.correct && !chosen.breaks(names[i]);
    out.add(m);
  }
  out.write(chosen.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == as_rank) return be_rank();
  bench::options chosen;
  CLI::App app{"Jobs of several ranks that do nothing: begin, one call of each rank, end"};
  bench::add_options(app, chosen);
  const auto here = std::filesystem::read_symlink("/proc/self/exe");
  std::string launcher = here.parent_path() / "starling";
  int ranks = 2;
  app.add_option("--ranks", ranks, "Ranks of a job")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--launcher", launcher, "The program starling")->check(CLI::ExistingFile);
  return bench::exit_code_of("startup_starling", app, [&] {
    app.parse(argc, argv);
    bench::require_writable(chosen.json);
    return measure(chosen, {launcher, "launch", "-n", std::to_string(ranks), here, as_rank}, ranks);
  });
}
