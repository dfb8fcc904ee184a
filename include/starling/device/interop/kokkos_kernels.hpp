// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <starling/core/error.hpp>
#include <starling/device/kernel.hpp>

namespace Kokkos {
class Serial;  // declared by Kokkos itself only where it is enabled
}

/// Compiles portable kernels for Kokkos:
///
///     #include <starling/device/interop/kokkos_kernels.hpp>
///     #include "my_kernels.hpp"
///     template struct starling::kokkos::instantiate<my_kernel>;
///
/// The instantiation compiles the kernel for the program's Kokkos and registers it in the launch
/// table before main, so that `stream.submit(range, my_kernel{…})` works with
/// `--starling-backend kokkos`. With CMake, `starling_add_kokkos_kernels(my_program
/// my_kernels.cpp)` compiles the file as that Kokkos requires, with nvcc if it has CUDA. Put the
/// file into the program itself or a shared library.
namespace starling::kokkos {

/// The execution space in which the backend runs kernels: Kokkos' default execution space if it is
/// a device space, else Serial. Host kernels run in parallel on the runtime's workers. Serial needs
/// no further threads; the remaining host spaces would create threads of their own, and Threads
/// accepts work from a single thread only.
using kernel_space = std::conditional_t<
    Kokkos::SpaceAccessibility<Kokkos::DefaultExecutionSpace, Kokkos::HostSpace>::accessible,
    Kokkos::Serial, Kokkos::DefaultExecutionSpace>;

namespace detail {
inline constexpr std::size_t scratch_alignment = 64;

/// Spaces of Kokkos for which the backend has queues and memory.
template <class Space>
concept served_space = (std::is_same_v<Space, Kokkos::Serial> && requires { sizeof(Space); }) ||
                       requires(const Space& s) {
  s.cuda_stream();
};
static_assert(served_space<kernel_space>,
              "the Kokkos backend runs kernels on Serial or on CUDA: this Kokkos computes on "
              "another device, or has no Serial (-DKokkos_ENABLE_SERIAL=ON)");
}  // namespace detail

/// A Kokkos team as the group of a kernel: has the members of `host_group`.
template <class Member>
class team_group {
 public:
  KOKKOS_FUNCTION team_group(const Member& team, std::size_t scratch_bytes, int level) noexcept
      : m_team(&team),
        m_scratch(scratch_bytes == 0 ? nullptr
                                     : team.team_scratch(level).get_shmem_aligned(
                                           scratch_bytes, detail::scratch_alignment)),
        m_bytes(scratch_bytes) {}

  [[nodiscard]] KOKKOS_FUNCTION int size() const noexcept { return m_team->team_size(); }
  [[nodiscard]] KOKKOS_FUNCTION int rank() const noexcept { return m_team->team_rank(); }

  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T* scratch() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= detail::scratch_alignment);
    return static_cast<T*>(m_scratch);
  }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t scratch_bytes() const noexcept { return m_bytes; }

  KOKKOS_FUNCTION void sync() const noexcept { m_team->team_barrier(); }

  template <class T>
  KOKKOS_FUNCTION void copy(T* scratch, const T* from, int n) const {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 8 || sizeof(T) == 16));
    for (int i = rank(); i < n; i += size()) scratch[i] = from[i];
  }

  template <class F>
  KOKKOS_FUNCTION void for_each(int n, F&& f) const {
    for (int i = rank(); i < n; i += size()) f(i);
  }

 private:
  const Member* m_team;
  void* m_scratch;
  std::size_t m_bytes;
};

namespace detail {

/// The argument of a launcher of this backend, passed as its native stream.
struct launch_site {
  const void* space;   // an instance of kernel_space
  std::int64_t first;  // on the host: the range of units to run
  std::int64_t last;
  bool captured = false;  // whether the launch is recorded in a graph, to run later
  // Called after each device launch, since Kokkos does not detect refused launches; throws.
  void (*check)(const char* kernel) = nullptr;
};

/// The units of a call on the host, in pieces worth a task. They run the host code compiled at
/// `submit`, which uses the kernel's lane form if it has one, and groups of one thread.
struct unit_pieces {
  const starling::detail::kernel_call* call;
  std::int64_t first;
  std::int64_t last;

  [[nodiscard]] std::int64_t size() const noexcept { return std::max(call->grain, least_piece); }
  [[nodiscard]] std::int64_t count() const noexcept {
    return (last - first) / size() + ((last - first) % size() == 0 ? 0 : 1);
  }
  void operator()(std::int64_t piece) const {
    const std::int64_t begin = first + piece * size();
    call->inner(*call, begin, std::min(begin + size(), last));
  }
  static constexpr std::int64_t least_piece = 16;
};

template <class Space>
void run_pieces(const starling::detail::kernel_call& call, const Space& space, std::int64_t first,
                std::int64_t last) {
  const unit_pieces body{&call, first, last};
  using policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(call.entry->name(), policy(space, 0, body.count()), body);
}

/// Most bytes of a functor that Kokkos passes to CUDA as launch parameters. Larger functors go
/// through Kokkos' single buffer, and the caller waits until its last use is complete.
inline constexpr std::size_t parameter_limit = 3584;
// Most kernels of one launch. Every launch copies the full capacity, whatever the actual number.
inline constexpr std::size_t batch_limit = 64;

/// The contiguous kernel objects of one launch, as a member of its functor.
template <class Kernel, std::size_t Capacity>
struct batch {
  static constexpr std::size_t capacity = Capacity;
  batch(const void* objects, std::size_t count) noexcept {
    std::memcpy(bytes, objects, count * sizeof(Kernel));
  }
  [[nodiscard]] KOKKOS_FUNCTION const Kernel& operator[](int i) const noexcept {
    return reinterpret_cast<const Kernel*>(bytes)[i];
  }
  // Bytes, because a kernel need not have a default constructor.
  alignas(Kernel) unsigned char bytes[Capacity * sizeof(Kernel)];
};
template <class Kernel>
using one_kernel = batch<Kernel, 1>;
template <class Kernel>
using many_kernels =
    batch<Kernel, std::clamp<std::size_t>(parameter_limit / sizeof(Kernel), 1, batch_limit)>;

/// Runs the indices of kernels on a device; the last dimension is the kernel's number.
template <class Kernel, class Batch>
struct each_index {
  using number = starling::detail::coordinate_of<Kernel>;
  using index = starling::detail::index_of<Kernel>;
  Batch kernels;
  KOKKOS_FUNCTION void operator()(number x) const { kernels[0](index{x, 0, 0}); }
  KOKKOS_FUNCTION void operator()(number x, number y, number z, number member) const {
    kernels[static_cast<int>(member)](index{x, y, z});
  }
};

/// Runs the groups of kernels on a device, a team for each group. The league is ordered by kernel.
template <class Batch, class Space>
struct each_group {
  using member = typename Kokkos::TeamPolicy<Space>::member_type;
  Batch kernels;
  index3 n;  // groups in each direction
  std::size_t bytes;
  int level;  // of Kokkos' scratch memory: 0, or 1 if level 0 is too small

  KOKKOS_FUNCTION void operator()(const member& team) const {
    team_group<member> group(team, bytes, level);
    const int row = team.league_rank() / n.x;
    const int plane = row / n.y;
    kernels[plane / n.z](group, index3{team.league_rank() % n.x, row % n.y, plane % n.z});
  }
};

template <class Functor>
inline constexpr bool fits_parameters = sizeof(Functor) <= parameter_limit + 64;

/// Returns a policy that passes the functor as launch parameters if it fits: see `parameter_limit`.
template <class Functor, class Policy>
[[nodiscard]] auto by_value(const Policy& policy) {
  namespace wanted = Kokkos::Experimental;
  if constexpr (fits_parameters<Functor>)
    return wanted::require(policy, wanted::WorkItemProperty::HintLightWeight);
  else
    return policy;
}

/// Returns the threads of a block: x first, because neighbours in x are neighbours in memory.
template <class Kernel>
[[nodiscard]] Kokkos::Array<int, 4> tile_of(const range& n) noexcept {
  std::int64_t most = 256;
  if constexpr (requires { Kernel::block_size; }) most = Kernel::block_size;
  const std::int64_t x = std::min(n.nx, most);
  const std::int64_t y = std::clamp<std::int64_t>(most / x, 1, n.ny);
  const std::int64_t z =
      std::clamp<std::int64_t>(most / (x * y), 1, std::min<std::int64_t>(n.nz, 64));
  return {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z), 1};
}

/// Rejects captured kernels that use Kokkos' single buffer or scratch memory: other launches would
/// overwrite it before the graph runs. @throws usage_error
inline void require_not_captured(bool captured, const starling::detail::kernel_call& call,
                                 const char* what) {
  if (!captured) return;
  throw usage_error(std::string("stream::capture: kernel ") + call.entry->name() + " has " + what +
                    ", for which Kokkos has memory for one launch at a time, so a graph cannot "
                    "hold it; submit it outside the capture or use the CUDA backend");
}

/// Returns the number of groups of one kernel. @throws usage_error when it exceeds a launch's limit
inline int groups_of(const starling::detail::kernel_call& call) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const range& n = call.extent;
  if (n.size() > most)
    throw usage_error(std::string("stream::submit: kernel ") + call.entry->name() +
                      " has more than 2147483647 groups, the most that Kokkos launches; submit "
                      "parts of the range");
  return static_cast<int>(n.size());
}

/// Returns the most kernels that fit into one launch.
template <class Kernel>
[[nodiscard]] std::size_t most_kernels(const starling::detail::kernel_call& call) {
  std::size_t most = many_kernels<Kernel>::capacity;
  if constexpr (group_kernel<Kernel>)
    most = std::min<std::size_t>(most, std::numeric_limits<int>::max() / groups_of(call));
  return most;
}

/// Submits `count` kernels to a device's instance, as one launch.
template <index_kernel Kernel, class Batch, class Space>
void queue(const starling::detail::kernel_call& call, const Space& space, const Batch& kernels,
           int count, bool captured) {
  using functor = each_index<Kernel, Batch>;
  using number = starling::detail::coordinate_of<Kernel>;
  require_not_captured(captured && !fits_parameters<functor>, call, "a large object");
  const range& n = call.extent;
  const auto nx = static_cast<number>(n.nx);
  if (count == 1 && n.ny == 1 && n.nz == 1) {
    const Kokkos::RangePolicy<Space, Kokkos::IndexType<number>> row(space, 0, nx);
    return Kokkos::parallel_for(call.entry->name(), by_value<functor>(row), functor{kernels});
  }
  using boxes =
      Kokkos::MDRangePolicy<Space, Kokkos::Rank<4, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                            Kokkos::IndexType<number>>;
  const auto tile = tile_of<Kernel>(n);
  const boxes all(space, {0, 0, 0, 0},
                  {nx, static_cast<number>(n.ny), static_cast<number>(n.nz), count},
                  {tile[0], tile[1], tile[2], tile[3]});
  Kokkos::parallel_for(call.entry->name(), by_value<functor>(all), functor{kernels});
}

template <group_kernel Kernel, class Batch, class Space>
void queue(const starling::detail::kernel_call& call, const Space& space, const Batch& kernels,
           int count, bool captured) {
  using functor = each_group<Batch, Space>;
  using teams = Kokkos::TeamPolicy<Space>;
  const std::size_t bytes = call.shape.scratch_bytes;
  // Includes space to align the first byte.
  const auto room = static_cast<int>(bytes == 0 ? 0 : bytes + scratch_alignment);
  const int groups = groups_of(call) * count;
  teams policy(space, groups, 1);
  const int level = room <= policy.scratch_size_max(0) ? 0 : 1;
  require_not_captured(captured && !fits_parameters<functor>, call, "a large object");
  require_not_captured(captured && level != 0, call, "scratch memory beyond level 0");
  const range& n = call.extent;  // groups_of has checked that the number of groups fits into int
  const index3 extent{static_cast<int>(n.nx), static_cast<int>(n.ny), static_cast<int>(n.nz)};
  const functor body{kernels, extent, bytes, level};
  policy.set_scratch_size(level, Kokkos::PerTeam(room));
  const int most = policy.team_size_max(body, Kokkos::ParallelForTag());
  policy = teams(space, groups, std::min(call.shape.threads, most));
  policy.set_scratch_size(level, Kokkos::PerTeam(room));
  Kokkos::parallel_for(call.entry->name(), by_value<functor>(policy), body);
}

template <class Kernel, class Space>
void queue_some(const starling::detail::kernel_call& call, const Space& space, const void* objects,
                std::size_t count, bool captured) {
  if constexpr (many_kernels<Kernel>::capacity > 1)
    if (count > 1)
      return queue<Kernel>(call, space, many_kernels<Kernel>(objects, count),
                           static_cast<int>(count), captured);
  queue<Kernel>(call, space, one_kernel<Kernel>(objects, 1), 1, captured);
}

/// Submits a whole call to a device's instance, in as few launches as possible.
template <class Kernel, class Space>
void run_whole(const starling::detail::kernel_call& call, const Space& space,
               const launch_site& site) {
  const std::size_t most = most_kernels<Kernel>(call);
  for (std::size_t at = 0; at < call.count;) {
    const void* objects = static_cast<const unsigned char*>(call.object) + at * call.bytes;
    const std::size_t now = std::min(most, call.count - at);
    queue_some<Kernel>(call, space, objects, now, site.captured);
    if (site.check != nullptr) site.check(call.entry->name());
    call.note_started(at += now);
  }
}

/// The launcher of a kernel: runs a whole call on a device, a range of units on the host.
template <class Kernel>
int launch(const starling::detail::kernel_call& call, void* native_stream) {
  const auto& site = *static_cast<const launch_site*>(native_stream);
  const auto& space = *static_cast<const kernel_space*>(site.space);
  if constexpr (std::is_same_v<kernel_space, Kokkos::Serial>)
    run_pieces(call, space, site.first, site.last);
  else
    run_whole<Kernel>(call, space, site);
  return 0;
}

}  // namespace detail

/// Compiles and registers `Kernel` where instantiated explicitly in a source file: see above.
template <kernel Kernel>
struct instantiate {
  static const bool entered;
};
template <kernel Kernel>
const bool instantiate<Kernel>::entered = starling::detail::enter<Kernel>(backend_kind::kokkos,
                                                                          &detail::launch<Kernel>);

}  // namespace starling::kokkos
