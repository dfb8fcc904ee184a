// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/device/interop/cuda.hpp>
#include <starling/device/kernel.hpp>

/// Kernels of the GPU tests, and hand-written CUDA behind plain functions.
namespace starling::gpu_test {

/// a[x] = factor · a[x] + term: the order of two of them matters.
struct affine {
  std::uint64_t* a;
  std::uint64_t factor;
  std::uint64_t term;
  constexpr void operator()(index3 i) const { a[i.x] = factor * a[i.x] + term; }
};

/// visits[i] += 1 over any range.
struct visit {
  static constexpr int block_size = 96;
  int* visits;
  range extent;
  constexpr void operator()(index3 i) const {
    visits[(std::int64_t(i.z) * extent.ny + i.y) * extent.nx + i.x] += 1;
  }
};

/// visits[x / 2^20] += 1 for each x that 2^20 divides.
struct visit_some {
  unsigned* visits;
  constexpr void operator()(wide_index3 i) const {
    if (i.x % (1 << 20) == 0) visits[i.x >> 20] += 1;
  }
};
/// The same with 32-bit indices.
struct visit_some_narrow {
  unsigned* visits;
  constexpr void operator()(index3 i) const {
    if (i.x % (1 << 20) == 0) visits[i.x >> 20] += 1;
  }
};

/// Writes to an invalid address.
struct store_to_nowhere {
  static constexpr const char* name = "store_to_nowhere";
  int* nowhere;
  constexpr void operator()(index3 i) const { nowhere[i.x] = 1; }
};

/// Needs more shared memory than a block has by default.
struct reverse_in_scratch {
  static constexpr int group_size = 256;
  static constexpr std::size_t scratch_bytes = 96 * 1024;
  std::uint64_t* a;  // scratch_bytes / 8 numbers for each group
  template <class Group>
  constexpr void operator()(Group& g, index3 i) const {
    constexpr int n = scratch_bytes / sizeof(std::uint64_t);
    std::uint64_t* const kept = g.template scratch<std::uint64_t>();
    std::uint64_t* const mine = a + std::int64_t(i.x) * n;
    g.for_each(n, [=](int k) { kept[k] = mine[k]; });
    g.sync();
    g.for_each(n, [=](int k) { mine[k] = kept[n - 1 - k]; });
  }
};

/// Deliberately compiled for no device.
struct host_only {
  static constexpr const char* name = "host_only";
  constexpr void operator()(index3) const {}
};

/// Doubles `count` numbers with a launch written by hand.
void double_by_hand(cuda::native_stream s, std::uint64_t* a, int count);
/// Writes the sum of `count` numbers to *out, by a library that is given the stream; `workspace` is
/// device memory of at least `bytes`. Returns the bytes it needs if `workspace` is null.
std::size_t sum_by_library(cuda::native_stream s, const std::uint64_t* in, std::uint64_t* out,
                           int count, void* workspace, std::size_t bytes);

/// Vendor calls on objects made outside the runtime.
[[nodiscard]] cuda::native_stream make_native_stream();
void destroy(cuda::native_stream s);
[[nodiscard]] cuda::native_event record_native_event(cuda::native_stream s);
void destroy(cuda::native_event e);
[[nodiscard]] int priority_of(cuda::native_stream s);
[[nodiscard]] int current_device();

}  // namespace starling::gpu_test
