// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <starling/core/future.hpp>
#include <starling/device/interop/kokkos_instance.hpp>
#include <starling/device/interop/kokkos_view.hpp>
#include <starling/device/interop/kokkos_work.hpp>

namespace Kokkos {
class Serial;  // declared by Kokkos itself only where it is enabled
}

/// Kokkos' kernels and copies as tasks of the runtime: each call returns a future and none waits,
/// unless the caller says `may_block`. Works with Kokkos 3.4 to 5, whichever spaces it has; nvcc
/// can read it. Kokkos must be initialised: create a `Kokkos::ScopeGuard` in main before the
/// runtime.
///
/// To be called by tasks of a runtime. @throws usage_error elsewhere, or when Kokkos is not
/// initialised; device_error when a device refuses a launch. Errors of host kernels, whatever the
/// functor throws, travel in the future.
///
/// Order: as in Kokkos, work on one instance of a space runs in the order of the calls and work on
/// different instances at the same time (see `instance`). On `Serial` this is the order of the
/// calls made here; what a program gives to Kokkos directly runs at once on the calling thread, and
/// must not use the same instance meanwhile. Several runtimes of a process take turns on an
/// instance, in no order: to have one, await the first's future before the other's call.
///
/// Lifetime: functors, policies and Views are copied by the call and destroyed with the future that
/// it returns, where that is consumed; if it is dropped, on a worker when the work is over. That
/// matters for a Kokkos whose atomics are none (see `spread`), as Debian's: it counts references of
/// Views without them, so copies of one managed View must not come and go in two tasks at a time
/// there. Await such futures, or use `recycled` Views, which are not counted.
namespace starling::kokkos {

/// How the host learns that work of an execution space is over.
enum class completion : std::uint8_t {
  immediate,      ///< a dispatch is over when it returns, and uses the calling thread alone
  native_stream,  ///< a native stream tells the runtime, and nobody waits
  fence_only      ///< somebody has to wait in place
};

/// What is known of a space. This header knows `Serial`, <…/interop/kokkos_cuda.hpp> `Cuda`,
/// <…/interop/kokkos_sycl.hpp> `SYCL`. All others, OpenMP and Threads among them (whose dispatch
/// waits for threads of its own), can only fence.
///
/// A specialisation for a native stream has
/// - `result_space`, memory of `memory_kind::pinned` as Kokkos calls it, and the `family` of it;
/// - `device_of(space, call)`, the runtime's device that is the instance's. @throws usage_error
/// - `get_future(device, space)`, ready when all work of the instance is over;
/// - `take_error()`, the text of the error that the calling thread's last launch has left behind
///   unseen, null without one; forgets it.
template <class Space>
struct space_traits {
  static constexpr completion how = completion::fence_only;
};
template <>
struct space_traits<Kokkos::Serial> {
  static constexpr completion how = completion::immediate;
};
template <class Space>
inline constexpr completion completion_of = space_traits<Space>::how;

/// Spaces whose work becomes a future without a thread that waits. If this is why a call does not
/// compile: include the header of the space (above), or pass `may_block`.
template <class Space>
concept completes_without_fence = completion_of<Space>
!= completion::fence_only;

/// First argument of calls that may wait on the calling thread: on a space that can only fence they
/// do, the worker does nothing else meanwhile, and the future is ready. Work of the other spaces
/// goes its usual way: nobody waits for it, and the order on its instance is kept.
struct may_block_t {};
inline constexpr may_block_t may_block{};

/// Third argument of `async`: the functor reduces, `f(i, T& update)`. R is a type that is summed or
/// a reducer of Kokkos such as `Kokkos::Max<double>` (for a space with a native stream, one over
/// its `result_space`).
template <class R>
struct reduce_t {};
template <class R>
inline constexpr reduce_t<R> reduce{};

/// Third argument of `async`: the functor scans, `f(i, T& update, bool final)`; the future has the
/// total.
template <class T>
struct scan_t {};
template <class T>
inline constexpr scan_t<T> scan{};

/// See `spread`.
template <class Policy>
struct spread_policy {
  Policy policy;
  std::int64_t grain;
};

namespace detail {

template <class Policy>
using space_of = std::remove_cvref_t<decltype(std::declval<const Policy&>().space())>;

template <class Policy>
concept execution_policy = requires(const Policy& p) {
  p.space();
};
template <class Policy>
concept free_policy = execution_policy<Policy> && completes_without_fence<space_of<Policy>>;

/// Whether `Space` can get at `T`: a View in memory that it reaches, or a value.
template <class Space, class T>
inline constexpr bool reaches = true;
template <class Space, class T>
requires requires { typename T::memory_space; }
inline constexpr bool reaches<Space, T> =
    Kokkos::SpaceAccessibility<Space, typename T::memory_space>::accessible;

template <class To, class From>
using copying_space =
    std::conditional_t<reaches<Kokkos::HostSpace, To> && reaches<Kokkos::HostSpace, From>,
                       Kokkos::Serial, Kokkos::DefaultExecutionSpace>;

/// The way that the space allows.
template <class Space, class Work>
[[nodiscard]] future<typename Work::result> start(const Space& space, Work&& work,
                                                  const char* call) {
  if constexpr (completion_of<Space> == completion::immediate)
    return run_on_workers(space, std::forward<Work>(work), call);
  else if constexpr (completion_of<Space> == completion::native_stream)
    return run_on_stream<space_traits<Space>>(space, std::forward<Work>(work), call);
  else
    return run_in_place(space, std::forward<Work>(work), call);
}

}  // namespace detail

/// Copies for which nobody waits: all Views lie in memory that the space reaches. A device does not
/// reach ordinary memory of the host, and for a copy from or to that Kokkos waits: use a View in
/// pinned memory (`recycled`, `Kokkos::CudaHostPinnedSpace`), or pass `may_block`.
template <class Space, class To, class From>
concept copies_without_waiting =
    completes_without_fence<Space> && detail::reaches<Space, To> && detail::reaches<Space, From>;

/// Ready when everything that these calls have given to `space` so far is over; on a space with a
/// native stream everything at all.
template <completes_without_fence Space>
[[nodiscard]] future<void> get_future(const Space& space) {
  return detail::start(space, detail::nothing{}, "get_future");
}
/// The same for any space.
template <class Space>
[[nodiscard]] future<void> get_future(may_block_t, const Space& space) {
  return detail::start(space, detail::nothing{}, "get_future");
}

/// `Kokkos::parallel_for(policy, f)` on the policy's instance; range, box (MDRange) and team
/// policies. On Serial the kernel is one task: `spread` makes several of it.
template <detail::free_policy Policy, class F>
[[nodiscard]] future<void> async(const Policy& policy, const F& f) {
  return detail::start(policy.space(), detail::for_work<Policy, F>(policy, f), "async");
}
/// `Kokkos::parallel_reduce`; the future has the result.
template <detail::free_policy Policy, class F, class R>
[[nodiscard]] auto async(const Policy& policy, const F& f, reduce_t<R>) {
  return detail::start(policy.space(), detail::reduce_work<Policy, F, R>(policy, f), "async");
}
/// `Kokkos::parallel_scan`; the future has the total.
template <detail::free_policy Policy, class F, class T>
[[nodiscard]] future<T> async(const Policy& policy, const F& f, scan_t<T>) {
  return detail::start(policy.space(), detail::scan_work<Policy, F, T>(policy, f), "async");
}

/// The same three for any space.
template <detail::execution_policy Policy, class F>
[[nodiscard]] future<void> async(may_block_t, const Policy& policy, const F& f) {
  return detail::start(policy.space(), detail::for_work<Policy, F>(policy, f), "async");
}
template <detail::execution_policy Policy, class F, class R>
[[nodiscard]] auto async(may_block_t, const Policy& policy, const F& f, reduce_t<R>) {
  return detail::start(policy.space(), detail::reduce_work<Policy, F, R>(policy, f), "async");
}
template <detail::execution_policy Policy, class F, class T>
[[nodiscard]] future<T> async(may_block_t, const Policy& policy, const F& f, scan_t<T>) {
  return detail::start(policy.space(), detail::scan_work<Policy, F, T>(policy, f), "async");
}

/// A range or box policy of Serial whose kernel is to be shared out over the workers, in pieces of
/// `grain` indices (of a box: of its slowest dimension). By this the caller promises what Kokkos
/// asks of kernels for any parallel space, although Serial's concurrency is one: no UniqueToken, no
/// ScatterView of Serial, and Kokkos' atomics only if they are atomic: built with Serial alone, a
/// Kokkos before 4.3 makes them plain operations, a later one where it is told to
/// (Kokkos_ENABLE_ATOMICS_BYPASS).
template <class Policy>
requires(completion_of<detail::space_of<Policy>> == completion::immediate)
    [[nodiscard]] spread_policy<Policy> spread(const Policy& policy, std::int64_t grain) {
  if (grain < 1) throw usage_error("kokkos::spread: a grain must be 1 or more");
  static_cast<void>(detail::length_of(policy));  // refuses what it cannot count
  return {policy, grain};
}

/// As above; each piece on an instance that it has for itself.
template <class Policy, class F>
[[nodiscard]] future<void> async(const spread_policy<Policy>& p, const F& f) {
  const detail::pieces_of<Policy> all{p.policy, p.grain};
  return detail::start(p.policy.space(), detail::spread_for<Policy, F>(all, f), "async");
}
/// Pieces are reduced by themselves and joined in order: the same bits for any number of workers.
template <class Policy, class F, class R>
[[nodiscard]] auto async(const spread_policy<Policy>& p, const F& f, reduce_t<R>) {
  const detail::pieces_of<Policy> all{p.policy, p.grain};
  return detail::start(p.policy.space(), detail::spread_reduce<Policy, F, R>(all, f), "async");
}

/// `Kokkos::deep_copy(space, dst, src)`; `src` is a View or a value. The space must reach the
/// memory of both: `copies_without_waiting`.
template <class Space, class To, class From>
requires copies_without_waiting<Space, To, From>
[[nodiscard]] future<void> deep_copy_async(const Space& space, const To& dst, const From& src) {
  return detail::start(space, detail::copy_work<Space, To, From>(space, dst, src),
                       "deep_copy_async");
}
/// The same for any space and any memory. A copy between a device's memory and a host's that is not
/// pinned holds up the calling thread, or on Serial a worker, as Kokkos does it.
template <class Space, class To, class From>
requires Kokkos::is_execution_space<Space>::value [[nodiscard]] future<void> deep_copy_async(
    may_block_t, const Space& space, const To& dst, const From& src) {
  return detail::start(space, detail::copy_work<Space, To, From>(space, dst, src),
                       "deep_copy_async");
}
/// As the first on a default instance: of Serial where the host reaches the memory of both, else of
/// the device.
template <class To, class From>
requires Kokkos::is_view<To>::value &&
    copies_without_waiting<detail::copying_space<To, From>, To, From>
[[nodiscard]] future<void> deep_copy_async(const To& dst, const From& src) {
  return deep_copy_async(detail::copying_space<To, From>(), dst, src);
}

}  // namespace starling::kokkos
