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

/// Portable kernels: what a kernel is and how a backend finds the code that runs it.
///
/// This header needs no coroutines and no vector types, so that device compilers can read it.
namespace starling {

namespace detail {

/// What a device moves to scratch memory as one.
template <class T>
inline constexpr bool copied_at_once = std::is_trivially_copyable_v<T> &&
                                       (sizeof(T) == 8 || sizeof(T) == 16) &&
                                       alignof(T) == sizeof(T);

/// What a kernel is called with: `Kernel::index_type` where stated, else the narrowest it takes.
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
/// A number of it: int or std::int64_t.
template <class Kernel>
using coordinate_of = decltype(index_of<Kernel>::x);
/// Largest extent of a range in one direction.
template <class Kernel>
inline constexpr std::int64_t most_extent = std::numeric_limits<coordinate_of<Kernel>>::max();

}  // namespace detail

/// One thread that runs a whole group on the host. A device's group type has the same members.
///
/// A group kernel is written once for both: `template <class Group> constexpr void
/// operator()(Group& g, index3 i) const`, with `i` the position of the group in the range.
class host_group {
 public:
  /// `scratch` holds at least the bytes of the kernel's `group_shape`, 64-byte aligned.
  constexpr host_group(void* scratch, std::size_t bytes) noexcept
      : m_scratch(scratch), m_bytes(bytes) {}

  [[nodiscard]] static constexpr int size() noexcept { return 1; }  ///< threads of the group
  [[nodiscard]] static constexpr int rank() noexcept { return 0; }  ///< this thread's number

  /// The memory the group shares, uninitialised at entry; contents last until the kernel returns.
  template <class T>
  [[nodiscard]] T* scratch() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    return static_cast<T*>(m_scratch);
  }
  [[nodiscard]] constexpr std::size_t scratch_bytes() const noexcept { return m_bytes; }

  /// What every thread wrote before is visible to every thread after. All threads must call it.
  constexpr void sync() const noexcept {}

  /// Copies `n` elements of 8 or 16 bytes, each aligned to its size, from memory of the device to
  /// scratch memory, spread over the threads; there after the next `sync`.
  template <class T>
  constexpr void copy(T* scratch, const T* from, int n) const {
    static_assert(detail::copied_at_once<T>);
    for (int i = 0; i < n; ++i) scratch[i] = from[i];
  }

  /// Calls f(i) once for each 0 ≤ i < n, spread over the threads, in no order. Not a `sync`.
  template <class F>
  constexpr void for_each(int n, F&& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }

 private:
  void* m_scratch;
  std::size_t m_bytes;
};

/// A function object called once for each index of a range, in no order, with nothing shared
/// between calls but memory. It is copied byte for byte to the device: members are numbers and
/// pointers to memory that the device reaches and that outlives the work.
///
/// Optional members:
/// - `static constexpr const char* name`: what trace and errors call it (else the type's name);
/// - `using index_type = wide_index3`: its indices are 64-bit numbers. Stated by kernels whose
/// index
///   is a template parameter; a kernel whose operator takes a `wide_index3` need not say it. All
///   others get an `index3`, and ranges of at most 2^31 − 1 indices in each direction;
/// - `static constexpr int host_grain`: the cost of the kernel on the host, told as the least
/// number
///   of indices that are worth a task of their own (some 20 µs). Where it is not stated, 4096 are,
///   and the host backend measures now and then whether fewer are;
/// - `template <class V, class Index> constexpr void lanes(Index i) const`: does indices
///   i.x … i.x + V::size() − 1 at once, V a `std::experimental::simd` of `lane_type`;
/// - `using lane_type = float`: the element type of V (default double).
template <class Kernel>
concept index_kernel = std::is_trivially_copyable_v<Kernel> && std::is_object_v<Kernel> &&
                           alignof(Kernel) <= 16 &&
                       std::invocable<const Kernel&, detail::index_of<Kernel>>;

/// A function object called once for each group of a range, at most 2^31 − 1 in each direction.
/// Optional members: `name`, `host_grain` (least number of groups per host task, default 1),
/// `group_size` (threads) and `scratch_bytes`; the last two are the defaults of `submit`'s third
/// argument.
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

/// Starts the kernels of a call on a device's own queue and returns 0 or the backend's error
/// number. `native_stream` is what `stream::native` returns; on SYCL the backend's own stream.
using device_launcher = int (*)(const kernel_call& call, void* native_stream);

/// Runs units [first, last) of a call's first kernel on the calling thread.
using host_launcher = void (*)(const kernel_call& call, std::int64_t first, std::int64_t last);

/// What is known of a kernel type: one object per type in the whole program, filled by the linker
/// and by static initialisers of the files that hold its launchers.
struct kernel_entry {
  const std::type_info* type;
  const char* given_name;  // K::name, or null
  /// Set before main by the file that compiled the kernel for a backend; null elsewhere. Relaxed:
  /// the value is a function and leads to nothing that needs publishing.
  std::atomic<device_launcher> launchers[backend_kinds] = {};
  std::atomic<const char*> demangled = nullptr;  // made at first use, never freed
  /// What a unit of the host's code took when it was last measured, ns; 0: not yet. Relaxed: an
  /// estimate that leads to nothing.
  std::atomic<float> host_cost = 0;

  /// What trace and errors call the kernel; lives as long as the program. Any thread.
  [[nodiscard]] const char* name() noexcept;
  [[nodiscard]] device_launcher launcher(backend_kind where) const noexcept {
    return launchers[static_cast<std::size_t>(where)].load(std::memory_order_relaxed);
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

/// Enters a kernel's launcher before main; true, so that a static initialiser can say so.
template <class Kernel>
bool enter(backend_kind where, device_launcher code) noexcept {
  kernel_entry_of<Kernel>.launchers[static_cast<std::size_t>(where)].store(
      code, std::memory_order_relaxed);
  return true;
}

/// One submission of a kernel, or of several of one type that run side by side, in no order. The
/// objects it points to are copied before `submit` returns.
struct kernel_call {
  kernel_entry* entry;
  const void* object;     // the kernel; of several the first, each `bytes` behind the one before
  std::size_t bytes;      // sizeof of one
  range extent;           // of each: indices, or groups; not empty
  group_shape shape;      // threads and scratch of a group kernel
  host_launcher host;     // the host code, compiled where `submit` was called
  std::int64_t units;     // pieces in which the host may run one, independent of each other
  std::int64_t grain;     // units worth a task of their own
  bool measured = false;  // the grain is a guess, to be corrected by what the kernel costs
  std::size_t count = 1;  // kernels
  member_observer* observer = nullptr;  // told which one failed; null: all fail together
  host_launcher inner = nullptr;   // the host code, where a backend has put its own into `host`
  std::size_t* started = nullptr;  // for who asks what a refused call left undone; else null

  /// The first `n` kernels run or will run. Said by launchers that may be refused half-way.
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
