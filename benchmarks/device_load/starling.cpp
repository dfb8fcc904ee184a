// SPDX-License-Identifier: Apache-2.0
//
// Measures the attribution of device time to elements, and what it costs. See README.md.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "../common/advance.hpp"
#include "../common/report.hpp"

namespace {

namespace bench = starling::bench;
using bench::advance;
using bench::advanced;

struct question {
  std::string name;
  int elements;
  int kernels;  // of each element, times the scale
  int numbers;  // that a kernel advances
  int rounds;
  bool is_batched;
  bool fills_device;  // the device has work all the time
};
const std::vector<question> questions = {
    {"one_element", 1, 200, 1 << 16, 4000, false, true},
    {"small_kernels", 16, 100, 256, 20000, false, true},
    {"large_kernels", 16, 50, 1 << 18, 1000, false, true},
    {"batches", 16, 100, 256, 20000, true, false},
    {"short_kernels", 1, 2000, 256, 200, false, false},
};

struct settings {
  bench::options common;
  std::string backend = "auto";
};

/// The state that all elements of a run share, which are in one process.
struct common_state {
  question asked;
  int kernels;
  std::unique_ptr<starling::aggregator> batches;
};

/// An element with numbers on a device.
struct part : starling::chare<part> {
  explicit part(std::uint64_t shared)
      : m_all(*reinterpret_cast<common_state*>(shared)),
        m_at(starling::devices(*starling::runtime::current()).here().make_stream()),
        m_numbers(m_at.device().allocate<std::uint64_t>(starling::memory_kind::device,
                                                        std::size_t(m_all.asked.numbers), m_at)) {}

  starling::task<> reset() {
    m_at.fill(m_numbers, std::uint64_t(this_index()));
    co_await m_at.completion();
  }
  starling::task<> run() {
    const starling::range all{m_all.asked.numbers};
    const advance k{m_numbers.data(), m_all.asked.rounds};
    if (m_all.asked.is_batched) {
      for (int i = 0; i < m_all.kernels; ++i) co_await m_all.batches->submit(all, k);
    } else {
      for (int i = 0; i < m_all.kernels; ++i) m_at.submit(all, k);
      co_await m_at.completion();
    }
  }
  /// Returns the number of right results.
  starling::task<int> right() {
    std::vector<std::uint64_t> found(m_numbers.size());
    m_at.copy(found, m_numbers.span());
    co_await m_at.completion();
    std::uint64_t expected = std::uint64_t(this_index());
    const std::int64_t steps = std::int64_t(m_all.kernels) * m_all.asked.rounds;
    for (std::int64_t i = 0; i < steps; ++i) expected = advanced(expected);
    co_return int(std::ranges::count(found, expected));
  }
  double seconds() { return load_so_far().device_seconds; }

 private:
  common_state& m_all;
  starling::stream m_at;
  starling::buffer<std::uint64_t> m_numbers;
};

using parts = starling::chare_array<part>;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One run of a question, with or without the measurement.
class experiment {
 public:
  experiment(starling::runtime& rt, const question& asked, double scale)
      : m_rt(rt), m_all{asked, std::max(1, int(std::lround(asked.kernels * scale))), nullptr} {
    if (asked.is_batched)
      m_all.batches = std::make_unique<starling::aggregator>(starling::devices(rt).device(0));
    m_parts.emplace(starling::create_array<part>(rt, asked.elements, starling::placement::block,
                                                 reinterpret_cast<std::uint64_t>(&m_all)));
  }

  [[nodiscard]] int items() const { return m_all.asked.elements * m_all.kernels; }
  /// Runs all kernels; returns the seconds.
  double run(bool is_measured) {
    m_parts->invoke<&part::reset>();
    m_rt.wait_idle();
    m_parts->measure_loads(is_measured);
    m_rt.wait_idle();
    const auto begin = std::chrono::steady_clock::now();
    m_parts->invoke<&part::run>();
    m_rt.wait_idle();
    const double elapsed = seconds_since(begin);
    m_shares.clear();
    for (int i = 0; is_measured && i < m_all.asked.elements; ++i)
      m_shares.push_back(m_rt.sync_wait((*m_parts)[i].call<&part::seconds>()));
    m_parts->measure_loads(false);
    m_rt.wait_idle();
    return elapsed;
  }
  [[nodiscard]] bool is_right() {
    int right = 0;
    for (int i = 0; i < m_all.asked.elements; ++i)
      right += m_rt.sync_wait((*m_parts)[i].call<&part::right>());
    return right == m_all.asked.elements * m_all.asked.numbers;
  }
  /// Device seconds of the elements in the last measured run.
  [[nodiscard]] const std::vector<double>& shares() const { return m_shares; }

 private:
  starling::runtime& m_rt;
  common_state m_all;
  std::optional<parts> m_parts;
  std::vector<double> m_shares;
};

/// What the measured runs have attributed, as ratios.
struct attribution {
  std::vector<double> of_run;
  std::vector<double> largest_share;
  std::vector<double> ns_per_kernel;
  bool is_possible = true;

  void add(const std::vector<double>& shares, double elapsed, int items) {
    double sum = 0, largest = 0;
    for (const double s : shares) {
      sum += s;
      largest = std::max(largest, s);
    }
    of_run.push_back(sum / elapsed);
    largest_share.push_back(largest * double(shares.size()) / sum);
    ns_per_kernel.push_back(1e9 * elapsed / items);
    is_possible = is_possible && sum > 0 && sum <= elapsed * 1.001;
  }
};

void ask(starling::runtime& rt, const question& asked, const settings& chosen, bench::report& out) {
  experiment e(rt, asked, chosen.common.scale);
  attribution found;
  bench::sampling runs(chosen.common, asked.name, std::uint64_t(e.items()));
  for (int i = 0; runs.wants_more(); ++i) {
    runs.begin();
    runs.end(e.run(false), std::uint64_t(e.items()));
    bool right = e.is_right();
    const double elapsed = e.run(true);
    right = right && e.is_right() && !chosen.common.breaks(asked.name);
    if (i >= chosen.common.warmups) found.add(e.shares(), elapsed, e.items());
    runs.judge(right);
  }
  const bench::measurement m = runs.result();
  out.add(m);
  const double attributed = bench::median(found.of_run);
  const double measured = bench::median(found.ns_per_kernel);
  out.metric(asked.name + "_measured_ns", measured);
  out.metric(asked.name + "_slowdown", measured / m.median_ns);
  out.metric(asked.name + "_attributed", attributed);
  out.metric(asked.name + "_largest_share", bench::median(found.largest_share));
  out.check(asked.name + "_attributed_is_possible", found.is_possible);
  const bool is_alone = starling::devices(rt).backend() == starling::backend_kind::cuda;
  if (is_alone && asked.fills_device && chosen.common.scale >= 1)
    out.check(asked.name + "_attributed_within_5_percent", attributed >= 0.95);
  fmt::print("{:<22}{:>12.0f} ns measured, {:.3f} times; attributed {:.3f}, largest share {:.3f}\n",
             "", measured, measured / m.median_ns, attributed, bench::median(found.largest_share));
}

int run(const settings& chosen) {
  bench::report out("device_load_starling", chosen.common);
  starling::runtime_options o = starling::runtime_options::from_environment();
  o.workers = unsigned(chosen.common.workers);
  o.extra["backend"] = chosen.backend;
  starling::runtime rt(o);
  const starling::device_set& all = starling::devices(rt);
  out.config("backend", std::string(starling::to_string(all.backend())));
  out.config("device", all.device(0).properties().name);
  out.print_heading();
  for (const question& q : questions)
    if (chosen.common.runs(q.name)) ask(rt, q, chosen, out);
  out.write(chosen.common.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "device_load_starling";
  settings chosen;
  CLI::App app{"Device time of elements: what is attributed, and what the measurement costs"};
  bench::add_options(app, chosen.common);
  app.add_option("--backend", chosen.backend, "host, cuda, kokkos or auto")
      ->check(CLI::IsMember({"host", "cuda", "kokkos", "auto"}))
      ->capture_default_str();
  return bench::exit_code_of(name, app, [&] {
    app.parse(argc, argv);
    std::vector<std::string> names;
    for (const question& q : questions) names.push_back(q.name);
    bench::require_known(chosen.common, names);
    bench::require_writable(chosen.common.json);
    return run(chosen);
  });
}
