// SPDX-License-Identifier: Apache-2.0
//
// Measures migrations of elements with device memory, and what balancing of device time gains. See
// README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
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
using bench::advance, bench::advanced;
using starling::callback, starling::runtime, starling::task;

starling::device& here() { return starling::devices(*runtime::current()).here(); }

/// Numbers on the device of the element's worker, all of which are equal.
class numbers {
 public:
  numbers() = default;
  numbers(std::size_t count, std::uint64_t value)
      : m_numbers(
            m_at.device().allocate<std::uint64_t>(starling::memory_kind::device, count, m_at)) {
    m_at.fill(m_numbers, value);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers);
    if constexpr (Archive::is_reading) m_numbers.release_on(m_at);
  }
  /// Moves them to the device of this worker. Returns at once.
  void follow() {
    if (&m_at.device() == &here()) return;
    starling::stream at = here().make_stream();
    move_buffer(m_numbers, m_at, at);
    m_at = std::move(at);
  }
  void submit(int rounds) {
    m_at.submit(starling::range{std::int64_t(m_numbers.size())}, advance{m_numbers.data(), rounds});
  }
  auto completion() { return m_at.completion(); }
  /// Returns how many of them are equal to `value`.
  task<std::uint64_t> count(std::uint64_t value) {
    std::vector<std::uint64_t> found(m_numbers.size());
    m_at.copy(found, std::as_const(m_numbers).span());
    co_await m_at.completion();
    co_return std::uint64_t(std::ranges::count(found, value));
  }

 private:
  starling::stream m_at = here().make_stream();
  starling::buffer<std::uint64_t> m_numbers;
};

/// Migrates to and fro between two workers, with device memory of a given size.
struct traveller : starling::chare<traveller> {
  explicit traveller(std::size_t count) : m_numbers(count, value) {}
  explicit traveller(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers, m_hops, m_other, m_end);
  }

  void begin(int hops, std::uint64_t other, callback<std::uint64_t> end) {
    m_hops = hops;
    m_other = other;
    m_end = std::move(end);
    this_element().template invoke<&traveller::travel>();
  }
  task<> travel() {
    co_await m_numbers.completion();
    while (m_hops > 0) {
      --m_hops;
      const std::size_t to = std::exchange(m_other, this_worker());
      migrate_to(to);
      co_await migration_point();
      co_await m_numbers.completion();
    }
    m_end.deliver(this_worker());
  }
  task<> resumed() { return travel(); }
  void after_migration() { m_numbers.follow(); }
  task<std::uint64_t> right() { return m_numbers.count(value); }

 private:
  static constexpr std::uint64_t value = 42;
  numbers m_numbers;
  int m_hops = 0;
  std::uint64_t m_other = 0;
  callback<std::uint64_t> m_end;
};

/// What the elements of a balancing question do.
struct work {
  int steps = 0;
  int rounds = 0;  // of a light element in one step
  std::uint64_t count = 0;
  bool balances = false;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(steps, rounds, count, balances);
  }
};

constexpr int elements = 64, heavy_elements = elements / 4, heavy = 8;

/// Launches one kernel in each step. The first quarter of the elements has kernels that are `heavy`
/// times as long, which only the device shows.
struct worker : starling::chare<worker> {
  explicit worker(work asked) : m_asked(asked), m_numbers(asked.count, 0) {}
  explicit worker(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_asked, m_step, m_migrations, m_numbers, m_end);
  }

  /// `end` receives the migrations of all elements.
  void begin(callback<std::uint64_t> end) {
    m_end = std::move(end);
    this_element().template invoke<&worker::run>();
  }
  task<> run() {
    while (m_step < m_asked.steps) {
      m_numbers.submit(rounds());
      co_await m_numbers.completion();
      ++m_step;
      if (m_asked.balances)
        co_await load_balance();
      else
        co_await barrier();
    }
    contribute(m_migrations, starling::reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }
  void after_migration() {
    ++m_migrations;
    m_numbers.follow();
  }
  task<std::uint64_t> right() {
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < std::int64_t(rounds()) * m_asked.steps; ++i)
      expected = advanced(expected);
    return m_numbers.count(expected);
  }

 private:
  [[nodiscard]] int rounds() const {
    return this_index() < heavy_elements ? m_asked.rounds * heavy : m_asked.rounds;
  }
  work m_asked;
  int m_step = 0;
  std::uint64_t m_migrations = 0;
  numbers m_numbers;
  callback<std::uint64_t> m_end;
};

struct settings : bench::options {
  std::string backend = "auto";
  int steps = 50;
  int rounds = 5000;
  std::size_t numbers = std::size_t(1) << 18;
};

constexpr const char* hop_name = "hop_64m";
constexpr const char* copy_name = "copy_64m";
constexpr const char* barrier_name = "uneven_barrier";
constexpr const char* balanced_name = "uneven_balanced";
constexpr int transfers = 200;  // hops and copies of a run at scale 1

int scaled(double count, double scale, int least) {
  return std::max(least, int(std::lround(count * scale)));
}
/// The size of the travelling memory: 64 MiB, but less if a test makes the problem small.
std::size_t travelling_numbers(const settings& chosen) {
  return std::size_t(scaled(8 << 20, std::min(1.0, chosen.scale * 10), 256));
}
int steps_of(const settings& chosen) {
  return scaled(chosen.steps, std::min(1.0, chosen.scale * 10), 2);
}

task<> ask_hops(const settings& chosen, bench::report& out) {
  const std::size_t count = travelling_numbers(chosen);
  const int hops = scaled(transfers, chosen.scale, 2);
  const auto one =
      starling::create_array<traveller>(*runtime::current(), 1, starling::placement::block, count);
  const std::uint64_t last = starling::total_worker_count(*runtime::current()) - 1;
  bench::sampling runs(chosen, hop_name, std::uint64_t(hops));
  std::uint64_t at = 0;
  while (runs.wants_more()) {
    auto [end, place] = starling::make_reply<std::uint64_t>();
    runs.begin();
    one[0].invoke<&traveller::begin>(hops, last - at, end);
    const std::uint64_t found = co_await std::move(place);
    runs.end();
    const std::uint64_t expected = hops % 2 == 0 ? at : last - at;
    at = found;
    const std::uint64_t right = co_await one[0].call<&traveller::right>();
    runs.judge(found == expected && right == count && !chosen.breaks(hop_name));
  }
  out.add(runs.result());
  one.destroy();
}

/// The floor of a hop between two devices: copies of as many bytes to and fro.
task<> ask_copies(const settings& chosen, bench::report& out) {
  const starling::device_set& all = starling::devices(*runtime::current());
  const std::size_t count = travelling_numbers(chosen);
  const int copies = scaled(transfers, chosen.scale, 2);
  starling::stream at = all.device(0).make_stream(), other = all.device(1).make_stream();
  auto here = all.device(0).allocate<std::uint64_t>(starling::memory_kind::device, count, at);
  auto there = all.device(1).allocate<std::uint64_t>(starling::memory_kind::device, count, other);
  bench::sampling runs(chosen, copy_name, std::uint64_t(copies));
  while (runs.wants_more()) {
    at.fill(here, std::uint64_t(7));
    co_await at.completion();
    runs.begin();
    for (int i = 0; i < copies; i += 2) {
      other.copy(there, std::as_const(here).span());
      co_await other.completion();
      at.copy(here, std::as_const(there).span());
      co_await at.completion();
    }
    runs.end();
    std::vector<std::uint64_t> found(count);
    at.copy(found, std::as_const(here).span());
    co_await at.completion();
    const bool right = std::uint64_t(std::ranges::count(found, std::uint64_t(7))) == count;
    runs.judge(right && !chosen.breaks(copy_name));
  }
  out.add(runs.result());
}

task<> ask_balance(const settings& chosen, bench::report& out, bool balances) {
  const char* name = balances ? balanced_name : barrier_name;
  const double small = std::min(1.0, chosen.scale);
  const work asked{steps_of(chosen), scaled(chosen.rounds, small, 1),
                   std::uint64_t(scaled(double(chosen.numbers), small, 256)), balances};
  bench::sampling runs(chosen, name, std::uint64_t(asked.steps));
  std::uint64_t migrations = 0;
  while (runs.wants_more()) {
    const auto all = starling::create_array<worker>(*runtime::current(), elements,
                                                    starling::placement::block, asked);
    if (balances) all.measure_loads(true);
    auto [end, result] = starling::make_reply<std::uint64_t>();
    co_await starling::quiescence();
    runs.begin();
    all.invoke<&worker::begin>(end);
    migrations = co_await std::move(result);
    runs.end();
    std::uint64_t right = 0;
    for (int i = 0; i < elements; ++i) right += co_await all[i].call<&worker::right>();
    runs.judge(right == elements * asked.count && !chosen.breaks(name));
    all.destroy();
  }
  out.add(runs.result());
  if (!balances) co_return;
  out.metric(std::string(name) + "_migrations", double(migrations));
  fmt::print("{:<22}{:>10} migrations\n", "", migrations);
}

void report_ratio(bench::report& out, const char* name, double value) {
  if (!std::isfinite(value) || value == 0) return;
  out.metric(name, value);
  fmt::print("{:<22}{:>10.3f}\n", name, value);
}

/// Adds what follows from the times: the share of the copy's bandwidth that a hop reaches, and the
/// gain of balancing beside the ideal one, in which only the first step is not balanced.
void add_ratios(const settings& chosen, bench::report& out, std::size_t devices) {
  report_ratio(out, "hop_share_of_copy", out.metric("copy_64m_ns") / out.metric("hop_64m_ns"));
  report_ratio(
      out, "hop_64m_gb_per_s",
      double(travelling_numbers(chosen) * sizeof(std::uint64_t)) / out.metric("hop_64m_ns"));
  const double gain = out.metric("uneven_barrier_ns") / out.metric("uneven_balanced_ns");
  report_ratio(out, "gain", gain);
  const int steps = steps_of(chosen);
  const double total = heavy * heavy_elements + (elements - heavy_elements);
  const double on_one = double(elements) / double(devices);  // before the first balancing
  const double worst = on_one <= heavy_elements
                           ? heavy * on_one
                           : heavy * heavy_elements + (on_one - heavy_elements);
  const double ideal = steps * worst / (worst + (steps - 1) * total / double(devices));
  report_ratio(out, "share_of_ideal_gain", gain / ideal);
}

task<int> lead(const settings& chosen, bench::report& out) {
  runtime& rt = *runtime::current();
  if (starling::total_worker_count(rt) < 2)
    throw starling::usage_error(
        "migrations need two workers: --workers 2, or starling launch -n 2");
  const starling::device_set& all = starling::devices(rt);
  out.config("ranks", starling::rank_count());
  out.config("backend", std::string(starling::to_string(all.backend())));
  const std::size_t devices = all.count() * std::size_t(starling::rank_count());
  out.config("devices", devices);
  out.config("device", all.device(0).properties().name);
  out.print_heading();
  if (chosen.runs(hop_name)) co_await ask_hops(chosen, out);
  if (chosen.runs(copy_name) && all.count() > 1) co_await ask_copies(chosen, out);
  if (chosen.runs(barrier_name)) co_await ask_balance(chosen, out, false);
  if (chosen.runs(balanced_name)) co_await ask_balance(chosen, out, true);
  add_ratios(chosen, out, devices);
  out.write(chosen.json);
  co_return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "device_migration_starling";
  starling::runtime_options from_user;
  try {
    from_user = starling::runtime_options::parse(argc, argv);
  } catch (const starling::option_error& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return bench::exit_bad_usage;
  }
  settings chosen;
  chosen.workers = 2;
  CLI::App app{"Migrations with device memory, and the gain of balancing device time"};
  bench::add_options(app, chosen);
  app.add_option("--backend", chosen.backend, "host, cuda, kokkos or auto")
      ->check(CLI::IsMember({"host", "cuda", "kokkos", "auto"}))
      ->capture_default_str();
  app.add_option("--steps", chosen.steps, "Steps of the balancing questions")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  app.add_option("--rounds", chosen.rounds, "Length of a light element's kernel in one step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--numbers", chosen.numbers, "Numbers of an element, which its kernels advance")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return bench::exit_code_of(name, app, [&] {
    app.parse(argc, argv);
    bench::require_known(chosen, {hop_name, copy_name, barrier_name, balanced_name});
    bench::require_writable(chosen.json);
    from_user.workers = unsigned(chosen.workers);
    from_user.extra["backend"] = chosen.backend;
    bench::report out(name, chosen);
    runtime rt(from_user);
    return starling::run(rt, lead(chosen, out));
  });
}
