// SPDX-License-Identifier: Apache-2.0
//
// Measures self-gravity of stars, kernel by kernel, beside the time of its operations. See
// README.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "../common/report.hpp"
#include "common/upload.hpp"
#include "gravity/direct_sum.hpp"
#include "gravity/operation_count.hpp"
#include "mesh/adapt.hpp"
#include "placement/gravity/device_gravity.hpp"
#include "placement/launch.hpp"

namespace {

namespace bench = starling::bench;
using clock = std::chrono::steady_clock;

double ms_since(clock::time_point then) {
  return std::chrono::duration<double, std::milli>(clock::now() - then).count();
}

struct question {
  std::string name;
  double theta;
  bool is_uniform;
};
const std::vector<question> questions = {{"uniform_050", 0.5, true},
                                         {"uniform_034", 0.34, true},
                                         {"levels_050", 0.5, false},
                                         {"levels_034", 0.34, false}};

struct settings {
  bench::options common;
  std::string backend = "auto";
};

/// Returns the level of the uniform grid: 64³ cells at scale 1.
int level_of(double scale) { return std::clamp(3 + int(std::lround(std::log2(scale) / 3)), 1, 6); }

/// Returns a tree with twice as fine cells in the sphere of radius 0.6, or a uniform one.
stars::octree tree_of(const question& asked, int level) {
  if (asked.is_uniform) return stars::octree::uniform(level);
  level = std::max(level, 3);  // of coarser sub-grids none or all are in the sphere
  const stars::octree base = stars::octree::uniform(level - 1);
  std::vector<stars::refinement> marks;
  for (const stars::node_key& key : base.leaves()) {
    double r2 = 0.0;
    for (int a = 0; a < 3; ++a) r2 += std::pow((2 * key.place[a] + 1.0) / key.per_edge() - 1.0, 2);
    marks.push_back(r2 < 0.36 ? stars::refinement::refine : stars::refinement::keep);
  }
  return stars::adapt(base, marks, {0, level});
}

/// Returns the density of a star that is not symmetric, in thin gas.
std::vector<double> density_of(const stars::octree& tree) {
  const std::vector<double> ones(std::size_t(tree.leaf_count()) * stars::cells_per_subgrid, 1.0);
  std::vector<double> density;
  for (const stars::point_mass& cell : stars::point_masses(tree, 1.0, ones)) {
    const auto& [x, y, z] = cell.at;
    const double r2 = (x - 0.1) * (x - 0.1) + y * y + z * z + 0.2 * x * y;
    density.push_back(1e-10 + std::pow(std::max(0.0, 1.0 - 4.0 * r2), 1.5));
  }
  return density;
}

struct times {
  std::vector<double> solve_ms, again_ms;
  std::map<std::string, double> kernel_ms;
  std::vector<double> results;
};

/// Returns the family of a kernel that is reported.
template <class Kernel>
std::string family_of(const Kernel&) {
  return "up_and_down";
}
std::string family_of(const stars::near_field&) { return "near_field"; }
template <int Reach>
std::string family_of(const stars::grouped_near_field<Reach>&) {
  return "near_field";
}
std::string family_of(const stars::far_field&) { return "far_field"; }
std::string family_of(const stars::grouped_far_field&) { return "far_field"; }
std::string family_of(const stars::beside_finer&) { return "seams"; }
std::string family_of(const stars::beside_coarser&) { return "seams"; }

/// What a run solves on a device.
class problem {
 public:
  problem(starling::runtime& rt, const stars::octree& tree, const question& asked,
          const std::vector<double>& density)
      : m_where(starling::devices(rt).device(0)), m_queue(m_where.make_stream()),
        m_solver(m_where, m_queue, tree, 1.0, {asked.theta, true}),
        m_density(apps::upload(m_where, m_queue, density)),
        m_results(m_where.allocate<double>(starling::memory_kind::device,
                                           stars::result_count * density.size())) {}

  starling::task<times> measure(int warmups, int repetitions) {
    times t;
    co_await timed(stars::centres_kind::found);
    for (int n = -warmups; n < repetitions; ++n) {
      const double again = co_await timed(stars::centres_kind::kept);
      const double solve = co_await timed(stars::centres_kind::found);
      if (n < 0) continue;
      t.solve_ms.push_back(solve);
      t.again_ms.push_back(again);
    }
    auto on_host = m_where.allocate<double>(starling::memory_kind::pinned, m_results.size());
    m_queue.copy(on_host, m_results);
    co_await m_queue.completion();
    t.results.assign(on_host.begin(), on_host.end());
    co_await time_kernels(t.kernel_ms, repetitions);
    co_return t;
  }
  [[nodiscard]] std::size_t bytes() const { return m_solver.bytes(); }

 private:
  [[nodiscard]] stars::density_view density() const {
    return {m_density.data(), stars::cells_per_subgrid};
  }
  starling::task<double> timed(stars::centres_kind centres) {
    const auto begin = clock::now();
    m_solver.solve(m_queue, density(), centres, m_results.data());
    co_await m_queue.completion();
    co_return ms_since(begin);
  }
  /// Times each kernel of a solve alone, with the time to await it; all kernels of a family
  /// together.
  starling::task<void> time_kernels(std::map<std::string, double>& ms, int repetitions) {
    std::vector<std::pair<std::string, std::function<void()>>> kernels;
    m_solver.for_each_kernel(
        density(), stars::centres_kind::found, m_results.data(), [&](const auto& kernel) {
          kernels.emplace_back(family_of(kernel),
                               [this, kernel] { stars::submit(m_queue, kernel); });
        });
    std::map<std::string, std::vector<double>> samples;
    for (int n = 0; n < repetitions; ++n) {
      std::map<std::string, double> sums;
      for (const auto& [family, submit] : kernels) {
        const auto begin = clock::now();
        submit();
        co_await m_queue.completion();
        sums[family] += ms_since(begin);
      }
      for (const auto& [family, sum] : sums) samples[family].push_back(sum);
    }
    for (auto& [name, all] : samples) ms[name] = bench::median(all);
  }

  starling::device& m_where;
  starling::stream m_queue;
  stars::device_gravity m_solver;
  starling::buffer<double> m_density, m_results;
};

/// Changes the acceleration of one cell.
void spoil(std::vector<double>& results) {
  results[results.size() / 2 + stars::cells_per_subgrid] += 1.0;
}

/// Returns whether errors and residuals are below their limits, which a solver without one of its
/// kernels exceeds. The cells of the thin gas have the largest errors.
bool is_correct(const question& asked, const std::vector<stars::point_mass>& masses,
                const std::vector<double>& results, bench::report& report) {
  const stars::gravity_errors e = stars::errors_of(masses, results, 100);
  const stars::force_balance b = stars::balance_of(masses, results);
  report.metric(asked.name + "_acceleration_error", e.acceleration);
  report.metric(asked.name + "_potential_error", e.potential);
  report.metric(asked.name + "_force_residual", b.force);
  report.metric(asked.name + "_torque_residual", b.torque);
  const double limit = asked.theta > 0.4 ? 3e-2 : 1e-2;
  return e.acceleration < limit && e.potential < 0.1 * limit && b.force < 1e-14 && b.torque < 1e-14;
}

int run(const settings& chosen) {
  const bench::options& common = chosen.common;
  bench::report report("gravity_starling", common);
  starling::runtime_options o = starling::runtime_options::from_environment();
  o.workers = static_cast<unsigned>(common.workers);
  o.extra["backend"] = chosen.backend;
  starling::runtime rt(o);
  const int level = level_of(common.scale);
  report.config("backend", std::string(starling::to_string(starling::devices(rt).backend())));
  report.config("level", level);
  const std::string device = starling::devices(rt).device(0).properties().name;
  report.config("device", device);
  fmt::print("gravity on {}, ms\n{:<14}{:>10}{:>10}{:>10}{:>12}{:>11}{:>9}{:>13}{:>14}\n", device,
             "question", "sub-grids", "solve", "again", "near_field", "far_field", "seams",
             "up_and_down", "Gflop/solve");
  for (const question& asked : questions) {
    if (!common.runs(asked.name)) continue;
    const stars::octree tree = tree_of(asked, level);
    const std::vector<double> density = density_of(tree);
    problem solved(rt, tree, asked, density);
    times t = rt.sync_wait(solved.measure(common.warmups, common.repetitions));
    if (common.breaks(asked.name)) spoil(t.results);
    const bool correct =
        is_correct(asked, stars::point_masses(tree, 1.0, density), t.results, report);
    const stars::gravity_operations work = stars::count_operations(tree, asked.theta);
    report.check(asked.name, correct);
    report.metric(asked.name + "_solve_ms", bench::median(t.solve_ms));
    report.metric(asked.name + "_again_ms", bench::median(t.again_ms));
    for (const auto& [name, ms] : t.kernel_ms) report.metric(asked.name + "_" + name + "_ms", ms);
    report.metric(asked.name + "_near_gflop", 1e-9 * work.near);
    report.metric(asked.name + "_far_gflop", 1e-9 * work.far);
    report.metric(asked.name + "_mib", double(solved.bytes()) / (1 << 20));
    fmt::print("{:<14}{:>10}{:>10.3f}{:>10.3f}{:>12.3f}{:>11.3f}{:>9.3f}{:>13.3f}{:>14.2f}  {}\n",
               asked.name, tree.leaf_count(), bench::median(t.solve_ms), bench::median(t.again_ms),
               t.kernel_ms["near_field"], t.kernel_ms["far_field"], t.kernel_ms["seams"],
               t.kernel_ms["up_and_down"], 1e-9 * (work.near + work.far),
               correct ? "ok" : "WRONG ANSWER");
    std::fflush(stdout);
  }
  report.write(common.json);
  return report.exit_code();
}

settings parse(CLI::App& app, int argc, char** argv) {
  settings chosen;
  chosen.common.workers = 2;
  bench::add_options(app, chosen.common);
  app.add_option("--backend", chosen.backend, "host, cuda, kokkos or auto")->capture_default_str();
  app.parse(argc, argv);
  std::vector<std::string> names;
  for (const question& q : questions) names.push_back(q.name);
  bench::require_known(chosen.common, names);
  bench::require_writable(chosen.common.json);
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Self-gravity of 64³ cells by the fast multipole method of stars");
  return bench::exit_code_of("bench_gravity", app, [&] { return run(parse(app, argc, argv)); });
}
