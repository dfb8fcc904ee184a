// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <barrier>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "physics/lanes_simd.hpp"
#include "physics/loop.hpp"
#include "physics/operation_count.hpp"

namespace sedov::bench {

/// Operations a second of one kind on the calling thread. `op` takes a vector and a number that
/// the compiler does not know; chains are enough to hide an operation's latency.
template <class Op>
double rate_of(Op op) {
  constexpr int chains = 16, rounds = 40000;
  volatile double hidden = 1.0000001;
  const host_vector c = double(hidden);
  std::array<host_vector, chains> v;
  for (int i = 0; i < chains; ++i) v[std::size_t(i)] = c + host_vector(0.25 * i);
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < rounds; ++k)
    for (host_vector& x : v) x = op(x, c);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  host_vector sum = 0.0;
  for (const host_vector& x : v) sum += x;
  for (std::size_t i = 0; i < host_vector::size(); ++i)
    if (!(sum[i] > 0.0)) throw std::logic_error("an operation was not done");
  return double(chains) * rounds * double(host_vector::size()) / took.count();
}

/// What `threads` cores do together, all busy with the same kind at the same time.
inline core_rates measure_rates(int threads) {
  std::vector<core_rates> each(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  std::vector<std::jthread> team;
  for (core_rates& r : each)
    team.emplace_back([&r, &start] {
      const auto together = [&start](auto op) {
        start.arrive_and_wait();
        return rate_of(op);
      };
      using V = host_vector;
      r.add = together([](V x, V c) { return x + c; });
      r.multiply = together([](V x, V c) { return x * c; });
      r.divide = together([](V x, V c) { return x / c; });
      r.root = together([](V x, V c) { return ops<V>::sqrt(x + c); });  // not towards 1
    });
  team.clear();
  core_rates sum{0, 0, 0, 0};
  for (const core_rates& r : each)
    sum = {sum.add + r.add, sum.multiply + r.multiply, sum.divide + r.divide, sum.root + r.root};
  return sum;
}

}  // namespace sedov::bench
