// SPDX-License-Identifier: Apache-2.0
//
// What every benchmark here shares: the flags, the repetitions, the report. A benchmark measures a
// question many times, checks every answer it timed, prints a table, writes one flat JSON object
// and ends with a non-zero code when an answer was wrong.
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

/// The flags every benchmark understands. See `parse` in report.hpp.
struct options {
  int workers = 1;
  int warmups = 1;
  int repetitions = 7;
  double scale = 1.0;
  std::vector<std::string> only;    ///< questions to run; empty: all
  std::vector<std::string> broken;  ///< questions whose answers are spoilt on purpose, for tests
  std::string json;                 ///< where to write the report; empty: nowhere
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
/// the median of the processor time of all threads together: on a busy machine it tells what was
/// used from what was waited for.
struct measurement {
  std::string question;
  std::uint64_t items = 0;
  double median_ns = 0.0;
  double minimum_ns = 0.0;
  double maximum_ns = 0.0;
  double cpu_ns = 0.0;
  bool correct = false;
};

/// Median of a non-empty sample; the mean of the two middle values when their number is even.
[[nodiscard]] inline double median(std::vector<double> sample) {
  if (sample.empty()) throw std::invalid_argument("median of an empty sample");
  std::sort(sample.begin(), sample.end());
  const std::size_t middle = sample.size() / 2;
  return sample.size() % 2 == 1 ? sample[middle] : 0.5 * (sample[middle - 1] + sample[middle]);
}

/// Processor time of all threads of this process so far, and of processes that it has begun and
/// that have ended, ns.
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

/// The timed runs of a question, for who cannot hand them over as a function: `while
/// (wants_more())` `begin()`, the run, `end()`, `judge(whether its answer is right)`.
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
  /// Right after the work; then `judge`, at leisure.
  void end() {
    const std::chrono::duration<double, std::nano> elapsed = clock::now() - m_begin;
    add(elapsed.count(), m_result.items);
  }
  /// The same of a run that has timed its items itself, and worked on `in_all`, with those before.
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

/// Times `solve(problem)`: `warmups` runs untimed, then `repetitions` timed, each checked.
///
/// A problem offers `items()` (what a nanosecond is divided by), `prepare()` (untimed, before every
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
