// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/core/future.hpp>
#include <starling/device/detail/completion.hpp>
#include <starling/device/detail/host_launch.hpp>
#include <starling/device/event.hpp>
#include <starling/device/graph.hpp>
#include <starling/device/kernel.hpp>
#include <starling/device/types.hpp>

namespace starling {

class device;

namespace detail {

/// A contiguous range of trivially copyable elements: array, vector, span, buffer.
template <class Range>
concept transferable = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;
template <class Range>
concept writable = transferable<Range> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

}  // namespace detail

/// An in-order queue of a device. Operations run in the order of submission, and each sees the
/// writes of all earlier ones. Operations of different streams may run at the same time.
///
/// Submitting returns at once; the memory used must remain valid until the work is complete.
/// Destroying a handle from a pool returns the loan (several borrowers may share a queue);
/// destroying the last handle of any other stream recycles the queue. Neither waits for the work. A
/// handle must not outlive its runtime.
///
/// Errors: a refused submission throws. A kernel that fails on the device fails its stretch, that
/// is, all operations up to the next completion request: the remaining operations of the stretch
/// are skipped, and every waiter on that request receives the `device_error`, including a waiter
/// that asks again before new work is submitted. Without a waiter on that request, the next waiter
/// of the stream receives it; without any waiter before the handle is destroyed, the runtime
/// reports it, so errors of one loan never reach the next borrower. On the host backend later
/// stretches are unaffected, unless they wait for an event of a failed stretch; a CUDA device is
/// lost with all its streams.
///
/// Thread-safe: each call is one step in the stream's order. Any thread may submit; only a task of
/// the runtime may await.
class stream {
 public:
  /// An empty handle; submitting to it throws `usage_error`.
  stream() noexcept = default;
  explicit stream(detail::stream_state& adopted) noexcept;
  stream(stream&& other) noexcept : m_state(std::exchange(other.m_state, nullptr)) {}
  stream& operator=(stream&& other) noexcept {
    stream(std::move(other)).swap(*this);
    return *this;
  }
  ~stream();

  explicit operator bool() const noexcept { return m_state != nullptr; }
  [[nodiscard]] stream_id id() const;
  [[nodiscard]] starling::device& device() const;
  [[nodiscard]] backend_kind backend() const;

  /// Submits `k` for every index of `extent`, or for every group if `k` is a group kernel. An empty
  /// range has no effect. @throws device_error when refused; usage_error on an extent that is
  /// negative, beyond the numbers of `k`'s index or beyond the backend's launch limit, when groups
  /// request more scratch memory than the device has, or when the program contains no code of `k`
  /// for this backend
  template <kernel Kernel>
  void submit(const range& extent, const Kernel& k,
              group_shape shape = detail::default_shape<Kernel>()) {
    check_extent(extent, detail::kernel_entry_of<Kernel>, detail::most_extent<Kernel>);
    if (extent.size() == 0) return;
    launch(detail::make_call(extent, k, shape));
  }

  /// Copies the elements of `src` to `dst`, which may be in memory of any kind; equal sizes, no
  /// overlap. On a GPU, copies from or to pageable memory may block the caller: use pinned buffers.
  /// @throws usage_error when the sizes differ
  template <detail::writable To, detail::transferable From>
  requires std::same_as<std::ranges::range_value_t<To>, std::ranges::range_value_t<From>>
  void copy(To&& dst, const From& src) {
    constexpr std::size_t element = sizeof(std::ranges::range_value_t<To>);
    check_sizes(std::ranges::size(dst), std::ranges::size(src));
    copy_bytes(std::ranges::data(dst), std::ranges::data(src), std::ranges::size(src) * element);
  }
  void copy_bytes(void* dst, const void* src, std::size_t bytes);
  /// As copy_bytes, for series of copies such as the receives of channels: a completion that
  /// get_lazy_future requested does not delay the copies that follow.
  void pull_bytes(void* dst, const void* src, std::size_t bytes);

  /// Sets every element of `dst` to `value`; elements of 1, 2, 4, 8 or 16 bytes.
  template <detail::writable To>
  void fill(To&& dst, const std::type_identity_t<std::ranges::range_value_t<To>>& value) {
    constexpr std::size_t element = sizeof(value);
    static_assert(element <= 16 && (element & (element - 1)) == 0);
    fill_elements(std::ranges::data(dst), &value, element, std::ranges::size(dst));
  }

  /// Records the point after all operations submitted so far, for `wait` on other streams.
  [[nodiscard]] event record();
  /// Delays all later operations until `point`, an event of any stream of the same backend.
  void wait(const event& point);

  /// Returns an awaiter: `co_await s.completion()` waits until all operations submitted before the
  /// await are complete.
  [[nodiscard]] completion_awaiter completion() const;
  /// Returns a future of all operations submitted so far. Safe to drop. Carries a `device_error`.
  [[nodiscard]] future<void> get_future() const;
  /// As get_future with low priority: the mark may be delayed until after later pull_bytes copies,
  /// but no other work. Storing a completion word between two copies costs the device as much as a
  /// small copy.
  [[nodiscard]] future<void> get_lazy_future() const;
  /// Returns whether all operations submitted so far are known to be complete; requests a mark if
  /// there is none yet. Errors of kernels on the host backend are left to waiters.
  /// @throws device_error when the device is lost
  [[nodiscard]] bool is_idle() const;

  /// Calls `record_work`, which submits to this stream; the operations are recorded in the graph
  /// and do not run. Kernels, copies and fills of this stream only. Other threads that submit
  /// meanwhile block. @throws usage_error from any other call of `record_work` to the stream
  template <std::invocable F>
  [[nodiscard]] graph capture(F&& record_work) {
    capture_scope scope(*this);
    std::invoke(std::forward<F>(record_work));
    return scope.finish();
  }

  /// Returns the native handle, e.g. `s.native<cudaStream_t>()`; include the header of
  /// <starling/device/interop> that declares it. Work submitted to the handle directly runs in the
  /// stream's order, and completion covers it. Do not capture it with the vendor's own calls:
  /// completion queries would break the capture. @throws usage_error if the stream has no such
  /// handle
  template <class Handle>
  [[nodiscard]] Handle native() const {
    static_assert(
        requires { detail::native_handle_of<Handle>::backend; },
        "stream::native: no included header of <starling/device/interop> names this handle");
    return static_cast<Handle>(native_handle(detail::native_handle_of<Handle>::backend));
  }

  void swap(stream& other) noexcept { std::swap(m_state, other.m_state); }
  [[nodiscard]] detail::stream_state& state() const;

 private:
  class capture_scope {
   public:
    explicit capture_scope(stream& target);
    ~capture_scope();
    capture_scope(const capture_scope&) = delete;
    capture_scope& operator=(const capture_scope&) = delete;
    [[nodiscard]] graph finish();

   private:
    detail::stream_state* m_target;
  };

  static void check_extent(const range& extent, detail::kernel_entry& entry, std::int64_t most);
  static void check_sizes(std::size_t to, std::size_t from);
  void launch(const detail::kernel_call& call);
  void fill_elements(void* dst, const void* value, std::size_t element, std::size_t count);
  [[nodiscard]] void* native_handle(backend_kind family) const;
  [[nodiscard]] future<void> future_of(bool lazy) const;

  detail::stream_state* m_state = nullptr;
};

}  // namespace starling
