// SPDX-License-Identifier: Apache-2.0
//
// The problems, stated once for all competitors: amount of work and expected answer. README.md in
// this folder describes the work of a competitor for each problem.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

namespace starling::bench {

/// Problem sizes. A competitor that is too slow for the defaults has smaller sizes of its own.
struct sizes {
  std::uint64_t spawns = 1'000'000;
  std::uint64_t continuations = 1'000'000;
  std::uint64_t chain_length = 50;
  std::uint64_t children = 1'000'000;
  std::uint64_t joins = 100'000;
  std::uint64_t round_trips = 500'000;
  std::uint64_t cycles = 500'000;
  int fib_n = 30;
  std::uint64_t heat_points = 200'000;
  std::uint64_t heat_steps = 100;

  /// Returns the sizes with every count multiplied by `factor`, at least 1. Fibonacci's n changes
  /// so that its number of spawns scales, too; the chain length and the heat points stay.
  [[nodiscard]] sizes scaled(double factor) const {
    const auto times = [factor](std::uint64_t count, std::uint64_t least) {
      return std::max(
          least, static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * factor)));
    };
    sizes result = *this;
    result.spawns = times(spawns, 1);
    result.continuations = times(continuations, chain_length);
    result.children = times(children, 1);
    result.joins = times(joins, 1);
    result.round_trips = times(round_trips, 1);
    result.cycles = times(cycles, 1);
    result.heat_steps = times(heat_steps, 1);
    const double levels = std::log(factor) / std::log(std::numbers::phi);
    result.fib_n = std::max(2, fib_n + static_cast<int>(std::lround(levels)));
    return result;
  }
};

/// A problem whose answer is one number.
struct number_problem {
  void prepare() const {}
  static void spoil(std::uint64_t& answer) { answer ^= 1; }
};

/// `count` items numbered from 0, each of which yields its number. Answer: their sum. `spawn`,
/// `child`, `join`, `join_pending` and `pending` differ in how an item yields its number.
struct counting_problem : number_problem {
  std::uint64_t count = 0;

  explicit counting_problem(std::uint64_t things) : count(things) {}
  [[nodiscard]] std::uint64_t items() const { return count; }
  [[nodiscard]] bool correct(std::uint64_t answer) const {
    return answer == (count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count);
  }
};

/// `chains` chains; chain c starts with the value c and has `length` links, each of which adds 1.
/// Answer: the sum of the chains' final values. An item is a link.
struct chain_problem : number_problem {
  std::uint64_t chains = 0;
  std::uint64_t length = 0;

  chain_problem(std::uint64_t links, std::uint64_t chain_length)
      : chains((links + chain_length - 1) / chain_length), length(chain_length) {}
  [[nodiscard]] std::uint64_t items() const { return chains * length; }
  [[nodiscard]] bool correct(std::uint64_t answer) const {
    std::uint64_t expected = 0;
    for (std::uint64_t c = 0; c < chains; ++c) expected += c + length;
    return answer == expected;
  }
};

/// The first task sends 0, 1, …; the second task answers each number with its successor. Answer:
/// the sum of the numbers that the first task received. An item is a round trip.
struct channel_problem : number_problem {
  std::uint64_t round_trips = 0;

  explicit channel_problem(std::uint64_t trips) : round_trips(trips) {}
  [[nodiscard]] std::uint64_t items() const { return round_trips; }
  [[nodiscard]] bool correct(std::uint64_t answer) const {
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < round_trips; ++i) expected += i + 1;
    return answer == expected;
  }
};

/// fib(n) by the doubly recursive definition, without a cut-off: every call with n ≥ 2 spawns fib(n
/// - 1) and calls fib(n - 2). An item is a spawn; there are fib(n + 1) - 1.
struct fib_problem : number_problem {
  int n = 0;

  explicit fib_problem(int number) : n(number) {}
  [[nodiscard]] std::uint64_t items() const { return iterate(n + 1) - 1; }
  [[nodiscard]] bool correct(std::uint64_t answer) const { return answer == iterate(n); }

 private:
  static std::uint64_t iterate(int index) {
    std::uint64_t current = 0;
    std::uint64_t next = 1;
    for (int i = 0; i < index; ++i) current = std::exchange(next, current + next);
    return current;
  }
};

/// Explicit 1-D heat equation on a periodic line, u' = u/2 + (left + right)/4 (α dt/dx² = 1/4).
///
/// Multiplications by powers of two are exact, so the result is the same bit for bit however the
/// points are partitioned, vectorised or contracted. `update(step, p)` may run once
/// `update(step - 1, q)` has run for q = p - 1, p, p + 1 (periodic). These three updates are also
/// the only readers of the values that it overwrites. In that order, different partitions may be
/// updated concurrently.
class heat_problem : public number_problem {
 public:
  /// Points per period of the initial wave.
  static constexpr std::uint64_t wavelength = 16;

  heat_problem(std::uint64_t points, std::uint64_t steps, std::uint64_t partitions)
      : m_points(points), m_steps(steps), m_partitions(partitions) {
    if (partitions < 3 || points < 2 * partitions || points % wavelength != 0) {
      throw std::invalid_argument(
          "heat needs 3 partitions of 2 points or more, and a multiple of 16 points");
    }
    m_lines[0].resize(points);
    m_lines[1].resize(points);
    prepare();
    for (std::uint64_t step = 0; step < steps; ++step) update_range(step, 0, points);
    m_reference = m_lines[steps % 2];
  }

  [[nodiscard]] std::uint64_t steps() const { return m_steps; }
  [[nodiscard]] std::uint64_t partitions() const { return m_partitions; }
  [[nodiscard]] std::uint64_t left(std::uint64_t p) const {
    return p == 0 ? m_partitions - 1 : p - 1;
  }
  [[nodiscard]] std::uint64_t right(std::uint64_t p) const {
    return p + 1 == m_partitions ? 0 : p + 1;
  }

  /// Computes one partition of `step + 1` from `step`.
  void update(std::uint64_t step, std::uint64_t partition) {
    update_range(step, begin_of(partition), begin_of(partition + 1));
  }

  [[nodiscard]] std::uint64_t items() const { return m_steps * m_partitions; }

  void prepare() {
    for (std::uint64_t i = 0; i < m_points; ++i) {
      m_lines[0][i] = 1.0 + wave(i);
      m_lines[1][i] = 0.0;
    }
  }

  /// Checks an answer, the number of updates, and compares the field with the serial result.
  [[nodiscard]] bool correct(std::uint64_t updates) const {
    const auto& line = m_lines[m_steps % 2];
    return updates == items() &&
           std::memcmp(line.data(), m_reference.data(), m_points * sizeof(double)) == 0;
  }

  void spoil(std::uint64_t& /*updates*/) {
    double& value = m_lines[m_steps % 2][m_points / 2];
    value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ 1U);
  }

  /// Returns the largest distance of the serial result from the exact solution of the difference
  /// equation: each step multiplies the wave by 1 - (1 - cos(2π / wavelength)) / 2.
  [[nodiscard]] double serial_error() const {
    const double angle = 2.0 * std::numbers::pi / static_cast<double>(wavelength);
    const double decay =
        std::pow(1.0 - 0.5 * (1.0 - std::cos(angle)), static_cast<double>(m_steps));
    double worst = 0.0;
    for (std::uint64_t i = 0; i < m_points; ++i) {
      worst = std::max(worst, std::abs(m_reference[i] - 1.0 - decay * wave(i)));
    }
    return worst;
  }

 private:
  static double wave(std::uint64_t i) {
    return std::sin(2.0 * std::numbers::pi * static_cast<double>(i % wavelength) /
                    static_cast<double>(wavelength));
  }

  [[nodiscard]] std::uint64_t begin_of(std::uint64_t partition) const {
    return partition * m_points / m_partitions;
  }

  static double stencil(double left, double middle, double right) {
    return 0.5 * middle + 0.25 * (left + right);
  }

  // Not inlined, so that every competitor runs the same machine code.
  [[gnu::noinline]] void update_range(std::uint64_t step, std::uint64_t begin, std::uint64_t end) {
    const double* __restrict from = m_lines[step % 2].data();
    double* __restrict to = m_lines[(step + 1) % 2].data();
    const std::uint64_t last = end - 1;
    to[begin] = stencil(from[begin == 0 ? m_points - 1 : begin - 1], from[begin], from[begin + 1]);
    for (std::uint64_t i = begin + 1; i < last; ++i) {
      to[i] = stencil(from[i - 1], from[i], from[i + 1]);
    }
    to[last] = stencil(from[last - 1], from[last], from[end == m_points ? 0 : end]);
  }

  std::uint64_t m_points;
  std::uint64_t m_steps;
  std::uint64_t m_partitions;
  std::vector<double> m_lines[2];
  std::vector<double> m_reference;
};

}  // namespace starling::bench
