// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace stars {

/// The end of a run: its last step or its stop time, whichever comes first; 0: no limit.
struct run_goal {
  long steps;
  double stop_time;

  [[nodiscard]] double done(long step, double time) const {
    const double by_step = steps > 0 ? double(step) / double(steps) : 0.0;
    const double by_time = stop_time > 0 ? time / stop_time : 0.0;
    return std::min(1.0, std::max(by_step, by_time));
  }
  /// Returns the estimated remaining time, if the run took `spent` seconds from `begin` (not 0
  /// after a restart) to `now`, both values of `done`.
  [[nodiscard]] static double seconds_left(double spent, double begin, double now) {
    return now > begin ? spent * (1.0 - now) / (now - begin) : 0.0;
  }
};

/// A line that shows the progress of a run if stderr is a terminal, and nothing otherwise.
class progress_bar {
 public:
  progress_bar(bool wanted, run_goal goal, long first_step, double first_time)
      : m_shown(wanted && isatty(STDERR_FILENO) != 0), m_goal(goal),
        m_first(goal.done(first_step, first_time)) {}
  ~progress_bar() {
    if (m_shown) std::fputc('\n', stderr);
  }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  void show(long step, double time, double dt) {
    if (!m_shown) return;
    const double done = m_goal.done(step, time);
    const double spent = std::chrono::duration<double>(clock::now() - m_begin).count();
    constexpr int width = 30;
    const int filled = int(done * width);
    fmt::print(stderr, "\r[{}{}] step {:>5}  t {:.4e}  dt {:.2e}  {:>6.1f} s left ",
               std::string(std::size_t(filled), '#'), std::string(std::size_t(width - filled), '.'),
               step, time, dt, run_goal::seconds_left(spent, m_first, done));
    std::fflush(stderr);
  }

 private:
  using clock = std::chrono::steady_clock;
  bool m_shown;
  run_goal m_goal;
  double m_first;
  clock::time_point m_begin = clock::now();
};

}  // namespace stars
