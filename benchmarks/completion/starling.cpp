// SPDX-License-Identifier: Apache-2.0
//
// Measures the host's cost of waiting for device work, by each mechanism. See README.md.
#include <algorithm>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "../common/report.hpp"
#include "chains.hpp"
#include "filler.hpp"

namespace {

using completion::chains;
using completion::filler;
using completion::now_ns;
namespace bench = starling::bench;

struct settings {
  bench::options common;
  std::string backend = "auto";
  std::string word_store = "driver";
  std::vector<int> threads{1, 2, 4, 8, 16};
  std::vector<int> streams{1, 4, 16, 64, 128};
  int rounds = 64;
  int waits = 4096;
};

const std::vector<std::string>& mechanisms() {
  static const std::vector<std::string> all{"word", "event", "callback", "block"};
  return all;
}

/// One line of the table; times in microseconds.
struct cell {
  std::string how;
  int threads;
  int streams;
  double wall = 0.0;       // per kernel
  double cpu = 0.0;        // processor time per wait, including submission and idle polling
  double displaced = 0.0;  // useful work lost per wait while all workers are busy
  double submit = 0.0;     // its part for submission, from a run that awaits each 32nd kernel
  double latency = 0.0;    // median, from the kernel's end until the waiter runs
  double latency_p99 = 0.0;
  bool correct = false;

  [[nodiscard]] std::string key(const char* what) const {
    return fmt::format("{}_t{}_s{}_{}_us", how, threads, streams, what);
  }
};

std::uint64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

/// Values of one cell's repetitions, and their median.
class samples {
 public:
  void add(double us) { m_values.push_back(us); }
  [[nodiscard]] double median() const { return bench::median(m_values); }

 private:
  std::vector<double> m_values;
};

starling::runtime_options options_for(const settings& chosen, const cell& c) {
  starling::runtime_options o = starling::runtime_options::from_environment();
  o.workers = static_cast<unsigned>(c.threads);
  o.extra["backend"] = chosen.backend;
  o.extra["completion"] = c.how;
  o.extra["word-store"] = chosen.word_store;
  return o;
}

struct filled {
  std::uint64_t units;
  double lost_ns;  // of all workers' time, outside units
};

/// Runs `body` beside the filling work.
template <class Body>
filled run_filled(filler& work, int threads, Body body) {
  const std::uint64_t begin = now_ns();
  work.start();
  body();
  work.stop();
  const double available = static_cast<double>(now_ns() - begin) * threads;
  const filler::total done = work.take();
  return {done.units, available - static_cast<double>(done.ns)};
}

/// Returns the time between two units when there is no other work.
double gap_ns(filler& work, int threads) {
  const filled alone =
      run_filled(work, threads, [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
  return alone.lost_ns / static_cast<double>(std::max<std::uint64_t>(1, alone.units));
}

/// Returns the microseconds of useful work lost per kernel; every stride-th kernel is awaited.
double displaced_us(starling::runtime& rt, chains& all, filler& work, int threads,
                    std::uint64_t steps, std::uint64_t stride) {
  const double before = gap_ns(work, threads);
  const filled both = run_filled(work, threads, [&] { all.run(rt, steps, stride); });
  const double gap = 0.5 * (before + gap_ns(work, threads));
  const double ns = both.lost_ns - static_cast<double>(both.units) * gap;
  return ns * 1e-3 / static_cast<double>(steps * all.size());
}

void measure_alone(starling::runtime& rt, chains& all, std::uint64_t steps, samples& wall,
                   samples& cpu) {
  const double kernels = static_cast<double>(steps * all.size()) * 1e3;
  const std::uint64_t begin = now_ns();
  const std::uint64_t begin_cpu = processor_ns();
  all.run(rt, steps);
  cpu.add(static_cast<double>(processor_ns() - begin_cpu) / kernels);
  wall.add(static_cast<double>(now_ns() - begin) / kernels);
}

void measure(const settings& chosen, cell& c) {
  starling::runtime rt(options_for(chosen, c));
  chains all(starling::devices(rt).device(0), c.streams, chosen.rounds);
  filler work(rt);
  const double wanted = chosen.waits * chosen.common.scale / c.streams;
  const std::uint64_t steps = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(wanted));
  // Busy workers poll for completions less often, so a long chain would take too long.
  const std::uint64_t busy_steps = std::min<std::uint64_t>(steps, 1024);
  all.upload(rt);
  for (int i = 0; i < chosen.common.warmups; ++i) all.run(rt, steps);
  samples wall, cpu, displaced, submit;
  for (int i = 0; i < chosen.common.repetitions; ++i) {
    measure_alone(rt, all, steps, wall, cpu);
    displaced.add(displaced_us(rt, all, work, c.threads, busy_steps, 1));
    submit.add(displaced_us(rt, all, work, c.threads, busy_steps, 32));
  }
  std::vector<double> latencies = all.run_timed(rt, steps);
  std::sort(latencies.begin(), latencies.end());
  c.wall = wall.median();
  c.cpu = cpu.median();
  c.displaced = displaced.median();
  c.submit = submit.median();
  c.latency = latencies[latencies.size() / 2];
  c.latency_p99 = latencies[latencies.size() * 99 / 100];
  c.correct = all.correct(rt, chosen.common.breaks(c.how));
}

void print_heading(const std::string& backend) {
  fmt::print(
      "waiting for device work, backend {}, microseconds\n"
      "{:<9}{:>8}{:>8} |{:>10}{:>10}{:>11}{:>10}{:>9}{:>9}  {}\n",
      backend, "how", "threads", "streams", "wall/kern", "cpu/wait", "displaced", "submit",
      "latency", "p99", "answer");
}

void add(bench::report& out, const cell& c) {
  fmt::print("{:<9}{:>8}{:>8} |{:>10.2f}{:>10.2f}{:>11.2f}{:>10.2f}{:>9.2f}{:>9.2f}  {}\n", c.how,
             c.threads, c.streams, c.wall, c.cpu, c.displaced, c.submit, c.latency, c.latency_p99,
             c.correct ? "ok" : "WRONG ANSWER");
  std::fflush(stdout);
  out.metric(c.key("wall"), c.wall);
  out.metric(c.key("cpu"), c.cpu);
  out.metric(c.key("displaced"), c.displaced);
  out.metric(c.key("submit"), c.submit);
  out.metric(c.key("latency"), c.latency);
  out.metric(c.key("latency_p99"), c.latency_p99);
  out.check(fmt::format("{}_t{}_s{}", c.how, c.threads, c.streams), c.correct);
}

std::string backend_in_use(const settings& chosen) {
  starling::runtime rt(options_for(chosen, cell{"word", 1, 1}));
  const auto& all = starling::devices(rt);
  return fmt::format("{} ({})", starling::to_string(all.backend()),
                     all.device(0).properties().name);
}

int run(const settings& chosen) {
  bench::report out("completion", chosen.common);
  const std::string backend = backend_in_use(chosen);
  out.config("backend", backend);
  out.config("word_store", chosen.word_store);
  out.config("rounds", chosen.rounds);
  out.config("waits", chosen.waits);
  print_heading(backend);
  for (const std::string& how : mechanisms()) {
    if (!chosen.common.runs(how)) continue;
    for (const int threads : chosen.threads)
      for (const int streams : chosen.streams) {
        cell c{how, threads, streams};
        measure(chosen, c);
        add(out, c);
      }
  }
  out.write(chosen.common.json);
  return out.exit_code();
}

settings parse(CLI::App& app, int argc, char** argv) {
  settings chosen;
  chosen.common.repetitions = 5;
  bench::add_options(app, chosen.common);
  app.add_option("--backend", chosen.backend, "host, cuda or auto")
      ->check(CLI::IsMember({"host", "cuda", "auto"}))
      ->capture_default_str();
  app.add_option("--word-store", chosen.word_store,
                 "Operation that stores the word on CUDA: driver or kernel (of one thread)")
      ->check(CLI::IsMember({"driver", "kernel"}))
      ->capture_default_str();
  app.add_option("--threads", chosen.threads, "Numbers of workers; --workers N means N only")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  app.add_option("--streams", chosen.streams, "Numbers of streams")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--rounds", chosen.rounds, "Length of a kernel, multiplications one after another")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--waits", chosen.waits, "Waits of a measurement, over all streams")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.parse(argc, argv);
  bench::require_known(chosen.common, mechanisms());
  if (app.count("--workers") != 0) chosen.threads = {chosen.common.workers};
  // More workers than processors would measure the operating system; they must be requested.
  if (app.count("--threads") == 0 && app.count("--workers") == 0)
    std::erase_if(chosen.threads, [](int t) {
      return t > std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    });
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cost for the host of waits for device work");
  return bench::exit_code_of("bench_completion", app, [&] { return run(parse(app, argc, argv)); });
}
