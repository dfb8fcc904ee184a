// SPDX-License-Identifier: Apache-2.0
//
// Measures migrations of elements with device memory, and what balancing of device time gains. See
// README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "../common/job.hpp"
#include "../common/report.hpp"
#include "elements.hpp"

namespace {

namespace bench = starling::bench;
using bench::advanced;

using namespace device_migration;

struct settings : bench::options {
  std::string backend = "auto";
  int steps = 50;
  int rounds = 0;   // 0: by the kind of device
  int numbers = 0;  // likewise
};

constexpr const char* migration_name = "migration_64m";
constexpr const char* copy_name = "copy_64m";
constexpr const char* barrier_name = "uneven_barrier";
constexpr const char* balanced_name = "uneven_balanced";
constexpr int transfers = 200;  // migrations and copies of a run at scale 1

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
int even_transfers(const settings& chosen) { return 2 * scaled(transfers / 2, chosen.scale, 1); }

/// The migrations of one element, from a worker to the last one or back.
class migrations {
 public:
  explicit migrations(std::size_t count)
      : m_count(count), m_last(starling::total_worker_count(*runtime::current()) - 1),
        m_one(starling::create_array<traveller>(*runtime::current(), 1, starling::placement::block,
                                                count)) {}
  task<> run(int how_many, std::uint64_t value, bool advances) {
    auto [end, place] = starling::make_reply<std::uint64_t>();
    m_one[0].invoke<&traveller::begin>(how_many, m_last - m_at, value, advances, end);
    m_expected = how_many % 2 == 0 ? m_at : m_last - m_at;
    m_at = co_await std::move(place);
  }
  task<bool> is_right(std::uint64_t value) {
    const std::uint64_t right = co_await m_one[0].call<&traveller::right>(value);
    const bool is_there = m_at == m_expected;
    co_return is_there&& right == m_count;
  }
  void destroy() { m_one.destroy(); }

 private:
  std::size_t m_count;
  std::uint64_t m_last, m_at = 0, m_expected = 0;
  starling::chare_array<traveller> m_one;
};

task<> ask_migrations(const settings& chosen, bench::report& out) {
  const int how_many = even_transfers(chosen);
  migrations all(travelling_numbers(chosen));
  // First with numbers that change at each place, so that no old contents can be right.
  co_await all.run(3, 42, true);
  const bool contents_move = co_await all.is_right(advanced(advanced(advanced(42))));
  bench::sampling runs(chosen, migration_name, std::uint64_t(how_many));
  for (std::uint64_t value = 100; runs.wants_more(); ++value) {
    runs.begin();
    co_await all.run(how_many, value, false);
    runs.end();
    const bool right = co_await all.is_right(value);
    runs.judge(right && contents_move && !chosen.breaks(migration_name));
  }
  out.add(runs.result());
  all.destroy();
}

/// Maps the memory with the given name for work of `near`. Returns null if that is impossible.
const std::uint64_t* map(starling::device& near, const std::optional<starling::memory_name>& name) {
  if (!name) return nullptr;
  // Without it, copies within a process pass through the host even where devices are connected.
  const starling::device_set& all = starling::devices(*runtime::current());
  static_cast<void>(near.enable_peer_access(all.device(all.count() - 1)));
  try {
    return static_cast<const std::uint64_t*>(near.import_memory(*name).data);
  } catch (const starling::device_error&) {
    return nullptr;
  }
}

/// The floor of a migration: copies of as many bytes from the last worker's device to the first
/// one, by the first one, as the receiver of a migration copies.
task<> ask_copies(const settings& chosen, bench::report& out) {
  runtime& rt = *runtime::current();
  starling::device& near = starling::devices(rt).device(0);
  const std::size_t count = travelling_numbers(chosen);
  const int copies = even_transfers(chosen);
  const on_worker last{starling::total_worker_count(rt) - 1};
  const auto far = starling::create_array<far_memory>(rt, 1, last, count);
  const std::uint64_t* const there = map(near, co_await far[0].call<&far_memory::name>());
  if (there == nullptr) {
    fmt::print("{:<22}left out: memory of other ranks is not mapped\n", copy_name);
    far.destroy();
    co_return;
  }
  starling::stream at = near.make_stream();
  auto here = near.allocate<std::uint64_t>(starling::memory_kind::device, count, at);
  bench::sampling runs(chosen, copy_name, std::uint64_t(copies));
  for (std::uint64_t value = 100; runs.wants_more(); ++value) {
    co_await far[0].call<&far_memory::fill>(value);
    at.fill(here, std::uint64_t(0));
    co_await at.completion();
    runs.begin();
    for (int i = 0; i < copies; ++i) {
      at.copy_bytes(here.data(), there, count * sizeof(std::uint64_t));
      co_await at.completion();
    }
    runs.end();
    std::vector<std::uint64_t> found(count);
    at.copy(found, std::as_const(here).span());
    co_await at.completion();
    const bool right = std::uint64_t(std::ranges::count(found, value)) == count;
    runs.judge(right && !chosen.breaks(copy_name));
  }
  out.add(runs.result());
  far.destroy();
}

task<> ask_balance(const settings& chosen, bench::report& out, bool balances) {
  const char* name = balances ? balanced_name : barrier_name;
  const double small = std::min(1.0, chosen.scale);
  const work asked{steps_of(chosen), scaled(chosen.rounds, small, 1),
                   std::uint64_t(scaled(chosen.numbers, small, std::min(256, chosen.numbers))),
                   balances};
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

/// Reports a ratio, unless one of its times was not measured. `least`: the goal; 0: none.
void report_ratio(bench::report& out, const std::string& name, double value, double least = 0) {
  if (!std::isfinite(value) || value == 0) return;
  out.metric(name, value);
  fmt::print("{:<22}{:>10.3f}\n", name, value);
  if (least > 0) out.check(fmt::format("{}_at_least_{}", name, least), value >= least);
}

/// Returns the gain of balancing if only the first step is not balanced.
double ideal_gain(int steps, double devices) {
  const double total = heavy * heavy_elements + (elements - heavy_elements);
  const double on_one = elements / devices;  // before the first balancing
  const double worst = on_one <= heavy_elements
                           ? heavy * on_one
                           : heavy * heavy_elements + (on_one - heavy_elements);
  return steps * worst / (worst + (steps - 1) * total / devices);
}

/// Returns the number of devices on which the workers of all ranks submit work.
task<std::size_t> devices_in_use() {
  runtime& rt = *runtime::current();
  const auto seats = starling::create_group<seat>(rt);
  std::set<std::string> found;
  for (std::size_t w = 0; w < starling::total_worker_count(rt); ++w)
    found.insert(co_await seats[int(w)].call<&seat::device>());
  seats.destroy();
  co_return found.size();
}

/// Adds what follows from the times: the share of the copy's bandwidth that a migration reaches,
/// and the gain of balancing beside the ideal one. There is one worker for each of `devices`. At
/// full scale on GPUs the goals are checked.
void add_ratios(const settings& chosen, bench::report& out, std::size_t devices, bool is_gpu) {
  const bool is_judged = is_gpu && chosen.scale >= 1;
  const double bytes = double(travelling_numbers(chosen) * sizeof(std::uint64_t));
  report_ratio(out, "migration_64m_gb_per_s", bytes / out.metric("migration_64m_ns"));
  report_ratio(out, "migration_share_of_copy",
               out.metric("copy_64m_ns") / out.metric("migration_64m_ns"), is_judged ? 0.8 : 0);
  const double gain = out.metric("uneven_barrier_ns") / out.metric("uneven_balanced_ns");
  report_ratio(out, "gain", gain);
  report_ratio(out, "share_of_ideal_gain", gain / ideal_gain(steps_of(chosen), double(devices)),
               is_judged ? 0.95 : 0);
}

/// Sets the length of kernels that was not chosen: a GPU is full, a core is busy for milliseconds.
void choose_sizes(settings& chosen, bool on_host) {
  if (chosen.rounds == 0) chosen.rounds = on_host ? 500 : 5000;
  if (chosen.numbers == 0) chosen.numbers = on_host ? 256 : 1 << 18;
}

task<int> lead(settings& chosen, bench::report& out) {
  runtime& rt = *runtime::current();
  if (starling::total_worker_count(rt) < 2)
    throw starling::usage_error(
        "migrations need two workers: --workers 2, or starling launch -n 2");
  const starling::device_set& all = starling::devices(rt);
  const bool on_host = all.backend() == starling::backend_kind::host;
  choose_sizes(chosen, on_host);
  const std::size_t devices = co_await devices_in_use();
  const bool is_one_each = devices == starling::total_worker_count(rt);
  // Memory of other ranks is reached on GPUs only.
  const bool can_copy = is_one_each && (starling::rank_count() == 1 || !on_host);
  if (!can_copy && !chosen.only.empty() && chosen.runs(copy_name))
    throw starling::usage_error(fmt::format(
        "{} needs a device for each worker, and between ranks GPUs: for example --workers 2 "
        "--starling-devices 2",
        copy_name));
  out.config("ranks", starling::rank_count());
  out.config("backend", std::string(starling::to_string(all.backend())));
  out.config("devices", devices);
  out.config("device", all.device(0).properties().name);
  out.print_heading();
  if (chosen.runs(migration_name)) co_await ask_migrations(chosen, out);
  if (chosen.runs(copy_name) && can_copy) co_await ask_copies(chosen, out);
  if (chosen.runs(barrier_name)) co_await ask_balance(chosen, out, false);
  if (chosen.runs(balanced_name)) co_await ask_balance(chosen, out, true);
  if (is_one_each)
    add_ratios(chosen, out, devices, !on_host);
  else
    fmt::print("no ratios: {} workers share {} devices\n", starling::total_worker_count(rt),
               devices);
  out.write(chosen.json);
  co_return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "device_migration_starling";
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
      ->check(CLI::Range(1, 10'000'000))
      ->default_str("5000, on the host 500");
  app.add_option("--numbers", chosen.numbers, "Numbers of an element, which its kernels advance")
      ->check(CLI::Range(1, 1 << 26))
      ->default_str("262144, on the host 256");
  return bench::run_job(
      name, argc, argv, app, chosen, {migration_name, copy_name, barrier_name, balanced_name},
      [&](bench::report& out) { return lead(chosen, out); },
      [&](starling::runtime_options& o) { o.extra["backend"] = chosen.backend; });
}
