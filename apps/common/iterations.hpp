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

/// Common code of iterative programs: each chare repeats one step.
namespace apps {

/// The result of a run; all members except `captures` are equal for all chares.
struct run_end {
  long iterations = 0;  ///< total
  /// Largest change of a cell in the last iteration that was checked.
  pattern last_change = magnitude(std::numeric_limits<double>::infinity());
  std::uint64_t captures = 0;  ///< number of captured graphs
  friend run_end operator+(run_end a, const run_end& b) {
    a.captures += b.captures;
    return a;
  }
};

/// Results computed from the values of one chare, or of all chares.
struct findings {
  pattern checksum = 0;
  pattern error = 0;  ///< largest error against the analytic solution, 0 without one
  friend findings operator+(const findings& a, const findings& b) {
    return {sum{}(a.checksum, b.checksum), largest{}(a.error, b.error)};
  }
};

/// Measurements and results of a run.
struct measured_run {
  long iterations = 0;  ///< total, warm-up included
  long timed_iterations = 0;
  double seconds = 0.0;        ///< duration of the timed iterations
  double last_change = 0.0;    ///< largest change of a cell in the last convergence check
  std::uint64_t captures = 0;  ///< number of captured graphs
  std::uint64_t checksum = 0;  ///< of the grid; equal for every decomposition
  double error = 0.0;          ///< largest error against the analytic solution, 0 without one
};

/// Prepares a team, runs its warm-up, times its iterations and examines its values. `team` has the
/// tasks `prepare()`, `run(count, converges)`, which returns a `run_end`, and
/// `examine(iterations)`, which returns `findings`.
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

/// A chare array as a team for `measure_team`. Uses the entry methods `prepare(callback<int>)`,
/// `run(count, converges, callback<run_end>)` and `examine(callback<findings>)`.
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

/// Limits the number of iterations that the host submits ahead of a device.
class run_ahead_limit {
 public:
  /// Called in iteration `it`, after all earlier iterations are submitted to `s`. Waits until at
  /// most `most` iterations are in flight. `most` is at least 2, since the limit is kept with two
  /// marks, each `most / 2` iterations after the previous one.
  starling::task<> keep(starling::stream& s, long it, int most) {
    if (it % std::max(1, most / 2) != 0) co_return;
    if (m_reached.valid()) co_await std::move(m_reached);
    m_reached = s.get_future();
  }

 private:
  starling::future<void> m_reached;
};

}  // namespace apps
