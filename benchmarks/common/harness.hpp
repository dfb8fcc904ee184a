// SPDX-License-Identifier: Apache-2.0
//
// The common part of all benchmarks: flags, repetitions, report. A benchmark measures each question
// many times, checks every timed answer, prints a table, writes one flat JSON object and ends with
// a non-zero code if an answer was wrong.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::bench {

/// Flags that every benchmark accepts. See `add_options` in report.hpp.
struct options {
  int workers = 1;
  int warmups = 1;
  int repetitions = 7;
  double scale = 1.0;
  std::vector<std::string> only;    ///< questions to run; empty: all
  std::vector<std::string> broken;  ///< questions whose answers are spoilt, for tests
  std::string json;                 ///< file for the report; empty: none
  std::string commit = "unknown";

  [[nodiscard]] bool runs(std::string_view question) const {
    return only.empty() || names(only, question);
  }

  [[nodiscard]] bool breaks(std::string_view question) const { return names(broken, question); }

 private:
  static bool names(const std::vector<std::string>& list, std::string_view question) {
    return std::find(list.begin(), list.end(), question) != list.end();
  }
};

/// Nanoseconds per item over the timed repetitions, and whether every answer was right. `cpu_ns` is
/// the median of the processor time of all threads together: on a busy machine it separates work
/// from waiting.
struct measurement {
  std::string question;
  std::uint64_t items = 0;
  double median_ns = 0.0;
  double minimum_ns = 0.0;
  double maximum_ns = 0.0;
  double cpu_ns = 0.0;
  bool correct = false;
};

/// Returns the median of a non-empty sample; for an even number, the mean of the two middle values.
[[nodiscard]] inline double median(std::vector<double> sample) {
  if (sample.empty()) throw std::invalid_argument("median of an empty sample");
  std::sort(sample.begin(), sample.end());
  const std::size_t middle = sample.size() / 2;
  return sample.size() % 2 == 1 ? sample[middle] : 0.5 * (sample[middle - 1] + sample[middle]);
}

/// Returns the processor time so far, in ns, of all threads of this process and of its ended and
/// collected child processes.
[[nodiscard]] inline double processor_time_ns() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) {
    throw std::runtime_error("no clock for the processor time of this process");
  }
  rusage ended{};
  getrusage(RUSAGE_CHILDREN, &ended);
  const auto nanoseconds = [](const timeval& t) {
    return 1e9 * double(t.tv_sec) + 1e3 * double(t.tv_usec);
  };
  return 1e9 * double(time.tv_sec) + double(time.tv_nsec) + nanoseconds(ended.ru_utime) +
         nanoseconds(ended.ru_stime);
}

/// Timed runs of a question, for code that cannot pass its run as a function to `measure`:
/// `while (wants_more())` `begin()`, the run, `end()`, `judge(whether its answer is right)`.
class sampling {
 public:
  sampling(const options& chosen, std::string question, std::uint64_t items)
      : m_run(-chosen.warmups), m_repetitions(chosen.repetitions) {
    m_result.question = std::move(question);
    m_result.items = items;
    m_result.correct = true;
  }

  [[nodiscard]] bool wants_more() const { return m_run < m_repetitions; }
  void begin() {
    m_processor_begin = processor_time_ns();
    m_begin = clock::now();
  }
  /// Called right after the work; `judge` is called later, untimed.
  void end() {
    const std::chrono::duration<double, std::nano> elapsed = clock::now() - m_begin;
    add(elapsed.count(), m_result.items);
  }
  /// As above, for a run that measured `seconds` for its items itself. `in_all`: the number of
  /// items of the whole run, by which its processor time is divided.
  void end(double seconds, std::uint64_t in_all) { add(1e9 * seconds, in_all); }
  void judge(bool is_right) { m_result.correct = is_right && m_result.correct; }

  [[nodiscard]] measurement result() {
    m_result.median_ns = median(m_sample);
    m_result.cpu_ns = median(m_processor);
    const auto [low, high] = std::minmax_element(m_sample.begin(), m_sample.end());
    m_result.minimum_ns = *low;
    m_result.maximum_ns = *high;
    return m_result;
  }

 private:
  using clock = std::chrono::steady_clock;
  void add(double elapsed_ns, std::uint64_t in_all) {
    const double processor = processor_time_ns() - m_processor_begin;
    if (m_run++ < 0) return;
    m_sample.push_back(elapsed_ns / static_cast<double>(m_result.items));
    m_processor.push_back(processor / static_cast<double>(in_all));
  }

  int m_run;
  int m_repetitions;
  clock::time_point m_begin;
  double m_processor_begin = 0;
  std::vector<double> m_sample, m_processor;
  measurement m_result;
};

/// Times `solve(problem)`: `warmups` untimed runs, then `repetitions` timed runs, each checked.
///
/// A problem provides `items()` (the divisor of the times), `prepare()` (untimed, before every
/// run), `correct(answer)` (untimed, after it) and `spoil(answer)` (makes any answer wrong).
template <class Problem, class Solve>
[[nodiscard]] measurement measure(const options& chosen, std::string question, Problem& problem,
                                  Solve&& solve) {
  sampling runs(chosen, question, problem.items());
  while (runs.wants_more()) {
    problem.prepare();
    runs.begin();
    auto answer = solve(problem);
    runs.end();
    if (chosen.breaks(question)) problem.spoil(answer);
    runs.judge(problem.correct(answer));
  }
  return runs.result();
}

}  // namespace starling::bench
