// SPDX-License-Identifier: Apache-2.0
//
// Measures the host's cost of a small kernel, alone and aggregated. See README.md.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "../common/report.hpp"
#include "kernel.hpp"

namespace {

using aggregation::advance;
using aggregation::advanced;
using starling::aggregator;
using starling::memory_kind;
using starling::task;
namespace bench = starling::bench;

struct settings {
  bench::options common;
  std::string backend = "auto";
  int chains = 512;
  int steps = 40;
  int points = 8;
  int streams = 4;
  int depth = 1;
};

/// Chains of dependent kernels, each with numbers of its own; every kernel is awaited before the
/// next kernel of its chain.
class problem {
 public:
  problem(starling::runtime& rt, const settings& chosen)
      : m_runtime(&rt), m_device(&starling::devices(rt).device(0)),
        m_chains(std::max(1, int(chosen.chains * std::min(1.0, chosen.common.scale * 8)))),
        m_steps(std::max(2, int(chosen.steps * chosen.common.scale))), m_points(chosen.points),
        m_state(m_device->allocate<std::uint64_t>(memory_kind::device, size())),
        m_mirror(m_device->allocate<std::uint64_t>(memory_kind::pinned, size())),
        m_queue(m_device->make_stream()) {}

  [[nodiscard]] std::uint64_t items() const {
    return std::uint64_t(m_chains) * std::uint64_t(m_steps);
  }
  void prepare() {
    for (std::size_t i = 0; i < size(); ++i) m_mirror.data()[i] = i;
    m_queue.copy(m_state, m_mirror);
    m_runtime->sync_wait(m_queue.get_future());
  }
  /// The numbers after the last step.
  using answer = std::vector<std::uint64_t>;
  [[nodiscard]] answer read() {
    m_queue.copy(m_mirror, m_state);
    m_runtime->sync_wait(m_queue.get_future());
    return {m_mirror.begin(), m_mirror.end()};
  }
  [[nodiscard]] bool correct(const answer& found) const {
    for (std::size_t i = 0; i < size(); ++i) {
      std::uint64_t expected = i;
      for (int s = 0; s < m_steps; ++s) expected = advanced(expected, std::uint64_t(s));
      if (found[i] != expected) return false;
    }
    return true;
  }
  void spoil(answer& found) const { found[size() / 2] += 1; }

  /// Awaits `step(number of the chain, kernel)` for each step of a chain, in a task per chain.
  template <class Step>
  answer run(Step step) {
    m_runtime->sync_wait(run_all(*this, step));
    return read();
  }
  /// Runs all chains in one task, which gets a future of each chain's kernel from `step` before it
  /// awaits any of them.
  template <class Step>
  answer burst(Step step) {
    m_runtime->sync_wait(burst_all(*this, step));
    return read();
  }
  /// Submits all kernels to one stream, step by step, and awaits them at the end.
  answer submit_all() {
    for (int s = 0; s < m_steps; ++s)
      for (int c = 0; c < m_chains; ++c) m_queue.submit({m_points}, at(c, s));
    return read();
  }

  [[nodiscard]] starling::range extent() const { return {m_points}; }
  [[nodiscard]] starling::device& where() const { return *m_device; }

 private:
  [[nodiscard]] std::size_t size() const {
    return std::size_t(m_chains) * static_cast<std::size_t>(m_points);
  }
  [[nodiscard]] advance at(int chain, int step) {
    return {m_state.data() + std::ptrdiff_t(chain) * m_points, std::uint64_t(step)};
  }
  template <class Step>
  static task<> run_chain(problem& p, int chain, Step step) {
    for (int s = 0; s < p.m_steps; ++s) co_await step(chain, p.at(chain, s));
  }
  template <class Step>
  static task<> run_all(problem& p, Step step) {
    std::vector<starling::future<>> chains;
    for (int c = 0; c < p.m_chains; ++c) chains.push_back(starling::spawn(run_chain(p, c, step)));
    for (auto& f : chains) co_await std::move(f);
  }

  template <class Step>
  static task<> burst_all(problem& p, Step step) {
    std::vector<starling::future<>> chains(std::size_t(p.m_chains));
    for (int s = 0; s < p.m_steps; ++s) {
      for (int c = 0; c < p.m_chains; ++c) chains[std::size_t(c)] = step(p.at(c, s));
      for (auto& f : chains) co_await std::move(f);
    }
  }

  starling::runtime* m_runtime;
  starling::device* m_device;
  int m_chains;
  int m_steps;
  int m_points;
  starling::buffer<std::uint64_t> m_state, m_mirror;
  starling::stream m_queue;
};

/// Measures an aggregator of up to `most` sequences a launch, awaited by many tasks or in bursts.
void measure_gathered(const settings& chosen, problem& p, bench::report& out, std::size_t most) {
  const starling::aggregation how{
      .most = most, .streams = std::size_t(chosen.streams), .depth = std::size_t(chosen.depth)};
  const auto note = [&](const std::string& question, const aggregator& used) {
    const double mean = used.statistics().mean();
    out.metric(question + "_mean_batch", mean);
    fmt::print("{:>32.1f} sequences per launch\n", mean);
  };
  const std::string tasks = "aggregated_" + std::to_string(most);
  if (chosen.common.runs(tasks)) {
    aggregator gathered(p.where(), how);
    out.add(bench::measure(chosen.common, tasks, p, [&](problem& all) {
      return all.run([&](int, const advance& k) { return gathered.submit(all.extent(), k); });
    }));
    note(tasks, gathered);
  }
  const std::string burst = "burst_" + std::to_string(most);
  if (chosen.common.runs(burst)) {
    aggregator gathered(p.where(), how);
    out.add(bench::measure(chosen.common, burst, p, [&](problem& all) {
      return all.burst(
          [&](const advance& k) { return gathered.submit(all.extent(), k).get_future(); });
    }));
    note(burst, gathered);
  }
}

const std::vector<std::string> questions = {
    "task",         "launch",  "direct",        "burst_direct", "aggregated_1",
    "aggregated_8", "burst_1", "aggregated_64", "burst_8",      "burst_64"};

void measure_floors(const settings& chosen, problem& p, bench::report& out) {
  if (chosen.common.runs("task") && p.where().backend() == starling::backend_kind::host)
    out.add(bench::measure(chosen.common, "task", p, [](problem& all) {
      return all.run([points = all.extent().nx](int, const advance& k) {
        for (int i = 0; i < points; ++i) k({i, 0, 0});
        return starling::yield();
      });
    }));
  if (chosen.common.runs("launch"))
    out.add(
        bench::measure(chosen.common, "launch", p, [](problem& all) { return all.submit_all(); }));
  if (chosen.common.runs("burst_direct")) {
    starling::stream s = p.where().pool().acquire();
    out.add(bench::measure(chosen.common, "burst_direct", p, [&](problem& all) {
      return all.burst([&](const advance& k) {
        s.submit(all.extent(), k);
        return s.get_future();
      });
    }));
  }
  if (chosen.common.runs("direct")) {
    std::vector<starling::stream> streams;
    for (std::size_t i = 0; i < p.where().pool().size(); ++i)
      streams.push_back(p.where().pool().acquire());
    out.add(bench::measure(chosen.common, "direct", p, [&](problem& all) {
      return all.run([&](int chain, const advance& k) {
        starling::stream& s = streams[std::size_t(chain) % streams.size()];
        s.submit(all.extent(), k);
        return s.completion();
      });
    }));
  }
}

/// Compares kernels that are awaited in the same way, launched one by one and aggregated: with one
/// wait for each kernel (a task for each chain), and with waits gathered (bursts).
void compare_like_with_like(bench::report& out) {
  const auto compare = [&](const char* name, const char* direct, const char* gathered) {
    const double each = out.metric(std::string(direct) + "_ns");
    const double together = out.metric(std::string(gathered) + "_ns");
    if (each <= 0 || together <= 0) return;
    out.metric(name, each / together);
    fmt::print("{:<22}{:>10.1f}  {} over {}\n", name, each / together, direct, gathered);
  };
  compare("one_wait_a_kernel", "direct", "aggregated_64");
  compare("waits_gathered", "burst_direct", "burst_64");
}

int run(const settings& chosen) {
  bench::require_known(chosen.common, questions);
  bench::require_writable(chosen.common.json);
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = unsigned(chosen.common.workers);
  options.extra["backend"] = chosen.backend;
  starling::runtime rt(options);
  problem p(rt, chosen);
  bench::report out("aggregation: starling", chosen.common);
  out.config("backend", starling::to_string(p.where().backend()));
  out.config("device", p.where().properties().name);
  out.config("chains", chosen.chains);
  out.config("streams", chosen.streams);
  out.config("depth", chosen.depth);
  out.print_heading();
  measure_floors(chosen, p, out);
  for (const std::size_t most : {std::size_t(1), std::size_t(8), std::size_t(64)})
    measure_gathered(chosen, p, out, most);
  compare_like_with_like(out);
  out.write(chosen.common.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("Cost of a small kernel for the host, alone and aggregated");
  bench::add_options(app, chosen.common);
  app.add_option("--backend", chosen.backend, "host, cuda or auto")->capture_default_str();
  app.add_option("--chains", chosen.chains, "Tasks that run at the same time")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--steps", chosen.steps, "Kernels of each task")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  app.add_option("--points", chosen.points, "Numbers that a kernel works on")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--streams", chosen.streams, "Streams of the aggregator")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  app.add_option("--depth", chosen.depth, "Launches in flight on each stream")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  return bench::exit_code_of("bench_aggregation_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
