// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include <starling/core.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects.hpp>

#include "common/physics/bits.hpp"

/// What programs share whose chares repeat one step many times.
namespace apps {

/// How a run ended; all but `captures` are the same for all chares.
struct run_end {
  long iterations = 0;  ///< in all
  /// Of a cell in the last iteration that was checked.
  pattern last_change = magnitude(std::numeric_limits<double>::infinity());
  std::uint64_t captures = 0;  ///< graphs made
  friend run_end operator+(run_end a, const run_end& b) {
    a.captures += b.captures;
    return a;
  }
};

/// What a chare, or all of them, have computed.
struct findings {
  pattern checksum = 0;
  pattern error = 0;  ///< of a problem with an analytic solution
  friend findings operator+(const findings& a, const findings& b) {
    return {sum{}(a.checksum, b.checksum), largest{}(a.error, b.error)};
  }
};

/// What a run measured and found.
struct measured_run {
  long iterations = 0;  ///< in all, warm-up included
  long timed_iterations = 0;
  double seconds = 0.0;        ///< of the timed ones
  double last_change = 0.0;    ///< in the last check for convergence
  std::uint64_t captures = 0;  ///< graphs made
  std::uint64_t checksum = 0;  ///< of the grid; the same for every decomposition
  double error = 0.0;          ///< against the analytic solution, where there is one
};

/// Has a team prepared, lets it warm up, times its iterations and examines what it computed: tasks
/// `prepare()`, `run(count, converges)` that gives a `run_end`, and `examine(iterations)` that
/// gives `findings`.
template <class Settings, class Team>
starling::task<measured_run> measure_team(const Settings& s, Team& team) {
  co_await team.prepare();
  measured_run r;
  if (s.warmup > 0) {
    const run_end warm = co_await team.run(s.warmup, false);
    r.iterations = warm.iterations;
  }
  const auto begin = std::chrono::steady_clock::now();
  const run_end end = co_await team.run(s.iterations, s.tolerance > 0.0);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  r.timed_iterations = end.iterations - r.iterations;
  r.iterations = end.iterations;
  r.last_change = norm_of(end.last_change);
  r.captures = end.captures;
  const findings f = co_await team.examine(r.iterations);
  r.checksum = f.checksum;
  r.error = norm_of(f.error);
  co_return r;
}

/// Chares as such a team, by their entry methods `prepare(callback<int>)`, `run(count, converges,
/// callback<run_end>)` and `examine(callback<findings>)`.
template <class Chare>
class chare_team {
 public:
  explicit chare_team(starling::chare_array<Chare> chares) : m_chares(std::move(chares)) {}

  starling::task<> prepare() {
    auto [ready, prepared] = starling::make_reply<int>();
    m_chares.template invoke<&Chare::prepare>(ready);
    co_await std::move(prepared);
  }
  starling::task<run_end> run(int count, bool converges) {
    auto [to, end] = starling::make_reply<run_end>();
    m_chares.template invoke<&Chare::run>(count, converges, to);
    co_return co_await std::move(end);
  }
  starling::task<findings> examine(long) {
    auto [to, found] = starling::make_reply<findings>();
    m_chares.template invoke<&Chare::examine>(to);
    co_return co_await std::move(found);
  }

 private:
  starling::chare_array<Chare> m_chares;
};

template <class Settings, class Chare>
starling::task<measured_run> measure(const Settings& s, starling::chare_array<Chare> chares) {
  chare_team<Chare> team(std::move(chares));
  co_return co_await measure_team(s, team);
}

/// Keeps the host from getting further ahead of a device than it is told.
class run_ahead_limit {
 public:
  /// In iteration `it`, with all earlier ones submitted to `s`: waits as long as need be. `most`
  /// iterations may be on their way, 2 at least, as two marks say where the device is.
  starling::task<> keep(starling::stream& s, long it, int most) {
    if (it % std::max(1, most / 2) != 0) co_return;
    if (m_reached.valid()) co_await std::move(m_reached);
    m_reached = s.get_future();
  }

 private:
  starling::future<void> m_reached;
};

}  // namespace apps
