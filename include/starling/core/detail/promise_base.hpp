// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <coroutine>
#include <cstdint>
#include <new>
#include <source_location>
#include <string>
#include <type_traits>

#include <starling/core/detail/frame_pool.hpp>

namespace starling {

/// The kind of object that a suspended coroutine awaits, as the hang diagnosis prints it.
enum class await_kind : std::uint8_t {
  not_started,  ///< zero, so that zeroed memory has this kind
  running,      ///< or suspended by an awaiter that does not record its wait
  ready,
  child,
  future,
  join,
  channel,
  event,
  timer,
  custom,
  done
};

/// The order in which a worker takes ready work. Communication runs at `high`.
enum class priority : std::uint8_t { high, normal };

namespace detail {

class worker;
struct promise_base;

/// The source location of a call, as a default argument. std::source_location::current() would give
/// the same, but is an immediate function, which g++ 13 without optimisation rejects in the calls
/// that a co_await makes.
class call_location {
 public:
  constexpr call_location(const void* location = __builtin_source_location()) noexcept
      : m_location(location) {}
  operator std::source_location() const noexcept {
    return std::bit_cast<std::source_location>(m_location);
  }

 private:
  const void* m_location;  // the content of a std::source_location in libstdc++ and libc++
};

/// Target of a call_location for work with a name but no source location; has the layout of the
/// compiler's own record. Must exist until the program ends.
struct named_location {
  const char* file = "";
  const char* function;
  unsigned line = 0;
  unsigned column = 0;
};

/// Withdraws a suspended coroutine from the object that it awaits. True: the caller now owns its
/// resumption. False: another thread resumes it already.
using withdraw_fn = bool (*)(promise_base&) noexcept;

/// The first base of an awaited object that can describe itself in a hang report. With
/// await_kind::custom, `promise_base::on` points to it or is null. `describe` is called while no
/// task runs.
struct described_wait {
  std::string (*describe)(const described_wait&) = nullptr;
};

/// The part of a coroutine's promise that the scheduler uses. It is the first base of every
/// promise type of the runtime, so it directly follows the frame's two function pointers.
///
/// Plain fields are accessed by the current holder of the coroutine only: the thread that runs it,
/// or the queue or awaited object that it was handed to (the hand-over synchronises). The atomics
/// are written by the thread that suspends the coroutine and read by the hang diagnosis, which
/// tolerates stale values: every access is relaxed.
struct promise_base {
  promise_base* next = nullptr;  // link in an inbox or a ready list
  // Identifies the scheduler; if `pinned`, the only worker that runs the coroutine.
  worker* home = nullptr;
  bool pinned = false;   // resumes on `home` only
  bool spawned = false;  // a future shares the frame; else a parent coroutine awaits it
  bool posted = false;   // has no future: the runtime reports its error
  starling::priority priority = starling::priority::normal;
  std::atomic<await_kind> kind{await_kind::not_started};
  bool ended = false;           // parameters and locals are destroyed, the result may remain
  bool borrows : 1 = false;     // made by a lambda whose captures are outside the frame
  bool is_task : 1 = false;     // a state_base follows this base: see root_of
  bool of_entry : 1 = false;    // the coroutine of an entry method itself, not one that it awaits
  bool has_caller : 1 = false;  // of an entry method: a caller awaits its result
  // `on` points to the chare to which the coroutine belongs: the body of its `spawn`
  bool of_chare : 1 = false;
  // The runtime's end waits or has waited for one of its sleeps; guarded by the timers' lock.
  bool had_its_sleep : 1 = false;
  // Fills the byte, so that the compiler writes it without reading it. New flags take its bits.
  [[maybe_unused]] std::uint8_t unused : 2 = 0;
  std::uint8_t block_size = 0;   // of an ended coroutine: size of its block in granules of the pool
  std::source_location created;  // location that names the coroutine in reports
  std::atomic<std::source_location> location;  // location of the co_await
  // Time of the suspension, ns of the worker's coarse clock; 0: unknown.
  std::atomic<std::uint64_t> since{0};
  std::atomic<const void*> on{nullptr};  // the awaited object
  std::atomic<withdraw_fn> withdraw{nullptr};

  [[nodiscard]] std::coroutine_handle<> handle() noexcept {
    return std::coroutine_handle<promise_base>::from_promise(*this);
  }

  /// Sets where and in which order the coroutine runs.
  void assign(worker* to, bool is_pinned, starling::priority order) noexcept {
    home = to;
    pinned = is_pinned;
    priority = order;
  }

  /// Records that the coroutine is about to await a child.
  void await_child(const std::source_location& at) noexcept {
    kind.store(await_kind::child, std::memory_order_relaxed);
    location.store(at, std::memory_order_relaxed);
  }

  static void* operator new(std::size_t size) { return pool_allocate(block_kind::frame, size); }
  /// Called when the frame is destroyed. Keeps the block of an ended coroutine, because it holds
  /// the result, until `free_block`.
  static void operator delete(void* frame, std::size_t size) noexcept {
    auto& left = std::coroutine_handle<promise_base>::from_address(frame).promise();
    // All sizes beyond the pool's classes give the same number, as the pool treats them alike.
    left.block_size =
        std::uint8_t(std::min((size + pool_granule - 1) / pool_granule, pool_classes + 1));
    if (!left.ended) left.free_block();
  }
  /// Frees the block of a destroyed coroutine whose result is destroyed, too.
  void free_block() noexcept {
    // When the block is used again, the frame walk may read its next frame before the promise in
    // that frame is constructed.
    new (&kind) std::atomic<await_kind>(await_kind::not_started);
    pool_deallocate(block_kind::frame, handle().address(), block_size * pool_granule);
  }
};

// The members of a promise remain valid after the coroutine is destroyed: no destructor runs.
static_assert(std::is_trivially_destructible_v<promise_base>);

/// A promise type that derives from `promise_base`: the promise of a `starling::task`.
template <class Promise>
concept runtime_promise = std::is_base_of_v<promise_base, Promise>;

/// Ready coroutines, first in first out, linked through `promise_base::next`.
class ready_list {
 public:
  void push(promise_base& coroutine) noexcept {
    coroutine.next = nullptr;
    *m_tail = &coroutine;
    m_tail = &coroutine.next;
  }
  [[nodiscard]] promise_base* pop() noexcept {
    promise_base* first = m_head;
    if (first == nullptr) return nullptr;
    m_head = first->next;
    if (m_head == nullptr) m_tail = &m_head;
    return first;
  }
  [[nodiscard]] bool empty() const noexcept { return m_head == nullptr; }
  /// Counts the items, in time proportional to their number.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const promise_base* c = m_head; c != nullptr; c = c->next) ++n;
    return n;
  }

  ready_list() = default;
  ready_list(const ready_list&) = delete;
  ready_list& operator=(const ready_list&) = delete;

 private:
  promise_base* m_head = nullptr;
  promise_base** m_tail = &m_head;
};

}  // namespace detail
}  // namespace starling
