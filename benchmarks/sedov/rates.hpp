// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <barrier>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../common/harness.hpp"
#include "hydro/operation_count.hpp"
#include "kernel/lanes_simd.hpp"
#include "kernel/loop.hpp"

namespace stars::bench {

/// Returns the operations per second of one kind on the calling thread, over a few milliseconds.
/// `op` takes a vector and a number that the compiler cannot know; there are enough chains to hide
/// its latency.
template <class Op>
double rate_once(Op op) {
  using clock = std::chrono::steady_clock;
  constexpr int chains = 16, rounds = 4000;
  constexpr std::chrono::milliseconds least(5);
  volatile double hidden = 1.0000001;
  const host_vector c = double(hidden);
  std::array<host_vector, chains> v;
  for (int i = 0; i < chains; ++i) v[std::size_t(i)] = c + host_vector(0.25 * i);
  const auto begin = clock::now();
  double blocks = 0;
  for (; clock::now() - begin < least; ++blocks)
    for (int k = 0; k < rounds; ++k)
      for (host_vector& x : v) x = op(x, c);
  const std::chrono::duration<double> took = clock::now() - begin;
  host_vector sum = 0.0;
  for (const host_vector& x : v) sum += x;
  for (std::size_t i = 0; i < host_vector::size(); ++i)
    if (!(sum[i] > 0.0)) throw std::logic_error("an operation was not done");
  return blocks * rounds * chains * double(host_vector::size()) / took.count();
}

/// Returns the sum of the rates of `threads` cores that run the same kind of operation at the same
/// time. Each rate is a median, as a thread may be interrupted.
inline core_rates measure_rates(int threads) {
  constexpr int samples = 5;
  std::vector<core_rates> each(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  std::vector<std::jthread> team;
  for (core_rates& r : each)
    team.emplace_back([&r, &start] {
      const auto together = [&start](auto op) {
        std::vector<double> rates;
        for (int i = 0; i < samples; ++i) {
          start.arrive_and_wait();
          rates.push_back(rate_once(op));
        }
        return starling::bench::median(rates);
      };
      using V = host_vector;
      r.add = together([](V x, V c) { return x + c; });
      // The numbers neither overflow nor converge to values for which an operation is faster.
      r.multiply = together([](V x, V c) { return x * c; });
      r.divide = together([](V x, V c) { return x / c; });
      r.root = together([](V x, V c) { return ops<V>::sqrt(x + c); });
    });
  team.clear();
  core_rates sum{0, 0, 0, 0};
  for (const core_rates& r : each)
    sum = {sum.add + r.add, sum.multiply + r.multiply, sum.divide + r.divide, sum.root + r.root};
  return sum;
}

}  // namespace stars::bench
