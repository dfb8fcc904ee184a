// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace sedov {

/// One line on a terminal that shows how far the run is; silent elsewhere.
class progress_bar {
 public:
  progress_bar(bool wanted, long steps, double stop_time)
      : m_shown(wanted && isatty(STDERR_FILENO) != 0), m_steps(steps), m_stop_time(stop_time) {}
  ~progress_bar() {
    if (m_shown) std::fputc('\n', stderr);
  }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  void show(long step, double time, double dt) {
    if (!m_shown) return;
    const double by_step = m_steps > 0 ? double(step) / double(m_steps) : 0.0;
    const double by_time = m_stop_time > 0 ? time / m_stop_time : 0.0;
    const double done = std::min(1.0, std::max(by_step, by_time));
    const double spent = std::chrono::duration<double>(clock::now() - m_begin).count();
    constexpr int width = 30;
    const int filled = int(done * width);
    fmt::print(stderr, "\r[{}{}] step {:>5}  t {:.4e}  dt {:.2e}  {:>6.1f} s left ",
               std::string(std::size_t(filled), '#'), std::string(std::size_t(width - filled), '.'),
               step, time, dt, done > 0 ? spent * (1 - done) / done : 0.0);
    std::fflush(stderr);
  }

 private:
  using clock = std::chrono::steady_clock;
  bool m_shown;
  long m_steps;
  double m_stop_time;
  clock::time_point m_begin = clock::now();
};

}  // namespace sedov
