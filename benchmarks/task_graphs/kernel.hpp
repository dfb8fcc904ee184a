// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph.hpp"

/// The work of a task besides passing its result on.
namespace task_graphs {

enum class kernel_kind { compute, memory, imbalance };

[[nodiscard]] inline kernel_kind kernel_named(const std::string& name) {
  if (name == "compute") return kernel_kind::compute;
  if (name == "memory") return kernel_kind::memory;
  if (name == "imbalance") return kernel_kind::imbalance;
  throw std::invalid_argument("no kernel '" + name + "': compute, memory or imbalance");
}

struct kernel {
  kernel_kind kind = kernel_kind::compute;
  std::int64_t iterations = 0;  // of imbalance: the mean; a task has 0.5 to 1.5 times as many

  [[nodiscard]] std::int64_t iterations_of(int t, int p) const {
    if (kind != kernel_kind::imbalance) return iterations;
    return std::llround((0.5 + uniform(1, std::uint64_t(t), std::uint64_t(p))) *
                        double(iterations));
  }
};

/// Runs 64 multiplications and additions of doubles per iteration, in registers, with as many
/// independent chains as the processor's pipelines need. Not inlined, so that every competitor runs
/// the same code.
[[gnu::noinline]] inline double compute(std::int64_t iterations) {
  using lanes = double __attribute__((vector_size(32)));
  constexpr int chains = 16;
  lanes a[chains];
  for (int i = 0; i < chains; ++i) a[i] = lanes{1, 2, 3, 4} + double(i);
  for (std::int64_t n = 0; n < iterations; ++n)
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i) a[i] = a[i] * 0.5 + 0.25;
  lanes sum{};
  for (const lanes& l : a) sum += l;
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/// Copies 512 B per iteration within 4 MiB of the thread, more than a core's own caches hold.
[[gnu::noinline]] inline double copy(std::int64_t iterations, std::uint64_t first) {
  constexpr std::size_t piece = 1024;
  constexpr std::size_t pieces = 4096;
  thread_local std::vector<char> scratch(piece * pieces, 1);
  for (std::int64_t n = 0; n < iterations; ++n) {
    char* at = scratch.data() + (first + std::uint64_t(n)) % pieces * piece;
    std::memcpy(at + piece / 2, at, piece / 2);
  }
  return scratch[piece / 2];
}

/// Runs the kernel of the task (t, p).
inline void execute(const kernel& k, int t, int p) {
  const std::int64_t n = k.iterations_of(t, p);
  const double result =
      k.kind == kernel_kind::memory ? copy(n, std::uint64_t(t) * std::uint64_t(n)) : compute(n);
  asm volatile("" : : "r,m"(result));  // keeps the result from being optimised out
}

}  // namespace task_graphs
