// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include <starling/core.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects.hpp>

#include "common/physics/bits.hpp"
#include "common/run_checkpoints.hpp"

/// Common code of iterative programs: each chare repeats one step.
namespace apps {

/// A part of a run, after which all chares are idle. Iterations are counted from the begin of the
/// whole run, before any restart.
struct run_part {
  long until = 0;          ///< iterations that are done at its end
  bool converges = false;  ///< it may end earlier, when no cell changes by more than the tolerance
  bool is_last = false;    ///< convergence is checked at its end, too
  /// Returns whether convergence is checked after `done` iterations.
  [[nodiscard]] bool checks_after(long done, int check_every) const {
    return converges && (done % check_every == 0 || (is_last && done == until));
  }
};

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
  checkpoint_record checkpoints;
};

/// Runs a team from iteration `from` to the end of `whole`, with a checkpoint where one is due.
template <class Team>
starling::task<run_end> iterate(Team& team, run_checkpoints& saved, long from, run_part whole,
                                double tolerance) {
  run_end end;
  end.iterations = from;
  while (end.iterations < whole.until) {
    run_part part = whole;
    part.until = saved.next_stop(end.iterations, whole.until);
    part.is_last = whole.is_last && part.until == whole.until;
    end = co_await team.run(part);
    if (part.is_last || (whole.converges && norm_of(end.last_change) <= tolerance)) break;
    if constexpr (requires { team.stage(); })
      if (saved.is_due(end.iterations)) co_await saved.take(end.iterations, team);
  }
  co_return end;
}

/// Prepares a team, runs its warm-up, times its iterations and examines its values. `team` has the
/// tasks `prepare()`, `run(part)`, which returns a `run_end`, and `examine(iterations)`, which
/// returns `findings`; if it takes checkpoints, `stage()`, after which its state can be copied. A
/// restart begins behind the iterations of its checkpoint, which it does not time.
template <class Settings, class Team>
starling::task<measured_run> measure_team(const Settings& s, Team& team, run_checkpoints& saved) {
  co_await team.prepare();
  measured_run r;
  r.iterations = saved.first_iteration();
  if (r.iterations < s.warmup) {
    const run_part untimed{s.warmup, false, false};
    const run_end warm = co_await iterate(team, saved, r.iterations, untimed, 0.0);
    r.iterations = warm.iterations;
  }
  const auto begin = std::chrono::steady_clock::now();
  const run_part timed{total_iterations(s), s.tolerance > 0.0, true};
  const run_end end = co_await iterate(team, saved, r.iterations, timed, s.tolerance);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  r.timed_iterations = end.iterations - r.iterations;
  r.iterations = end.iterations;
  r.last_change = norm_of(end.last_change);
  r.captures = end.captures;
  const findings f = co_await team.examine(r.iterations);
  r.checksum = f.checksum;
  r.error = norm_of(f.error);
  co_await saved.finish();
  r.checkpoints = saved.record();
  co_return r;
}

/// A chare array as a team for `measure_team`. Uses the entry methods `prepare(setup…,
/// callback<int>)`, `run(run_part, callback<run_end>)`, `examine(callback<findings>)` and, if the
/// class has it, `stage(callback<int>)`.
template <class Chare, class... Setup>
class chare_team {
 public:
  explicit chare_team(starling::chare_array<Chare> chares, const Setup&... setup)
      : m_chares(std::move(chares)), m_setup(setup...) {}

  starling::task<> prepare() {
    auto [ready, prepared] = starling::make_reply<int>();
    std::apply(
        [&, &to = ready](const Setup&... setup) {
          m_chares.template invoke<&Chare::prepare>(setup..., to);
        },
        m_setup);
    co_await std::move(prepared);
  }
  starling::task<run_end> run(run_part part) {
    auto [to, end] = starling::make_reply<run_end>();
    m_chares.template invoke<&Chare::run>(part, to);
    co_return co_await std::move(end);
  }
  starling::task<> stage() requires requires { &Chare::stage; }
  {
    auto [ready, staged] = starling::make_reply<int>();
    m_chares.template invoke<&Chare::stage>(ready);
    co_await std::move(staged);
  }
  starling::task<findings> examine(long) {
    auto [to, found] = starling::make_reply<findings>();
    m_chares.template invoke<&Chare::examine>(to);
    co_return co_await std::move(found);
  }

 private:
  starling::chare_array<Chare> m_chares;
  std::tuple<Setup...> m_setup;
};

/// As measure_team, for a chare array whose entry method `prepare` takes `setup`.
template <class Settings, class Chare, class... Setup>
starling::task<measured_run> measure(const Settings& s, starling::chare_array<Chare> chares,
                                     run_checkpoints& saved, Setup... setup) {
  chare_team<Chare, Setup...> team(std::move(chares), setup...);
  co_return co_await measure_team(s, team, saved);
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
