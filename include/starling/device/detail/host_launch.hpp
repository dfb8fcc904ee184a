// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <experimental/simd>
#include <memory>

#include <starling/device/kernel.hpp>

namespace starling::detail {

template <class Kernel>
struct lane_type_of {
  using type = double;
};
template <class Kernel>
requires requires { typename Kernel::lane_type; }
struct lane_type_of<Kernel> {
  using type = typename Kernel::lane_type;
};
template <class Kernel>
using lanes_of = std::experimental::native_simd<typename lane_type_of<Kernel>::type>;

/// Indices first ≤ x < last of one row: lanes as far as whole vectors go, then one by one.
template <index_kernel Kernel>
void run_row(const Kernel& k, index3 i, int last) {
  if constexpr (lane_kernel<Kernel, lanes_of<Kernel>>) {
    using lanes = lanes_of<Kernel>;
    constexpr int width = static_cast<int>(lanes::size());
    static_assert(host_block % width == 0);
    for (; i.x + width <= last; i.x += width) k.template lanes<lanes>(i);
  }
  for (; i.x < last; ++i.x) k(i);
}

template <index_kernel Kernel>
void run_units(const kernel_call& call, std::int64_t first, std::int64_t last) {
  const Kernel k = *static_cast<const Kernel*>(call.object);
  const range& n = call.extent;
  const std::int64_t blocks = (n.nx + host_block - 1) / host_block;
  std::int64_t row = first / blocks;
  auto block = static_cast<int>(first % blocks);
  int y = static_cast<int>(row % n.ny);
  int z = static_cast<int>(row / n.ny);
  for (std::int64_t u = first; u < last; ++u) {
    const int begin = block * host_block;
    run_row(k, index3{begin, y, z},
            static_cast<int>(std::min<std::int64_t>(n.nx, std::int64_t(begin) + host_block)));
    if (++block < blocks) continue;
    block = 0;
    if (++y == n.ny) y = 0, ++z;
  }
}

/// Scratch memory of one group at a time, 64-byte aligned.
class scratch_memory {
 public:
  explicit scratch_memory(std::size_t bytes);
  ~scratch_memory();
  scratch_memory(const scratch_memory&) = delete;
  scratch_memory& operator=(const scratch_memory&) = delete;
  [[nodiscard]] void* get() const noexcept { return m_memory; }

 private:
  void* m_memory;
};

template <group_kernel Kernel>
void run_groups(const kernel_call& call, std::int64_t first, std::int64_t last) {
  const Kernel k = *static_cast<const Kernel*>(call.object);
  const range& n = call.extent;
  const scratch_memory scratch(call.shape.scratch_bytes);
  for (std::int64_t u = first; u < last; ++u) {
    const std::int64_t row = u / n.nx;
    host_group group(scratch.get(), call.shape.scratch_bytes);
    k(group, index3{static_cast<int>(u % n.nx), static_cast<int>(row % n.ny),
                    static_cast<int>(row / n.ny)});
  }
}

template <class Kernel>
constexpr std::int64_t host_grain_of(std::int64_t fallback) noexcept {
  if constexpr (requires { Kernel::host_grain; }) return Kernel::host_grain;
  return fallback;
}

/// Describes a submission; `k` must live until the backend has copied it.
template <kernel Kernel>
[[nodiscard]] kernel_call make_call(const range& extent, const Kernel& k, group_shape shape) {
  kernel_call call{&kernel_entry_of<Kernel>, &k, sizeof(Kernel), extent, shape, nullptr, 0, 1};
  if constexpr (index_kernel<Kernel>) {
    const std::int64_t blocks = (std::int64_t(extent.nx) + host_block - 1) / host_block;
    call.host = &run_units<Kernel>;
    call.units = blocks * extent.ny * extent.nz;
    const std::int64_t per_unit = std::clamp(extent.nx, 1, host_block);
    call.grain = std::max<std::int64_t>(1, host_grain_of<Kernel>(4096) / per_unit);
  } else {
    call.host = &run_groups<Kernel>;
    call.units = extent.size();
    call.grain = std::max<std::int64_t>(1, host_grain_of<Kernel>(1));
  }
  return call;
}

}  // namespace starling::detail
