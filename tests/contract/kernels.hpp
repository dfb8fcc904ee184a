// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/device/kernel.hpp>

/// Kernels of the contract suite; a device compiler instantiates each of them for its backend.
namespace starling::contract {

/// Returns the position of an index in a dense array over `extent`, x fastest.
template <class Index>
constexpr std::int64_t offset_of(const range& extent, Index i) {
  return (std::int64_t(i.z) * extent.ny + i.y) * extent.nx + i.x;
}

/// visits[i] += 1: counts the visits of each index.
struct count_visits {
  static constexpr const char* name = "count_visits";
  int* visits;
  range extent;
  template <class Index>
  constexpr void operator()(Index i) const {
    visits[offset_of(extent, i)] += 1;
  }
};

/// The same with 64-bit indices.
struct count_wide_visits {
  static constexpr const char* name = "count_wide_visits";
  int* visits;
  range extent;
  constexpr void operator()(wide_index3 i) const { visits[offset_of(extent, i)] += 1; }
};

/// The same with a vector form over double; lanes leave a different mark.
struct count_visits_in_lanes {
  static constexpr int host_grain = 64;
  double* visits;
  range extent;
  template <class Index>
  constexpr void operator()(Index i) const {
    visits[offset_of(extent, i)] += 1.0;
  }
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    double* const first = visits + offset_of(extent, i);
    for (std::size_t k = 0; k < V::size(); ++k) first[k] += 1.0;
  }
};

/// a[x] = 3 a[x] + 1 in vectors of float.
struct affine_float {
  using lane_type = float;
  float* a;
  template <class Index>
  constexpr void operator()(Index i) const {
    a[i.x] = 3.0f * a[i.x] + 1.0f;
  }
  template <class V, class Index>
  constexpr void lanes(Index i) const {
    float* const first = a + i.x;
    const V old([first](auto k) { return first[k]; });
    const V result = V(3.0f) * old + V(1.0f);
    for (std::size_t k = 0; k < V::size(); ++k) first[k] = result[k];
  }
};

/// a[x] = factor · a[x] + term modulo 2^64: the order of two of them matters.
struct affine {
  static constexpr const char* name = "affine";
  std::uint64_t* a;
  std::uint64_t factor;
  std::uint64_t term;
  template <class Index>
  constexpr void operator()(Index i) const {
    a[i.x] = factor * a[i.x] + term;
  }
};

/// to[x] = from[x] + term.
struct add_to {
  std::uint64_t* to;
  const std::uint64_t* from;
  std::uint64_t term;
  template <class Index>
  constexpr void operator()(Index i) const {
    to[i.x] = from[i.x] + term;
  }
};

/// `rounds` dependent steps per index: takes long, without memory accesses in between.
struct long_work {
  std::uint64_t* a;
  int rounds;
  template <class Index>
  constexpr void operator()(Index i) const {
    std::uint64_t value = a[i.x];
    for (int r = 0; r < rounds; ++r) value = value * 6364136223846793005u + 1442695040888963407u;
    a[i.x] = value;
  }
};

/// Keeps its stream busy until the host raises a flag that both can access.
struct hold_on_device {
  static constexpr const char* name = "hold_on_device";
  const volatile int* raised;
  template <class Index>
  constexpr void operator()(Index) const {
    while (*raised == 0) {
    }
  }
};

/// Group g adds up `length` numbers starting at in[g.x · length], in scratch memory.
struct sum_per_group {
  static constexpr int group_size = 64;
  static constexpr std::size_t scratch_bytes = 256 * sizeof(std::int64_t);
  const int* in;
  std::int64_t* out;
  int length;  // ≤ 256
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    std::int64_t* const values = g.template scratch<std::int64_t>();
    const int* const mine = in + std::int64_t(i.x) * length;
    const int n = length;
    g.for_each(n, [values, mine](int k) { values[k] = mine[k]; });
    g.sync();
    for (int width = 128; width > 0; width /= 2) {
      g.for_each(width, [values, width, n](int k) {
        if (k + width < n) values[k] += values[k + width];
      });
      g.sync();
    }
    if (g.rank() == 0) out[i.x] = values[0];
  }
};

/// Writes `length` pairs, from in[g.x · length] on, backwards to out: all of them must have arrived
/// in scratch memory before the first one is written.
struct reverse_per_group {
  struct alignas(16) pair {
    std::int64_t first, second;
  };
  static constexpr int group_size = 96;
  static constexpr int least_blocks = 2;
  static constexpr int most = 300;
  static constexpr std::size_t scratch_bytes = most * (sizeof(pair) + sizeof(double));
  const pair* in;
  const double* factors;
  pair* out;
  int length;  // ≤ most
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    auto* const pairs = g.template scratch<pair>();
    auto* const scale = reinterpret_cast<double*>(pairs + length);
    const std::int64_t at = std::int64_t(i.x) * length;
    g.copy(pairs, in + at, length);
    g.copy(scale, factors + at, length);
    g.sync();
    const int n = length;
    pair* const to = out + at;
    g.for_each(n, [pairs, scale, to, n](int k) {
      const pair& p = pairs[n - 1 - k];
      const auto f = static_cast<std::int64_t>(scale[n - 1 - k]);
      to[k] = {f * p.first, f * p.second};
    });
  }
};

/// out[x] = ((c·x + b)·x + a) in double, which a compiler may contract.
struct polynomial {
  double* out;
  double a, b, c;
  template <class Index>
  constexpr void operator()(Index i) const {
    const double x = 0.1 * i.x;
    out[i.x] = (c * x + b) * x + a;
  }
};

/// The block sum written by hand for CUDA: see kernels.cu.
struct sum_by_hand {
  static constexpr int group_size = 128;
  static constexpr std::size_t scratch_bytes = 128 * sizeof(std::int64_t);
  const int* in;
  std::int64_t* out;
  int length;
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index i) const {
    if (g.rank() != 0) return;
    out[i.x] = 0;
    for (int k = 0; k < length; ++k) out[i.x] += in[std::int64_t(i.x) * length + k];
  }
};

/// a[x] += the sum of a table: so large an object that few fit into one launch.
template <int Entries>
struct add_table {
  std::uint64_t* a;
  std::uint32_t table[Entries];
  template <class Index>
  constexpr void operator()(Index i) const {
    std::uint64_t sum = 0;
    for (int k = 0; k < Entries; ++k) sum += table[k];
    a[i.x] += sum;
  }
};
using add_small_table = add_table<500>;   // some sixteen fit into a launch
using add_large_table = add_table<8000>;  // one fits

static_assert(index_kernel<polynomial> && index_kernel<add_large_table>);
static_assert(index_kernel<count_wide_visits> && !group_kernel<count_wide_visits>);
static_assert(index_kernel<count_visits> && index_kernel<count_visits_in_lanes>);
static_assert(index_kernel<affine> && index_kernel<affine_float> && index_kernel<add_to>);
static_assert(index_kernel<long_work> && index_kernel<hold_on_device>);
static_assert(group_kernel<sum_per_group> && !index_kernel<sum_per_group>);
static_assert(group_kernel<reverse_per_group>);

}  // namespace starling::contract
