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

/// An in-order queue of a device: what is submitted runs in order of submission, each operation
/// seeing what the ones before it wrote. Different streams run at the same time.
///
/// Submitting returns at once; memory given to it must live until the work is over. A handle owns
/// its share of the queue: from a pool it is lent and goes back on destruction (several borrowers
/// may share one queue), otherwise the queue is recycled. Neither waits for the work. A handle must
/// not outlive its runtime.
///
/// Errors: what is refused at submission is thrown there. A kernel that fails on the device fails
/// its batch, that is everything up to the next request for completion: the rest of the batch is
/// skipped, and every waiter on that request gets the `device_error`, also who asks again before
/// there is new work. If nobody waits on it, the next waiter of the stream gets it, and if there is
/// none before the handle is gone, the runtime reports it: a loan's errors are not the next
/// borrower's. On the host backend later batches start clean, unless they wait
/// for an event of a failed one; a CUDA device is lost with all its streams.
///
/// Thread-safe: each call is one step in the stream's order. Any thread may submit; to await, be a
/// task of the runtime.
class stream {
 public:
  /// Empty; submitting to it is a `usage_error`.
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

  /// Runs `k` on every index of `extent`, or every group if `k` is a group kernel. An empty range
  /// is no work. @throws device_error when refused; usage_error on a negative extent, on one beyond
  /// the numbers of `k`'s index or beyond what the backend launches at once, when groups ask for
  /// more scratch memory than the device has, or when the program holds no code of `k` for this
  /// backend
  template <kernel Kernel>
  void submit(const range& extent, const Kernel& k,
              group_shape shape = detail::default_shape<Kernel>()) {
    check_extent(extent, detail::kernel_entry_of<Kernel>, detail::most_extent<Kernel>);
    if (extent.size() == 0) return;
    launch(detail::make_call(extent, k, shape));
  }

  /// Copies the elements of `src` to `dst`, wherever either lies; equal sizes, no overlap.
  /// Copies from or to pageable memory may hold up the caller on a GPU: use pinned buffers.
  /// @throws usage_error when the sizes differ
  template <detail::writable To, detail::transferable From>
  requires std::same_as<std::ranges::range_value_t<To>, std::ranges::range_value_t<From>>
  void copy(To&& dst, const From& src) {
    constexpr std::size_t element = sizeof(std::ranges::range_value_t<To>);
    check_sizes(std::ranges::size(dst), std::ranges::size(src));
    copy_bytes(std::ranges::data(dst), std::ranges::data(src), std::ranges::size(src) * element);
  }
  void copy_bytes(void* dst, const void* src, std::size_t bytes);
  /// As copy_bytes, for copies of which many may follow each other, such as those that others have
  /// offered: who waits for one of them by get_lazy_future does not hold up the next ones, as a
  /// question to the device between them would.
  void pull_bytes(void* dst, const void* src, std::size_t bytes);

  /// Sets every element of `dst`; elements of 1, 2, 4, 8 or 16 bytes.
  template <detail::writable To>
  void fill(To&& dst, const std::type_identity_t<std::ranges::range_value_t<To>>& value) {
    constexpr std::size_t element = sizeof(value);
    static_assert(element <= 16 && (element & (element - 1)) == 0);
    fill_elements(std::ranges::data(dst), &value, element, std::ranges::size(dst));
  }

  /// The point after everything submitted so far, for `wait` on other streams.
  [[nodiscard]] event record();
  /// What is submitted from now on starts only after `point`. Any stream of the same backend.
  void wait(const event& point);

  /// `co_await s.completion()`: everything submitted before the await is over.
  [[nodiscard]] completion_awaiter completion() const;
  /// The same as a future, for everything submitted so far. Safe to drop. A `device_error` travels
  /// inside.
  [[nodiscard]] future<void> get_future() const;
  /// The same for who is in no hurry: asking a device between two copies costs it as much as a
  /// small copy, so it may also wait for what pull_bytes is given next, but for nothing else.
  [[nodiscard]] future<void> get_lazy_future() const;
  /// Whether everything submitted so far is known to be over; asks for it if nobody has. Errors of
  /// kernels on the host backend are left to who waits. @throws device_error when the device is
  /// lost
  [[nodiscard]] bool is_idle() const;

  /// Runs `record_work` at once, which submits to this stream; none of it runs, all of it is kept
  /// in the graph. Kernels, copies and fills of this stream only. Other threads that submit
  /// meanwhile wait. @throws usage_error from anything else that `record_work` asks of the stream
  template <std::invocable F>
  [[nodiscard]] graph capture(F&& record_work) {
    capture_scope scope(*this);
    std::invoke(std::forward<F>(record_work));
    return scope.finish();
  }

  /// The backend's own handle, e.g. `s.native<cudaStream_t>()`; include the header of
  /// <starling/device/interop> that names it. Work given to it directly runs in the stream's order,
  /// and completion covers it. Do not capture it with the backend's own calls: queries for
  /// completion would break the capture. @throws usage_error where the stream has no such handle
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
