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

/// Kernels and copies of Kokkos as tasks of the runtime: each call returns a future and none
/// blocks, unless the caller passes `may_block`. Works with Kokkos 3.4 to 5 and all of its spaces;
/// nvcc can compile it. Kokkos must be initialised: create a `Kokkos::ScopeGuard` in main before
/// the runtime.
///
/// To be called by tasks of a runtime. @throws usage_error elsewhere, or when Kokkos is not
/// initialised; device_error when a device refuses a launch. An exception of a host kernel's
/// functor is stored in the future.
///
/// Order: as in Kokkos, work on one instance of a space runs in the order of the calls, and work on
/// different instances may run concurrently (see `instance`). On `Serial` this is the order of the
/// calls made here; work that a program submits to Kokkos directly runs at once on the calling
/// thread, and must not use the same instance meanwhile. Several runtimes of a process take turns
/// on an instance, in no order: for a defined order, await the first future before the second call.
///
/// Lifetime: the call copies functors, policies and Views. The copies are destroyed with the
/// returned future, by its consumer; if the future is dropped, on a worker when the work is
/// complete. This matters for a Kokkos with non-atomic atomics (see `spread`), as Debian's, which
/// also counts references of Views without atomics: there, two tasks must not copy or destroy
/// copies of one managed View at the same time. Await such futures, or use `recycled` Views, which
/// are not counted.
namespace starling::kokkos {

/// How the host detects that work of an execution space is complete.
enum class completion : std::uint8_t {
  immediate,      ///< a dispatch is complete when it returns, and uses the calling thread only
  native_stream,  ///< the native stream's completion fulfils the future; no thread blocks
  fence_only      ///< a thread has to block in a fence
};

/// Traits of an execution space. This header has those of `Serial`, <…/interop/kokkos_cuda.hpp> of
/// `Cuda`, <…/interop/kokkos_sycl.hpp> of `SYCL`. All other spaces can only fence, including OpenMP
/// and Threads, whose dispatch waits for threads of its own.
///
/// A specialisation for a native stream has
/// - `result_space`, Kokkos' memory space for `memory_kind::pinned`, and `family`, its backend;
/// - `device_of(space, call)`, the runtime's device of the instance. @throws usage_error
/// - `get_future(device, space)`, ready when all work of the instance is complete;
/// - `take_error()`, which returns and clears the error text that the last launch of the calling
///   thread has left behind unchecked, or null.
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

/// Spaces whose work completes a future without a blocked thread. If a call does not compile
/// because of this concept, include the header of the space (above), or pass `may_block`.
template <class Space>
concept completes_without_fence = completion_of<Space>
!= completion::fence_only;

/// First argument of calls that may block the calling thread. On a space that can only fence they
/// block the worker, and return a ready future. On any other space they behave as the calls without
/// this argument: no thread blocks, and the order on the instance is kept.
struct may_block_t {};
inline constexpr may_block_t may_block{};

/// Third argument of `async`: the functor reduces, `f(i, T& update)`. R is a type to be summed or a
/// reducer of Kokkos such as `Kokkos::Max<double>` (for a space with a native stream, a reducer
/// over its `result_space`).
template <class R>
struct reduce_t {};
template <class R>
inline constexpr reduce_t<R> reduce{};

/// Third argument of `async`: the functor scans, `f(i, T& update, bool final)`; the future's value
/// is the total.
template <class T>
struct scan_t {};
template <class T>
inline constexpr scan_t<T> scan{};

/// A policy whose kernel is distributed over the workers; see `spread`.
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

/// Whether `Space` can access `T`: a View in memory accessible to it, or a value.
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

/// Starts `work` by the method that the space supports.
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

/// Copies that block no thread: the space can access the memory of all Views. A device cannot
/// access pageable host memory, and Kokkos blocks for a copy from or to it: use a View in pinned
/// memory (`recycled`, `Kokkos::CudaHostPinnedSpace`), or pass `may_block`.
template <class Space, class To, class From>
concept copies_without_waiting =
    completes_without_fence<Space> && detail::reaches<Space, To> && detail::reaches<Space, From>;

/// Returns a future of all work that calls of this header have submitted to `space` so far; on a
/// space with a native stream, of all work of the stream.
template <completes_without_fence Space>
[[nodiscard]] future<void> get_future(const Space& space) {
  return detail::start(space, detail::nothing{}, "get_future");
}
/// As above for any space.
template <class Space>
[[nodiscard]] future<void> get_future(may_block_t, const Space& space) {
  return detail::start(space, detail::nothing{}, "get_future");
}

/// Submits `Kokkos::parallel_for(policy, f)` to the policy's instance; range, box (MDRange) and
/// team policies. On Serial the kernel is one task: use `spread` for several.
template <detail::free_policy Policy, class F>
[[nodiscard]] future<void> async(const Policy& policy, const F& f) {
  return detail::start(policy.space(), detail::for_work<Policy, F>(policy, f), "async");
}
/// Submits `Kokkos::parallel_reduce`; the future's value is the result.
template <detail::free_policy Policy, class F, class R>
[[nodiscard]] auto async(const Policy& policy, const F& f, reduce_t<R>) {
  return detail::start(policy.space(), detail::reduce_work<Policy, F, R>(policy, f), "async");
}
/// Submits `Kokkos::parallel_scan`; the future's value is the total.
template <detail::free_policy Policy, class F, class T>
[[nodiscard]] future<T> async(const Policy& policy, const F& f, scan_t<T>) {
  return detail::start(policy.space(), detail::scan_work<Policy, F, T>(policy, f), "async");
}

/// The three functions above for any space.
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

/// Returns a policy that distributes a kernel of Serial over the workers, in pieces of `grain`
/// indices (of a box: of its slowest dimension). The kernel must be valid for a parallel space,
/// although Serial's concurrency is one: no UniqueToken, no ScatterView of Serial, and atomics of
/// Kokkos only if they are atomic. Built with Serial alone, Kokkos before 4.3 implements atomics as
/// plain operations; later versions do so if configured (Kokkos_ENABLE_ATOMICS_BYPASS).
/// @throws usage_error when `grain` is below 1, or the length is no std::int64_t
template <class Policy>
requires(completion_of<detail::space_of<Policy>> == completion::immediate)
    [[nodiscard]] spread_policy<Policy> spread(const Policy& policy, std::int64_t grain) {
  if (grain < 1) throw usage_error("kokkos::spread: a grain must be 1 or more");
  static_cast<void>(detail::length_of(policy));  // throws if the length is no std::int64_t
  return {policy, grain};
}

/// Submits a parallel_for whose pieces run on instances of their own.
template <class Policy, class F>
[[nodiscard]] future<void> async(const spread_policy<Policy>& p, const F& f) {
  const detail::pieces_of<Policy> all{p.policy, p.grain};
  return detail::start(p.policy.space(), detail::spread_for<Policy, F>(all, f), "async");
}
/// Submits a reduction. Pieces are reduced separately and their results joined in order: the result
/// is bitwise the same for any number of workers.
template <class Policy, class F, class R>
[[nodiscard]] auto async(const spread_policy<Policy>& p, const F& f, reduce_t<R>) {
  const detail::pieces_of<Policy> all{p.policy, p.grain};
  return detail::start(p.policy.space(), detail::spread_reduce<Policy, F, R>(all, f), "async");
}

/// Submits `Kokkos::deep_copy(space, dst, src)`; `src` is a View or a value. The space must be able
/// to access the memory of both: `copies_without_waiting`.
template <class Space, class To, class From>
requires copies_without_waiting<Space, To, From>
[[nodiscard]] future<void> deep_copy_async(const Space& space, const To& dst, const From& src) {
  return detail::start(space, detail::copy_work<Space, To, From>(space, dst, src),
                       "deep_copy_async");
}
/// As above for any space and any memory. A copy between device memory and pageable host memory
/// blocks the calling thread, or on Serial a worker, because Kokkos blocks.
template <class Space, class To, class From>
requires Kokkos::is_execution_space<Space>::value [[nodiscard]] future<void> deep_copy_async(
    may_block_t, const Space& space, const To& dst, const From& src) {
  return detail::start(space, detail::copy_work<Space, To, From>(space, dst, src),
                       "deep_copy_async");
}
/// As the first overload, on a default instance: of Serial if the host can access the memory of
/// both, else of the default (device) space.
template <class To, class From>
requires Kokkos::is_view<To>::value &&
    copies_without_waiting<detail::copying_space<To, From>, To, From>
[[nodiscard]] future<void> deep_copy_async(const To& dst, const From& src) {
  return deep_copy_async(detail::copying_space<To, From>(), dst, src);
}

}  // namespace starling::kokkos
