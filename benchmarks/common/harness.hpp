// SPDX-License-Identifier: Apache-2.0
//
// What every benchmark here shares: the flags, the repetitions, the report. A benchmark measures a
// question many times, checks every answer it timed, prints a table, writes one flat JSON object
// and ends with a non-zero code when an answer was wrong.
#pragma once

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

/// Processor time of all threads of this process so far, ns.
[[nodiscard]] inline double processor_time_ns() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) {
    throw std::runtime_error("no clock for the processor time of this process");
  }
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

/// Times `solve(problem)`: `warmups` runs untimed, then `repetitions` timed, each checked.
///
/// A problem offers `items()` (what a nanosecond is divided by), `prepare()` (untimed, before every
/// run), `correct(answer)` (untimed, after it) and `spoil(answer)` (makes any answer wrong).
template <class Problem, class Solve>
[[nodiscard]] measurement measure(const options& chosen, std::string question, Problem& problem,
                                  Solve&& solve) {
  using clock = std::chrono::steady_clock;
  measurement result;
  result.items = problem.items();
  result.correct = true;
  std::vector<double> sample;
  std::vector<double> processor;
  for (int run = -chosen.warmups; run < chosen.repetitions; ++run) {
    problem.prepare();
    const double processor_begin = processor_time_ns();
    const auto begin = clock::now();
    auto answer = solve(problem);
    const std::chrono::duration<double, std::nano> elapsed = clock::now() - begin;
    const double processor_elapsed = processor_time_ns() - processor_begin;
    if (chosen.breaks(question)) problem.spoil(answer);
    result.correct = problem.correct(answer) && result.correct;
    if (run < 0) continue;
    sample.push_back(elapsed.count() / static_cast<double>(result.items));
    processor.push_back(processor_elapsed / static_cast<double>(result.items));
  }
  result.median_ns = median(sample);
  result.cpu_ns = median(std::move(processor));
  const auto [low, high] = std::minmax_element(sample.begin(), sample.end());
  result.minimum_ns = *low;
  result.maximum_ns = *high;
  result.question = std::move(question);
  return result;
}

}  // namespace starling::bench
