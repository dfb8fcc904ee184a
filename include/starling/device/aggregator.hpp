// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <ranges>
#include <stop_token>
#include <utility>

#include <starling/core/detail/stoppable.hpp>
#include <starling/core/future.hpp>
#include <starling/device/detail/operation_list.hpp>
#include <starling/device/stream.hpp>

namespace starling {

class aggregator;

/// How an aggregator gathers.
struct aggregation {
  std::size_t most = 64;    ///< sequences of one launch, up to 65 536; 1 aggregates nothing
  std::size_t streams = 4;  ///< of each priority that is used
  std::size_t depth = 1;    ///< launches on one stream at a time before others have to gather
  const char* name = "aggregator";  ///< in traces and errors; must outlive the runtime
};

/// What an aggregator has launched since it was made. Each sequence that was committed and is no
/// longer gathering counts once: as launched or as withdrawn.
struct aggregation_statistics {
  std::uint64_t submissions = 0;  ///< sequences launched
  std::uint64_t launches = 0;     ///< batches that they made
  std::uint64_t largest = 0;      ///< most sequences of one batch
  std::uint64_t divided = 0;      ///< batches refused as one and launched sequence by sequence
  std::uint64_t withdrawn = 0;    ///< sequences stopped before their launch
  std::uint64_t waiting_ns = 0;   ///< from commitment to launch, of all sequences launched
  aggregation_statistics& operator+=(const aggregation_statistics& other) noexcept;
  /// Sequences per batch; 0 when there was none.
  [[nodiscard]] double mean() const noexcept {
    return launches == 0 ? 0.0 : double(submissions) / double(launches);
  }
};

namespace detail {

class collector;
struct batch;

/// A sequence on its way through a collector. Lives in the awaiting frame or in a future's state.
struct batch_member {
  enum class outcome : std::uint8_t { waiting, over, withdrawn };

  explicit batch_member(collector& where) noexcept : target(&where) {}
  batch_member(collector& where, operation_list&& recorded) noexcept
      : operations(std::move(recorded)), target(&where) {}

  operation_list operations;
  collector* target;
  promise_base* waiting = nullptr;                   // a coroutine to make ready, or
  void (*notify)(batch_member&) noexcept = nullptr;  // a future to fulfil
  std::exception_ptr error;                          // set before the hand-over
  std::atomic<bool> failed{false};                   // claimed by the first operation that fails
  outcome result = outcome::waiting;
  // Under the collector's lock:
  bool stopped = false;  // its token said stop, perhaps before it was committed
  batch* in = nullptr;   // where it gathers, as long as that one's generation is the same
  std::uint64_t generation = 0;
  std::uint64_t committed_ns = 0;  // when it began to wait, if it had to
};

/// Hands a recorded member over. False: withdrawn at once, nobody is told. True: it will be told,
/// or has been. @throws std::bad_alloc
[[nodiscard]] bool commit(batch_member& m);
/// Takes a member back that has not been launched. False: it has.
[[nodiscard]] bool withdraw(batch_member& m) noexcept;
/// The same for a stop token, on any thread, from before `commit` until after the hand-over: makes
/// its coroutine ready. The collector, which may have no other user by then, must be kept.
void cancel(batch_member& m) noexcept;
/// Keeps the collector of `m`, also when its aggregator and all work are gone, until it is let go.
void keep_collector(batch_member& m) noexcept;
void let_collector_go(batch_member& m) noexcept;

}  // namespace detail

/// Waits until a sequence is over. Returned by `sequence::completion`.
class [[nodiscard]] sequence_awaiter {
 public:
  using value_type = void;

  explicit sequence_awaiter(detail::batch_member& m) noexcept : m_member(&m) {}

  bool await_ready() const noexcept { return m_member->operations.empty(); }

  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const detail::source_mark& at = {}) {
    detail::promise_base& c = h.promise();
    m_member->waiting = &c;
    detail::mark_suspended(c, await_kind::event, m_member, &detach, at);
    bool waits = false;
    try {
      waits = detail::commit(*m_member);
    } catch (...) {
      go_on(c);
      throw;
    }
    if (!waits) go_on(c);
    return waits;
  }

  /// @throws device_error, operation_cancelled
  void await_resume() {
    if (!m_member->operations.empty()) finish();
  }

 private:
  void finish();
  static void go_on(detail::promise_base& c) noexcept {
    c.kind.store(await_kind::running, std::memory_order_relaxed);
  }
  static bool detach(detail::promise_base& c) noexcept {
    const void* on = c.on.load(std::memory_order_relaxed);
    return detail::withdraw(*static_cast<detail::batch_member*>(const_cast<void*>(on)));
  }

  detail::batch_member* m_member;
};

/// The same for a wait that a stop token may end.
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

  /// Any thread, see detail::stoppable.
  void cancel() noexcept { detail::cancel(*m_kept); }

 private:
  /// The stop callback is gone by now, be it because the wait is over or never came about.
  void end() noexcept {
    if (m_kept == nullptr) return;
    detail::batch_member& m = *std::exchange(m_kept, nullptr);
    m.stopped = false;
    detail::let_collector_go(m);
  }
  detail::batch_member* m_kept;
};

/// Operations of one task that an aggregator submits together with those of others.
///
/// Recording only keeps them, with copies of the kernels; nothing runs before the sequence is
/// *committed*, which awaiting it or asking for its future does. Then its operations run in order,
/// each seeing what the ones before it wrote, in no order with anything else: memory that they use
/// must be left alone and live until the wait is over. An empty sequence is over at once. After
/// the wait a sequence is empty and may be used again; one that is dropped uncommitted does
/// nothing.
///
/// Errors: what can be refused is refused while recording. A kernel that fails on the host backend
/// fails its own sequence only: the rest of that one is skipped, its waiter gets the
/// `device_error`. A lost device fails all.
///
/// For one task at a time. Not movable: waits refer to it.
class [[nodiscard]] sequence {
 public:
  sequence(const sequence&) = delete;
  sequence& operator=(const sequence&) = delete;

  /// As `stream::submit`. @throws usage_error on a negative extent, when groups ask for more
  /// scratch memory than the device has, or when the program holds no code of `k` for its backend
  template <kernel Kernel>
  void submit(const range& extent, const Kernel& k,
              group_shape shape = detail::default_shape<Kernel>()) {
    check_extent(extent, detail::kernel_entry_of<Kernel>, detail::most_extent<Kernel>);
    if (extent.size() != 0) add(detail::make_call(extent, k, shape));
  }

  /// As `stream::copy`; pinned memory only is copied without holding up the thread that launches.
  /// @throws usage_error when the sizes differ
  template <detail::writable To, detail::transferable From>
  requires std::same_as<std::ranges::range_value_t<To>, std::ranges::range_value_t<From>>
  void copy(To&& dst, const From& src) {
    constexpr std::size_t element = sizeof(std::ranges::range_value_t<To>);
    check_sizes(std::ranges::size(dst), std::ranges::size(src));
    copy_bytes(std::ranges::data(dst), std::ranges::data(src), std::ranges::size(src) * element);
  }
  void copy_bytes(void* dst, const void* src, std::size_t bytes);

  [[nodiscard]] bool empty() const noexcept { return m_member.operations.empty(); }

  /// `co_await s.completion()` commits the sequence and waits until it is over.
  sequence_awaiter completion() noexcept { return sequence_awaiter(m_member); }
  /// The same, until `stop` is requested: a sequence that has not been launched is taken back and
  /// the wait throws `operation_cancelled`; one that has been is waited for.
  [[nodiscard]] detail::stoppable<stoppable_sequence_awaiter> completion(std::stop_token stop) {
    return detail::stoppable<stoppable_sequence_awaiter>(std::move(stop), m_member);
  }
  /// So that `co_await a.submit(extent, k)` does both.
  sequence_awaiter operator co_await() && noexcept { return completion(); }

  /// Commits the sequence and leaves it empty. The future is safe to drop: the work goes on.
  /// Any thread. @throws std::bad_alloc, which leaves the sequence as it was
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

/// Turns many small submissions of many tasks into few launches: sequences of one *shape* (the same
/// kernel types, extents, group shapes and transfer sizes in the same order) that are committed
/// while the device is busy become one batch, in which each kernel is launched once over all their
/// argument blocks and each transfer is a piece of one copy. A sequence of another shape gathers
/// with its like. Kernels notice nothing, and results are bitwise those of separate launches.
///
/// A batch is launched when one of the aggregator's streams has fewer than `depth` at work, the
/// oldest first, so a sequence on an idle device goes at once and alone; or when it has `most`
/// members, on the stream with the least to do. So a sequence waits for others only while the
/// device works for them, whatever becomes of the tasks: none waits for a number to be complete.
/// Work of high priority gathers by itself, on streams of its own.
///
/// Launching is done by the task that commits or by one of the runtime's own, not under a lock that
/// others need to commit. A batch that is refused as a whole is launched sequence by sequence, so
/// that each task gets its own error and the others complete.
///
/// Thread-safe. May be destroyed while sequences are under way, but not while tasks still record:
/// those refer to it. Must not outlive its runtime.
class aggregator {
 public:
  /// @throws usage_error when a number is 0; device_error
  explicit aggregator(device& where, aggregation how = {});
  ~aggregator();
  aggregator(const aggregator&) = delete;
  aggregator& operator=(const aggregator&) = delete;

  /// An empty sequence.
  sequence begin(priority urgency = priority::normal);

  /// A sequence of one kernel: `co_await a.submit(extent, k)`, or `.get_future()`.
  /// @throws as `sequence::submit`
  template <kernel Kernel>
  sequence submit(const range& extent, const Kernel& k,
                  group_shape shape = detail::default_shape<Kernel>()) {
    return sequence(collector_of(priority::normal), extent, k, shape);
  }

  [[nodiscard]] aggregation_statistics statistics() const noexcept;

 private:
  [[nodiscard]] detail::collector& collector_of(priority urgency);

  device* m_device;
  aggregation m_how;
  // Made at first use and kept by the device until its work is over. Release/acquire publishes.
  std::atomic<detail::collector*> m_collectors[2] = {};
};

}  // namespace starling
