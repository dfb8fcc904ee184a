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

template <class Chare>
starling::task<run_end> run_all(starling::chare_array<Chare> chares, int iterations,
                                bool converges) {
  auto [to, end] = starling::make_reply<run_end>();
  chares.template invoke<&Chare::run>(iterations, converges, to);
  co_return co_await std::move(end);
}

/// Prepares all chares, lets them warm up, times their iterations and examines what they computed:
/// `prepare(callback<int>)`, `run(count, converges, callback<run_end>)`,
/// `examine(callback<findings>)`.
template <class Settings, class Chare>
starling::task<measured_run> measure(const Settings& s, starling::chare_array<Chare> chares) {
  auto [ready, prepared] = starling::make_reply<int>();
  chares.template invoke<&Chare::prepare>(ready);
  co_await std::move(prepared);
  measured_run r;
  if (s.warmup > 0) {
    const run_end warm = co_await run_all(chares, s.warmup, false);
    r.iterations = warm.iterations;
  }
  const auto begin = std::chrono::steady_clock::now();
  const run_end end = co_await run_all(chares, s.iterations, s.tolerance > 0.0);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  r.timed_iterations = end.iterations - r.iterations;
  r.iterations = end.iterations;
  r.last_change = norm_of(end.last_change);
  r.captures = end.captures;
  auto [to, found] = starling::make_reply<findings>();
  chares.template invoke<&Chare::examine>(to);
  const findings f = co_await std::move(found);
  r.checksum = f.checksum;
  r.error = norm_of(f.error);
  co_return r;
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
