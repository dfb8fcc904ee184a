// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include <fmt/format.h>

#include "loads_file.hpp"
#include "objects/balance/loads_text.hpp"

namespace starling::launch {
namespace {

using balance::snapshot;
using nlohmann::ordered_json;

void write_json(const ordered_json& object, const std::string& path) {
  std::ofstream output(path);
  output << object.dump(1) << '\n';
  output.close();
  if (!output) throw balance_error(fmt::format("cannot write '{}'", path));
}

std::string machine_text() {
  utsname system{};
  const bool is_named = uname(&system) == 0;
  return fmt::format("{} CPUs, {} {}, compiler {}", std::thread::hardware_concurrency(),
                     is_named ? system.sysname : "unknown", is_named ? system.release : "system",
                     __VERSION__);
}

ordered_json loads_of(const snapshot& loads, const std::vector<std::uint32_t>& worker_of) {
  const balance::place_loads sums = balance::loads_of_places(loads, worker_of);
  return {{"host_seconds", sums.host_seconds}, {"device_seconds", sums.device_seconds}};
}

}  // namespace

replay replay_loads(const snapshot& loads, const std::string& name,
                    const balance::balancer_options& options) {
  const auto balancer = balance::make_balancer(name, options);
  const auto begin = std::chrono::steady_clock::now();
  replay done{name, balancer->balance(loads), 0};
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return done;
}

void print_heading(const snapshot& loads) {
  fmt::print("{} elements, {} edges, {} workers on {} ranks, {} devices, {:g} steps\n",
             loads.elements.size(), loads.edges.size(), loads.workers.size(), loads.rank_count(),
             loads.devices.size(), loads.steps);
  fmt::print("{:<14} {:<14} {:>9} {:>9} {:>9} {:>9} {:>11} {:>10} {:>10} {:>13}\n", "balancer",
             "decision", "time/ms", "before", "after", "step/ms", "migrations", "moved/MB",
             "cost/ms", "messages/MB");
}

void print_line(const replay& done) {
  const balance::plan& p = done.plan;
  fmt::print(
      "{:<14} {:<14} {:>9.1f} {:>9.4f} {:>9.4f} {:>9.4g} {:>11} {:>10.4g} {:>10.4g} {:>13.4g}\n",
      done.balancer, balance::name_of(p.decision), 1e3 * done.seconds, p.before.imbalance(),
      p.after.imbalance(), 1e3 * p.after.step_seconds, p.migrations.size(), 1e-6 * double(p.bytes),
      1e3 * p.cost_seconds, 1e-6 * p.after.bytes_between_ranks);
}

void print_migrations(const snapshot& loads, const replay& done, std::size_t most) {
  fmt::print("{}: {}\n", done.balancer, balance::describe(loads, done.plan));
  const auto& all = done.plan.migrations;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    fmt::print("  {}\n", balance::describe(loads, all[i]));
  if (all.size() > most) fmt::print("  and {} more\n", all.size() - most);
}

void write_report(const snapshot& loads, const std::vector<replay>& done, const std::string& source,
                  const std::string& path) {
  const char* commit = std::getenv("STARLING_COMMIT");
  ordered_json metrics = ordered_json::object(), checks = ordered_json::object();
  for (const replay& r : done) {
    const balance::plan& p = r.plan;
    metrics[r.balancer + "_ms"] = 1e3 * r.seconds;
    metrics[r.balancer + "_imbalance_before"] = p.before.imbalance();
    metrics[r.balancer + "_imbalance_after"] = p.after.imbalance();
    metrics[r.balancer + "_step_before_ms"] = 1e3 * p.before.step_seconds;
    metrics[r.balancer + "_step_after_ms"] = 1e3 * p.after.step_seconds;
    metrics[r.balancer + "_migrations"] = p.migrations.size();
    metrics[r.balancer + "_moved_bytes"] = p.bytes;
    metrics[r.balancer + "_cost_ms"] = 1e3 * p.cost_seconds;
    metrics[r.balancer + "_bytes_between_ranks"] = p.after.bytes_between_ranks;
    checks[r.balancer + "_is_no_worse"] = p.after.overfull_bytes < p.before.overfull_bytes ||
                                          p.after.step_seconds <= p.before.step_seconds;
  }
  write_json({{"name", "starling_balance"},
              {"config",
               {{"loads", source},
                {"elements", loads.elements.size()},
                {"edges", loads.edges.size()},
                {"workers", loads.workers.size()},
                {"ranks", loads.rank_count()},
                {"devices", loads.devices.size()},
                {"steps", loads.steps}}},
              {"commit", commit != nullptr ? commit : "unknown"},
              {"machine", machine_text()},
              {"metrics", metrics},
              {"checks", checks}},
             path);
}

void write_plot(const snapshot& loads, const std::vector<replay>& done, const std::string& path) {
  const std::vector<std::uint32_t> current = balance::current_workers(loads);
  ordered_json after = ordered_json::object();
  for (const replay& r : done) {
    std::vector<std::uint32_t> worker_of = current;
    for (const balance::migration& m : r.plan.migrations) worker_of[m.element] = m.to;
    after[r.balancer] = loads_of(loads, worker_of);
  }
  std::vector<std::uint32_t> ranks;
  for (const balance::worker_info& w : loads.workers) ranks.push_back(w.rank);
  write_json({{"format", "starling balance plot"},
              {"version", 1},
              {"ideal_seconds", balance::estimate_step(loads, current).ideal_seconds},
              {"rank_of_worker", ranks},
              {"before", loads_of(loads, current)},
              {"after", after}},
             path);
}

}  // namespace starling::launch
