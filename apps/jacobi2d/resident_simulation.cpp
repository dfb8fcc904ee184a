// SPDX-License-Identifier: Apache-2.0
#include "resident_simulation.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <starling/device.hpp>
#include <starling/objects.hpp>
#include <starling/resident.hpp>

#include "common/by_options.hpp"
#include "resident_strip.hpp"

namespace jacobi2d {
namespace {

using strip_system = resident::system<strip_program>;
using host_strip = resident_strip<strip_system::context>;

/// Returns the threads of a scheduler if `shares` schedulers share a multiprocessor. Its registers
/// suffice for 768 threads, of which 64 of each scheduler run no entry methods: they serve the
/// scheduler.
constexpr int threads_of_share(int shares) { return std::max(32, (768 / shares - 64) / 32 * 32); }
static_assert(threads_of_share(1) == 704);

void require_possible(const settings& s, starling::runtime& rt) {
  const auto backend = starling::devices(rt).backend();
  if (backend != starling::backend_kind::cuda && backend != starling::backend_kind::host)
    throw starling::option_error(
        fmt::format("--resident with --backend {}: resident strips run on cuda or host devices",
                    starling::to_string(backend)));
  constexpr int most_odf = 32;  // a strip needs two channels, and a scheduler has 64
  if (s.odf > most_odf)
    throw starling::option_error(
        fmt::format("--odf {} with --resident: at most {}", s.odf, most_odf));
}

/// Returns how many numbers of the problem's tables are sent to the strips.
std::uint32_t tables_of(const settings& s) {
  return s.problem == problem_kind::mode ? std::uint32_t(s.grid.x + s.grid.y + 4) : 0;
}

/// Returns the heap size of a scheduler: for its strips and the rows that they receive.
std::uint64_t heap_for(const settings& s, int strips) {
  constexpr std::uint64_t line = 128, other = 64 * 1024;
  const int rows = (s.grid.y + strips - 1) / strips;
  const std::uint64_t array = std::uint64_t(strip_layout({s.grid.x, rows}).size()) * sizeof(float);
  const std::uint64_t row = std::uint64_t(s.grid.x) * sizeof(float);
  const std::uint64_t tables = tables_of(s) * sizeof(double);
  return std::uint64_t(s.odf) * (2 * (array + line) + 4 * (row + line) + tables + line) + other;
}

/// A resident program of strips, and the host's side of it. `start` must outlive it.
class strips {
 public:
  strips(const settings& s, starling::runtime& rt, const resident::options& o, int count,
         const problem& start)
      : m_settings(&s), m_start(&start), m_initial(start.values()),
        m_system(rt, o), m_to{m_system.make_host_mailbox<int>(),
                              m_system.make_host_mailbox<std::uint64_t>(),
                              m_system.make_host_mailbox<pattern>(),
                              m_system.make_host_mailbox<pattern>(),
                              m_system.make_host_mailbox<pattern>()},
        m_strips(m_system.create<resident_strip>(
            std::uint32_t(count),
            s.round_robin ? resident::placement::round_robin : resident::placement::block,
            entry<&host_strip::prepare>, s.grid, tables_of(s),
            s.resident == resident_kind::synchronous, m_to)) {}

  starling::task<> prepare() {
    co_await m_system.start();
    co_await m_system.receive(m_to.ready);
    co_await teach();
    co_await m_system.broadcast(m_strips, entry<&host_strip::fill>, m_initial);
    co_await m_system.receive(m_to.ready);
    if (!m_settings->spoilt) co_return;
    co_await m_system.invoke(m_strips[0], entry<&host_strip::spoil>);
    co_await m_system.quiescence();
  }
  starling::task<apps::run_end> run(apps::run_part part) {
    const strip_run how{int(part.until - m_done), m_settings->check_every,
                        part.converges ? m_settings->tolerance : 0.0};
    co_await m_system.broadcast(m_strips, entry<&host_strip::run>, how);
    apps::run_end end;
    end.iterations = long(co_await m_system.receive(m_to.iterations));
    end.last_change = co_await m_system.receive(m_to.change);
    m_done = end.iterations;
    co_return end;
  }
  starling::task<apps::findings> examine(long iterations) {
    const double amplitude = m_start->amplitude(iterations);
    co_await m_system.broadcast(m_strips, entry<&host_strip::examine>, m_initial, amplitude);
    apps::findings found;
    found.checksum = co_await m_system.receive(m_to.checksum);
    if (m_initial.kind == problem_kind::mode) found.error = co_await m_system.receive(m_to.error);
    co_return found;
  }

 private:
  /// Sends the tables in pieces; sends nothing if the problem has no tables.
  starling::task<> teach() {
    const std::uint32_t count = tables_of(*m_settings);
    for (std::uint32_t at = 0; at < count; at += table_piece::most) {
      table_piece some{at, std::min(table_piece::most, count - at), {}};
      std::copy_n(m_start->tables().data() + at, some.count, some.values);
      co_await m_system.broadcast(m_strips, entry<&host_strip::learn>, some);
    }
  }

  const settings* m_settings;
  const problem* m_start;
  initial_values m_initial;
  strip_system m_system;
  strip_mailboxes m_to;
  resident::chare_array<resident_strip> m_strips;
  long m_done = 0;  // iterations
};

}  // namespace

resident::options resident_options(const settings& s, starling::runtime& rt) {
  require_possible(s, rt);
  starling::device_set& all = starling::devices(rt);
  const bool on_device = all.backend() == starling::backend_kind::cuda;
  const int workers = int(rt.worker_count());
  resident::options o;
  o.place = on_device ? resident::place::device : resident::place::host;
  o.ranks = std::uint32_t(starling::rank_count());
  o.devices = std::uint32_t(all.count());
  const int units = on_device ? all.device(0).properties().compute_units : workers;
  const int schedulers = s.schedulers != 0 ? s.schedulers : units;
  o.schedulers = std::uint32_t(schedulers);
  o.threads = std::uint32_t(s.scheduler_threads != 0 ? s.scheduler_threads
                            : on_device ? threads_of_share((schedulers + units - 1) / units)
                                        : 1);
  o.block_bytes = 1024;
  return o;
}

starling::task<run_result> simulate_resident(const settings& s, starling::runtime& rt) {
  resident::options o = resident_options(s, rt);
  const int count = s.odf * int(o.ranks * o.devices * o.schedulers);
  const auto cut = apps::by_options([&] { return decompose(s.grid, count); });
  o.heap_bytes = heap_for(s, count);
  const problem start(s.problem, s.grid, s.seed);
  strips all(s, rt, o, count, start);
  apps::run_checkpoints none(s, rt, {});
  co_return run_result{co_await apps::measure_team(s, all, none), cut};
}

}  // namespace jacobi2d
