// SPDX-License-Identifier: Apache-2.0
//
// Measures the time of each load balancer and the quality of its plans. See README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <starling/objects/balance.hpp>

#include "../common/report.hpp"

namespace {

namespace bench = starling::bench;
namespace balance = starling::balance;

struct question {
  std::string name;
  std::string balancer;
  double elements;
  double workers;
  bool has_devices;
};
const std::vector<question> questions = {
    {"greedy", "greedy", 1e5, 64, false},
    {"greedy_10k", "greedy", 1e5, 1e4, false},
    {"greedy_devices", "greedy", 1e5, 64, true},
    {"refine", "refine", 1e5, 64, false},
    {"refine_devices", "refine", 1e5, 64, true},
    {"curve", "curve", 1e5, 64, false},
    {"bisection", "bisection", 1e5, 64, false},
    {"communication", "communication", 1e5, 64, false},
    {"diffusion", "diffusion", 1e5, 64, false},
    {"hierarchical", "hierarchical", 1e5, 64, false},
    {"million_greedy", "greedy", 1e6, 1e4, false},
    {"million_refine", "refine", 1e6, 1e4, false},
    {"million_curve", "curve", 1e6, 1e4, false},
    {"million_bisection", "bisection", 1e6, 1e4, false},
    {"million_communication", "communication", 1e6, 1e4, false},
    {"million_diffusion", "diffusion", 1e6, 1e4, false},
    {"million_hierarchical", "hierarchical", 1e6, 1e4, false},
};

/// A square grid, distributed over the workers by rows. The first quarter of the elements has five
/// times the host load of the remaining ones; with devices, the last quarter has six times the
/// device load.
balance::snapshot make_loads(const question& asked, double scale) {
  balance::snapshot s;
  const auto side = std::uint32_t(std::max(8.0, std::sqrt(asked.elements * scale)));
  const auto workers = std::uint32_t(std::max(2.0, asked.workers * scale));
  std::mt19937_64 engine(1);
  const auto random = [&] { return 0.5 + double(engine() >> 11) * 0x1p-53; };
  for (std::uint32_t w = 0; w < workers; ++w)
    s.workers.push_back({w, asked.has_devices ? w : balance::no_device});
  if (asked.has_devices) s.devices.resize(workers);
  const std::uint32_t count = side * side;
  s.elements.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    balance::element_load& e = s.elements[i];
    e.id = i;
    e.worker = std::uint32_t(std::uint64_t(i) * workers / count);
    e.position = {double(i % side), double(i / side), 0};
    e.has_position = true;
    e.host_seconds = (i < count / 4 ? 5 : 1) * random();
    if (asked.has_devices) e.device_seconds = (i >= count / 4 * 3 ? 6 : 1) * random();
    if (i % side + 1 < side) s.edges.push_back({i, i + 1, 100, 1});
    if (i / side + 1 < side) s.edges.push_back({i, i + side, 100, 1});
  }
  return s;
}

class problem {
 public:
  problem(const question& asked, double scale)
      : m_loads(make_loads(asked, scale)), m_balancer(balance::make_balancer(asked.balancer)) {}

  [[nodiscard]] std::uint64_t items() const { return m_loads.elements.size(); }
  void prepare() const {}
  [[nodiscard]] balance::plan solve() const { return m_balancer->balance(m_loads); }
  /// Sums all loads after the migrations: each worker and device has at most 5 % more than the
  /// ideal, and one element.
  [[nodiscard]] bool correct(const balance::plan& answer) const {
    std::vector<double> host(m_loads.workers.size()), device(m_loads.workers.size());
    double all_host = 0, all_device = 0, largest = 0;
    std::vector<std::uint32_t> worker_of = balance::current_workers(m_loads);
    for (const balance::migration& m : answer.migrations) worker_of.at(m.element) = m.to;
    for (std::size_t i = 0; i < worker_of.size(); ++i) {
      const balance::element_load& e = m_loads.elements[i];
      host.at(worker_of[i]) += e.host_seconds;
      device[worker_of[i]] += e.device_seconds;  // device and worker have the same number
      all_host += e.host_seconds;
      all_device += e.device_seconds;
      largest = std::max({largest, e.host_seconds, e.device_seconds});
    }
    const double ideal = std::max(all_host, all_device) / double(host.size());
    const double limit = 1.05 * std::max(ideal, largest) + largest;
    return std::ranges::max(host) <= limit && std::ranges::max(device) <= limit;
  }
  static void spoil(balance::plan& answer) { answer.migrations.clear(); }

 private:
  balance::snapshot m_loads;
  std::unique_ptr<balance::balancer> m_balancer;
};

void ask(const question& asked, const bench::options& chosen, bench::report& out) {
  problem p(asked, chosen.scale);
  balance::plan last;
  out.add(bench::measure(chosen, asked.name, p, [&](problem& each) {
    last = each.solve();
    return last;
  }));
  out.metric(asked.name + "_ms", 1e-6 * out.metric(asked.name + "_ns") * double(p.items()));
  out.metric(asked.name + "_imbalance_before", last.before.imbalance());
  out.metric(asked.name + "_imbalance_after", last.after.imbalance());
  out.metric(asked.name + "_migrations", double(last.migrations.size()));
  out.metric(asked.name + "_bytes_between_ranks_ratio",
             last.before.bytes_between_ranks > 0
                 ? last.after.bytes_between_ranks / last.before.bytes_between_ranks
                 : 1);
  fmt::print("{:<22}{:>10} migrations, imbalance {:.3f} to {:.3f}, {:.1f} ms\n", "",
             last.migrations.size(), last.before.imbalance(), last.after.imbalance(),
             out.metric(asked.name + "_ms"));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "balance_starling";
  bench::options chosen;
  CLI::App app{"Time and quality of the load balancers"};
  bench::add_options(app, chosen);
  return bench::exit_code_of(name, app, [&] {
    app.parse(argc, argv);
    std::vector<std::string> names;
    for (const question& q : questions) names.push_back(q.name);
    bench::require_known(chosen, names);
    bench::require_writable(chosen.json);
    bench::report out(name, chosen);
    out.print_heading();
    for (const question& q : questions)
      if (chosen.runs(q.name)) ask(q, chosen, out);
    out.write(chosen.json);
    return out.exit_code();
  });
}
