// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace apps {

/// A line that shows the progress of a run if stderr is a terminal, and nothing otherwise. Not
/// thread safe.
class progress_line {
 public:
  progress_line(bool wanted, long iterations)
      : m_shown(wanted && isatty(STDERR_FILENO) != 0), m_iterations(iterations) {}
  ~progress_line() {
    if (m_told) std::fputc('\n', stderr);
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Called after each iteration. The first call may be that of a restart, in a later iteration.
  void show(long iteration) {
    if (!m_shown) return;
    if (m_done_before < 0) m_done_before = iteration - 1;
    const auto now = clock::now();
    if (now - m_last < std::chrono::milliseconds(200)) return;
    m_last = now;
    m_told = true;
    const double spent = std::chrono::duration<double>(now - m_begin).count();
    fmt::print(stderr, "\riteration {} of {}, {:.0f} s left ", iteration, m_iterations,
               spent * double(m_iterations - iteration) / double(iteration - m_done_before));
    std::fflush(stderr);
  }

 private:
  using clock = std::chrono::steady_clock;
  bool m_shown;
  bool m_told = false;
  long m_iterations;
  long m_done_before = -1;  // iterations before the first call; -1: not called yet
  clock::time_point m_begin = clock::now(), m_last{};
};

}  // namespace apps
