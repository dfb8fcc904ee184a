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

/// Returns the number of neighbours in x that form one unit on the host: the lanes of a vector, or
/// a single index. Tasks are divided at unit boundaries, so whether an index uses the lane form or
/// the scalar form does not depend on the division.
template <index_kernel Kernel>
constexpr int host_unit() noexcept {
  if constexpr (lane_kernel<Kernel, lanes_of<Kernel>>)
    return static_cast<int>(lanes_of<Kernel>::size());
  else
    return 1;
}

/// Returns the number of units in a row of `nx` indices.
template <index_kernel Kernel>
constexpr std::int64_t units_of_row(std::int64_t nx) noexcept {
  constexpr int unit = host_unit<Kernel>();
  return nx / unit + (nx % unit == 0 ? 0 : 1);
}

/// Runs the indices i.x ≤ x < last of one row: whole vectors in the lane form, the remainder in the
/// scalar form.
template <index_kernel Kernel>
void run_row(const Kernel& k, index_of<Kernel> i, coordinate_of<Kernel> last) {
  constexpr int width = host_unit<Kernel>();
  if constexpr (width > 1)
    for (; last - i.x >= width; i.x += width) k.template lanes<lanes_of<Kernel>>(i);
  for (; i.x < last; ++i.x) k(i);
}

template <index_kernel Kernel>
void run_units(const kernel_call& call, std::int64_t first, std::int64_t last) {
  using number = coordinate_of<Kernel>;
  constexpr int unit = host_unit<Kernel>();
  const Kernel k = *static_cast<const Kernel*>(call.object);
  const range& n = call.extent;
  const std::int64_t in_row = units_of_row<Kernel>(n.nx);
  std::int64_t row = first / in_row;
  std::int64_t begin = first % in_row;
  auto y = static_cast<number>(row % n.ny);
  auto z = static_cast<number>(row / n.ny);
  for (std::int64_t left = last - first; left > 0; begin = 0) {
    const std::int64_t end = std::min(in_row, begin + left);
    run_row(k, {static_cast<number>(begin * unit), y, z},
            static_cast<number>(std::min(n.nx, end * unit)));
    left -= end - begin;
    if (++y == n.ny) y = 0, ++z;
  }
}

/// Scratch memory for one group at a time, 64-byte aligned.
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
concept states_its_cost = requires {
  Kernel::host_grain;
};
template <class Kernel>
constexpr std::int64_t host_grain_of(std::int64_t fallback) noexcept {
  if constexpr (states_its_cost<Kernel>) return Kernel::host_grain;
  return fallback;
}

/// Returns the description of a submission of kernel `k`, which must exist until the backend has
/// copied it.
template <kernel Kernel>
[[nodiscard]] kernel_call make_call(const range& extent, const Kernel& k, group_shape shape) {
  kernel_call call{&kernel_entry_of<Kernel>, &k, sizeof(Kernel), extent, shape, nullptr, 0, 1};
  if constexpr (index_kernel<Kernel>) {
    call.host = &run_units<Kernel>;
    call.units = units_of_row<Kernel>(extent.nx) * extent.ny * extent.nz;
    const std::int64_t per_unit = std::min<std::int64_t>(extent.nx, host_unit<Kernel>());
    call.grain = std::max<std::int64_t>(1, host_grain_of<Kernel>(4096) / per_unit);
    call.measured = !states_its_cost<Kernel>;
  } else {
    call.host = &run_groups<Kernel>;
    call.units = extent.size();
    call.grain = std::max<std::int64_t>(1, host_grain_of<Kernel>(1));
  }
  return call;
}

}  // namespace starling::detail
