// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <typeinfo>

#include <starling/device/types.hpp>

/// Portable kernels: the kernel concepts, and the table by which a backend finds a kernel's code.
///
/// Uses no coroutines and no vector types, so that device compilers can compile this header.
namespace starling {

namespace detail {

/// Types that a device copies to scratch memory with one instruction per element.
template <class T>
inline constexpr bool copied_at_once = std::is_trivially_copyable_v<T> &&
                                       (sizeof(T) == 8 || sizeof(T) == 16) &&
                                       alignof(T) == sizeof(T);

/// The index type of a kernel: `Kernel::index_type` if declared, else the narrowest type that its
/// call operator accepts.
template <class Kernel>
struct index_choice {
  static constexpr bool takes_wide_alone =
      !std::invocable<const Kernel&, index3> && std::invocable<const Kernel&, wide_index3>;
  using type = std::conditional_t<takes_wide_alone, wide_index3, index3>;
};
template <class Kernel>
requires requires { typename Kernel::index_type; }
struct index_choice<Kernel> {
  using type = typename Kernel::index_type;
  static_assert(std::is_same_v<type, index3> || std::is_same_v<type, wide_index3>,
                "index_type of a kernel is starling::index3 or starling::wide_index3");
};
template <class Kernel>
using index_of = typename index_choice<Kernel>::type;
/// The type of a coordinate of the kernel's index: int or std::int64_t.
template <class Kernel>
using coordinate_of = decltype(index_of<Kernel>::x);
/// Largest extent of a range in one direction.
template <class Kernel>
inline constexpr std::int64_t most_extent = std::numeric_limits<coordinate_of<Kernel>>::max();

}  // namespace detail

/// A group of one host thread. The group types of devices have the same members.
///
/// A group kernel is written once for all: `template <class Group> constexpr void
/// operator()(Group& g, index3 i) const`, with `i` the position of the group in the range.
class host_group {
 public:
  /// `scratch` holds at least the bytes of the kernel's `group_shape`, 64-byte aligned.
  constexpr host_group(void* scratch, std::size_t bytes) noexcept
      : m_scratch(scratch), m_bytes(bytes) {}

  [[nodiscard]] static constexpr int size() noexcept { return 1; }  ///< threads of the group
  [[nodiscard]] static constexpr int rank() noexcept { return 0; }  ///< this thread's number

  /// Returns the memory that the group shares, uninitialised at entry, valid until the kernel
  /// returns.
  template <class T>
  [[nodiscard]] T* scratch() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    return static_cast<T*>(m_scratch);
  }
  [[nodiscard]] constexpr std::size_t scratch_bytes() const noexcept { return m_bytes; }

  /// Synchronises the group: writes before the call are visible to all its threads after the call.
  /// All threads must call it.
  constexpr void sync() const noexcept {}

  /// Copies `n` elements of 8 or 16 bytes, each aligned to its size, from device memory to scratch
  /// memory, distributed over the threads. The elements are visible after the next `sync`.
  template <class T>
  constexpr void copy(T* scratch, const T* from, int n) const {
    static_assert(detail::copied_at_once<T>);
    for (int i = 0; i < n; ++i) scratch[i] = from[i];
  }

  /// Calls f(i) once for each 0 ≤ i < n, distributed over the threads, in no order. Does not
  /// synchronise.
  template <class F>
  constexpr void for_each(int n, F&& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }

 private:
  void* m_scratch;
  std::size_t m_bytes;
};

/// A function object called once for each index of a range, in no order. Calls share memory only.
/// The object is copied byte for byte to the device: its members are numbers and pointers to memory
/// that the device can access and that outlives the work.
///
/// Optional members:
/// - `static constexpr const char* name`: the name in traces and errors (default: the type's name);
/// - `using index_type = wide_index3`: 64-bit indices. Needed if the kernel's index is a template
///   parameter; deduced if the call operator accepts only `wide_index3`. All remaining kernels
///   receive an `index3`, and ranges of at most 2^31 − 1 indices in each direction;
/// - `static constexpr int host_grain`: the cost on the host, as the least number of indices worth
///   a task of their own (some 20 µs). The default is 4096, which the host backend lowers if
///   occasional measurements show that fewer suffice;
/// - `template <class V, class Index> constexpr void lanes(Index i) const`: processes the indices
///   i.x … i.x + V::size() − 1 at once, V a `std::experimental::simd` of `lane_type`;
/// - `using lane_type = float`: the element type of V (default double).
template <class Kernel>
concept index_kernel = std::is_trivially_copyable_v<Kernel> && std::is_object_v<Kernel> &&
                           alignof(Kernel) <= 16 &&
                       std::invocable<const Kernel&, detail::index_of<Kernel>>;

/// A function object called once for each group of a range, at most 2^31 − 1 in each direction.
/// Optional members: `name`, `host_grain` (least number of groups per host task, default 1),
/// `group_size` (threads) and `scratch_bytes`; `group_size` and `scratch_bytes` are the defaults of
/// `submit`'s third argument.
template <class Kernel>
concept group_kernel = std::is_trivially_copyable_v<Kernel> && std::is_object_v<Kernel> &&
                           alignof(Kernel) <= 16 &&
                       !index_kernel<Kernel> && std::invocable<const Kernel&, host_group&, index3>;

template <class Kernel>
concept kernel = index_kernel<Kernel> || group_kernel<Kernel>;

/// A kernel with a vector form for lanes of type V.
template <class Kernel, class V>
concept lane_kernel = index_kernel<Kernel> &&
    requires(const Kernel& k, detail::index_of<Kernel> i) {
  k.template lanes<V>(i);
};

namespace detail {

struct kernel_call;
class member_observer;

/// Starts the kernels of a call on a native stream and returns 0 or the backend's error number.
/// `native_stream` is the native handle on CUDA, the `sycl_stream` on SYCL, and a
/// `kokkos::detail::launch_site` on Kokkos.
using device_launcher = int (*)(const kernel_call& call, void* native_stream);

/// Runs units [first, last) of a call's first kernel on the calling thread.
using host_launcher = void (*)(const kernel_call& call, std::int64_t first, std::int64_t last);

/// The launch table entry of a kernel type: one object per type in the whole program. Static
/// initialisers of the files that contain its launchers fill it in.
struct kernel_entry {
  const std::type_info* type;
  const char* given_name;  // K::name, or null
  /// Set before main by the file that compiled the kernel for a backend; otherwise null. Relaxed:
  /// the value is a function pointer, so no other data has to be published.
  std::atomic<device_launcher> launchers[backend_kinds] = {};
  std::atomic<const char*> demangled = nullptr;  // made at first use, never freed
  /// Last measured time of one unit on the host, in ns; 0: not measured yet. Relaxed: an estimate
  /// that publishes no other data.
  std::atomic<float> host_cost = 0;

  /// Returns the kernel's name for traces and errors; valid until the program ends. Thread-safe.
  [[nodiscard]] const char* name() noexcept;
  [[nodiscard]] device_launcher launcher(backend_kind backend) const noexcept {
    return launchers[static_cast<std::size_t>(backend)].load(std::memory_order_relaxed);
  }
};

template <class Kernel>
constexpr const char* given_kernel_name() noexcept {
  if constexpr (requires {
                  { Kernel::name } -> std::convertible_to<const char*>;
                })
    return Kernel::name;
  else
    return nullptr;
}

template <class Kernel>
constinit inline kernel_entry kernel_entry_of{&typeid(Kernel), given_kernel_name<Kernel>()};

/// Registers a kernel's launcher before main. Returns true, for use in a static initialiser.
template <class Kernel>
bool enter(backend_kind backend, device_launcher code) noexcept {
  kernel_entry_of<Kernel>.launchers[static_cast<std::size_t>(backend)].store(
      code, std::memory_order_relaxed);
  return true;
}

/// One submission of a kernel, or of several kernels of one type that run concurrently, in no
/// order. The kernel objects that it points to are copied before `submit` returns.
struct kernel_call {
  kernel_entry* entry;
  const void* object;     // the first of `count` contiguous kernel objects
  std::size_t bytes;      // sizeof of a kernel object
  range extent;           // of each kernel: indices, or groups; not empty
  group_shape shape;      // threads and scratch memory of a group kernel
  host_launcher host;     // the host code, compiled where `submit` was called
  std::int64_t units;     // independent pieces into which the host may split each kernel
  std::int64_t grain;     // least number of units worth a task of their own
  bool measured = false;  // the grain is a guess, to be corrected by the measured cost
  std::size_t count = 1;  // number of kernels
  member_observer* observer = nullptr;  // notified of failed kernels; null: all fail together
  host_launcher inner = nullptr;        // the host code if a backend has replaced `host`, else null
  std::size_t* started = nullptr;       // receives the argument of note_started; may be null

  /// Notes that the first `n` kernels were started, so that after a refusal the caller resubmits
  /// only the remaining kernels. Called by launchers that may be refused half-way.
  void note_started(std::size_t n) const noexcept {
    if (started != nullptr) *started = n;
  }
};

template <class Kernel>
constexpr group_shape default_shape() noexcept {
  group_shape shape;
  if constexpr (requires { Kernel::group_size; }) shape.threads = Kernel::group_size;
  if constexpr (requires { Kernel::scratch_bytes; }) shape.scratch_bytes = Kernel::scratch_bytes;
  return shape;
}

}  // namespace detail
}  // namespace starling
