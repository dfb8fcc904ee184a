// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stop_token>
#include <utility>

#include <starling/core/detail/load_meter.hpp>
#include <starling/core/detail/stoppable.hpp>
#include <starling/core/future.hpp>
#include <starling/device/detail/completion.hpp>
#include <starling/device/detail/operation_list.hpp>
#include <starling/device/stream.hpp>

namespace starling {

class aggregator;

/// Parameters of an aggregator.
struct aggregation {
  std::size_t most = 64;    ///< most sequences of a batch, up to 65 536; 1 aggregates nothing
  std::size_t streams = 4;  ///< number of streams for each priority in use
  std::size_t depth = 1;    ///< most batches in flight on a stream; further sequences gather
  const char* name = "aggregator";  ///< in traces and errors; must outlive the runtime
};

/// Statistics of an aggregator since its construction. Each sequence that was committed and is no
/// longer gathering counts once: as launched or as withdrawn.
struct aggregation_statistics {
  std::uint64_t submissions = 0;  ///< sequences launched
  std::uint64_t launches = 0;     ///< batches launched
  std::uint64_t largest = 0;      ///< most sequences in one batch
  std::uint64_t divided = 0;      ///< batches refused as a whole and launched sequence by sequence
  std::uint64_t withdrawn = 0;    ///< sequences cancelled before their launch
  std::uint64_t waiting_ns = 0;   ///< time from commit to launch, summed over launched sequences
  aggregation_statistics& operator+=(const aggregation_statistics& other) noexcept;
  /// Returns the mean number of sequences per batch; 0 without a batch.
  [[nodiscard]] double mean() const noexcept {
    return launches == 0 ? 0.0 : double(submissions) / double(launches);
  }
};

namespace detail {

class collector;
struct batch;

/// A sequence in a collector. Part of a `sequence` object or of a future's state.
struct batch_member : device_waiter {
  explicit batch_member(collector& home) noexcept : target(&home) {}
  batch_member(collector& home, operation_list&& recorded) noexcept
      : target(&home), operations(std::move(recorded)) {}

  // Set by the first failing operation, which alone writes `error`. Relaxed: see batch.cpp.
  std::atomic<bool> failed{false};
  // Guarded by the collector's lock:
  bool stopped = false;  // stop was requested, possibly before the commit
  batch* in = nullptr;   // the batch that it joined; current only while the generations are equal
  std::uint64_t generation = 0;
  std::uint64_t committed_ns = 0;  // time of the commit if not launched at once

  collector* target;
  operation_list operations;
  std::shared_ptr<device_account> account;  // of the element that committed it; null: of none
};

/// Adds a recorded member to a batch. Returns false if it is empty or was cancelled: its waiter is
/// not notified. Returns true if the waiter will be notified, or has been already: `m` may then no
/// longer exist. @throws std::bad_alloc
[[nodiscard]] bool commit(batch_member& m);
/// Removes a member that has not been launched. Returns false if it has been launched.
[[nodiscard]] bool withdraw(batch_member& m) noexcept;
/// Cancels a member for a stop token: withdraws it if it has not been launched, and makes its
/// coroutine ready. Any thread, at any time from before `commit` until after the notification.
/// Requires keep_collector, since the collector may have no other user by then.
void cancel(batch_member& m) noexcept;
/// Keeps the collector of `m` in existence until let_collector_go, even after its aggregator has
/// been destroyed and all work is complete.
void keep_collector(batch_member& m) noexcept;
void let_collector_go(batch_member& m) noexcept;

}  // namespace detail

/// Waits until a sequence is complete. Returned by `sequence::completion`.
class [[nodiscard]] sequence_awaiter {
 public:
  using value_type = void;

  explicit sequence_awaiter(detail::batch_member& m) noexcept : m_member(&m) {}

  bool await_ready() const noexcept { return m_member->operations.empty(); }

  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    return m_member->suspend(h.promise(), m_member, &withdraw_waiter, at,
                             [this] { return detail::commit(*m_member); });
  }

  /// @throws device_error, operation_cancelled
  void await_resume() {
    if (!m_member->operations.empty()) finish();
  }

 private:
  void finish();
  static bool withdraw_waiter(detail::promise_base& c) noexcept {
    return detail::withdraw(detail::awaited_object<detail::batch_member>(c));
  }

  detail::batch_member* m_member;
};

/// As sequence_awaiter, for a wait that a stop token may cancel.
class [[nodiscard]] stoppable_sequence_awaiter : public sequence_awaiter {
 public:
  explicit stoppable_sequence_awaiter(detail::batch_member& m) noexcept
      : sequence_awaiter(m), m_kept(&m) {
    detail::keep_collector(m);
  }
  stoppable_sequence_awaiter(const stoppable_sequence_awaiter&) = delete;
  stoppable_sequence_awaiter& operator=(const stoppable_sequence_awaiter&) = delete;
  ~stoppable_sequence_awaiter() { end(); }

  void await_resume() {
    end();
    sequence_awaiter::await_resume();
  }

  /// Thread-safe, see detail::stoppable.
  void cancel() noexcept { detail::cancel(*m_kept); }

 private:
  /// Releases the collector. The stop callback no longer exists: either the wait has ended, or it
  /// never began.
  void end() noexcept {
    if (m_kept == nullptr) return;
    detail::batch_member& m = *std::exchange(m_kept, nullptr);
    m.stopped = false;
    detail::let_collector_go(m);
  }
  detail::batch_member* m_kept;
};

/// Operations recorded by one task, which an aggregator submits together with sequences of other
/// tasks.
///
/// Recording stores the operations, with copies of the kernels. They run once the sequence is
/// *committed*, by awaiting it or requesting its future. The operations then run in order, and each
/// sees the writes of the earlier ones. They are not ordered with any other work: the memory that
/// they use must remain valid and untouched until the wait has ended. An empty sequence is complete
/// at once. After the wait a sequence is empty and may be used again; destroying an uncommitted
/// sequence has no effect.
///
/// Errors: invalid operations are rejected during recording. A kernel that fails on the host
/// backend fails its own sequence only: the remaining operations of the sequence are skipped, and
/// its waiter receives the `device_error`. A lost device fails all sequences.
///
/// Not thread-safe: for one task at a time. Not movable: waits refer to it.
class [[nodiscard]] sequence {
 public:
  sequence(const sequence&) = delete;
  sequence& operator=(const sequence&) = delete;

  /// Records a kernel, as `stream::submit`. @throws usage_error on a negative or too large extent,
  /// when groups request more scratch memory than the device has, or when the program contains no
  /// code of `k` for its backend
  template <kernel Kernel>
  void submit(const range& extent, const Kernel& k,
              group_shape shape = detail::default_shape<Kernel>()) {
    check_extent(extent, detail::kernel_entry_of<Kernel>, detail::most_extent<Kernel>);
    if (extent.size() != 0) add(detail::make_call(extent, k, shape));
  }

  /// Records a copy, as `stream::copy`. Pageable memory may block the launching thread: use pinned
  /// buffers. @throws usage_error when the sizes differ
  template <detail::writable To, detail::transferable From>
  requires std::same_as<std::ranges::range_value_t<To>, std::ranges::range_value_t<From>>
  void copy(To&& dst, const From& src) {
    constexpr std::size_t element = sizeof(std::ranges::range_value_t<To>);
    check_sizes(std::ranges::size(dst), std::ranges::size(src));
    copy_bytes(std::ranges::data(dst), std::ranges::data(src), std::ranges::size(src) * element);
  }
  void copy_bytes(void* dst, const void* src, std::size_t bytes);

  [[nodiscard]] bool empty() const noexcept { return m_member.operations.empty(); }

  /// Returns an awaiter: `co_await s.completion()` commits the sequence and waits until it is
  /// complete.
  sequence_awaiter completion() noexcept { return sequence_awaiter(m_member); }
  /// As above with cancellation: when `stop` is requested before the launch, the sequence is
  /// withdrawn and the wait throws `operation_cancelled`; after the launch, the wait continues.
  [[nodiscard]] detail::stoppable<stoppable_sequence_awaiter> completion(std::stop_token stop) {
    return detail::stoppable<stoppable_sequence_awaiter>(std::move(stop), m_member);
  }
  /// Allows `co_await a.submit(extent, k)`.
  sequence_awaiter operator co_await() && noexcept { return completion(); }

  /// Commits the sequence, leaves it empty and returns its future. The future is safe to drop: the
  /// work continues. Any thread. @throws std::bad_alloc, which leaves the sequence unchanged
  [[nodiscard]] future<void> get_future();

 private:
  friend aggregator;
  explicit sequence(detail::collector& target) noexcept : m_member(target) {}
  template <kernel Kernel>
  sequence(detail::collector& target, const range& extent, const Kernel& k, group_shape shape)
      : sequence(target) {
    submit(extent, k, shape);
  }
  static void check_extent(const range& extent, detail::kernel_entry& entry, std::int64_t most);
  static void check_sizes(std::size_t to, std::size_t from);
  void add(const detail::kernel_call& call);

  detail::batch_member m_member;
};

/// Combines many small submissions of many tasks into few launches. Sequences of one *shape* (the
/// same kernel types, extents, group shapes and transfer sizes in the same order) that are
/// committed while the device is busy form a batch. Of a batch, each kernel is launched once over
/// all argument blocks, and each transfer is a piece of one copy. Each shape has batches of its
/// own. Kernels need no change, and results are bitwise those of separate launches.
///
/// A batch is launched, oldest first, when one of the aggregator's streams has fewer than `depth`
/// batches in flight, so a sequence on an idle device is launched alone and at once; or when it has
/// `most` members, on the least loaded stream. A sequence therefore waits only while the device
/// executes earlier batches, never until a batch is full. Sequences of high priority have batches
/// and streams of their own.
///
/// The committing task or a coroutine of the runtime launches a batch, without holding the lock
/// that commits need. A batch that is refused as a whole is launched sequence by sequence, so that
/// each task receives its own error and the valid sequences complete.
///
/// Thread-safe. May be destroyed while sequences are in flight, but not while tasks are recording:
/// those refer to it. Must not outlive its runtime.
class aggregator {
 public:
  /// @throws usage_error when a number is 0; device_error
  explicit aggregator(device& target, aggregation how = {});
  ~aggregator();
  aggregator(const aggregator&) = delete;
  aggregator& operator=(const aggregator&) = delete;

  /// Returns an empty sequence.
  sequence begin(starling::priority priority = starling::priority::normal);

  /// Returns a sequence of one kernel: `co_await a.submit(extent, k)`, or `.get_future()`.
  /// @throws as `sequence::submit`
  template <kernel Kernel>
  sequence submit(const range& extent, const Kernel& k,
                  group_shape shape = detail::default_shape<Kernel>()) {
    return sequence(collector_of(priority::normal), extent, k, shape);
  }

  [[nodiscard]] aggregation_statistics statistics() const noexcept;

 private:
  [[nodiscard]] detail::collector& collector_of(starling::priority priority);

  device* m_device;
  aggregation m_how;
  // By priority; created at first use, owned by the device. Release/acquire: publishes the object.
  std::atomic<detail::collector*> m_collectors[2] = {};
};

}  // namespace starling
