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

/// What a suspended coroutine waits for, as the hang diagnosis prints it.
enum class await_kind : std::uint8_t {
  not_started,  ///< zero, so that fresh memory says so too
  running,      ///< or suspended by an awaiter of another library
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

/// Order in which a worker takes ready work. Communication runs at `high`.
enum class priority : std::uint8_t { high, normal };

namespace detail {

class worker;
struct promise_base;

/// The place of a call, as a default argument: what std::source_location::current() gives. That is
/// an immediate function, which g++ 13 rejects without optimisation in the calls that a co_await
/// makes.
class source_mark {
 public:
  constexpr source_mark(const void* place = __builtin_source_location()) noexcept
      : m_place(place) {}
  operator std::source_location() const noexcept {
    return std::bit_cast<std::source_location>(m_place);
  }

 private:
  const void* m_place;  // what a std::source_location holds in libstdc++ and libc++
};

/// What a source_mark points to, for what has a name but no place in the source: laid out as a
/// compiler's own. Must live as long as the program.
struct made_up_place {
  const char* file = "";
  const char* function;
  unsigned line = 0;
  unsigned column = 0;
};

/// Takes a suspended coroutine back from what it awaits. True: the caller now owns its resumption.
/// False: somebody else is resuming it already.
using detach_fn = bool (*)(promise_base&) noexcept;

/// The beginning of an awaited object that can say what it is: what `on` points to, if anything,
/// for await_kind::custom. Called while nothing runs.
struct described_wait {
  std::string (*describe)(const described_wait&) = nullptr;
};

/// The part of a coroutine's promise that the scheduler knows. It is the first base of every
/// promise type of the runtime, so it lies right behind the frame's two function pointers.
///
/// Plain fields belong to whoever holds the coroutine: the thread that runs it, or the queue or
/// awaited object it was handed to (the hand-over synchronises). The atomics are written by the
/// thread that suspends the coroutine and read by the hang diagnosis, which tolerates stale values:
/// every access is relaxed.
struct promise_base {
  promise_base* next = nullptr;  // link of the inbox, lane or ready list that holds it
  worker* home = nullptr;        // leads to the scheduler; the only place it runs when pinned
  bool pinned = false;           // resumes on `home` only
  bool spawned = false;          // a future shares the frame; else a parent coroutine awaits it
  bool posted = false;           // nobody will see its error but the runtime
  priority urgency = priority::normal;
  std::atomic<await_kind> kind{await_kind::not_started};
  bool ended = false;              // parameters and locals are destroyed, the result may lie here
  bool borrows : 1 = false;        // a lambda with captures, which lie outside the frame
  bool is_task : 1 = false;        // a state_base lies behind this: see root_of
  bool had_its_sleep : 1 = false;  // since its runtime began to end; guarded by the timers' lock
  std::uint8_t block_size = 0;     // of an ended coroutine, in granules of the pool
  std::source_location created;    // names the coroutine
  std::atomic<std::source_location> where;
  std::atomic<std::uint64_t> since{0};   // coarse clock of the worker, ns
  std::atomic<const void*> on{nullptr};  // the awaited object
  std::atomic<detach_fn> detach{nullptr};

  [[nodiscard]] std::coroutine_handle<> handle() noexcept {
    return std::coroutine_handle<promise_base>::from_promise(*this);
  }

  /// Notes that the coroutine is about to wait for a child of its own.
  void await_child(const std::source_location& at) noexcept {
    kind.store(await_kind::child, std::memory_order_relaxed);
    where.store(at, std::memory_order_relaxed);
  }

  static void* operator new(std::size_t size) { return pool_allocate(block_kind::frame, size); }
  /// Destroying an ended coroutine leaves its block, where the result lies, to `free_block`.
  static void operator delete(void* frame, std::size_t size) noexcept {
    auto& left = std::coroutine_handle<promise_base>::from_address(frame).promise();
    left.block_size = granules(size);
    if (!left.ended) left.free_block();
  }
  /// Of a destroyed coroutine, whose result is destroyed, too.
  void free_block() noexcept {
    // The frame walk may see the block's next frame before that one's promise is constructed.
    new (&kind) std::atomic<await_kind>(await_kind::not_started);
    pool_deallocate(block_kind::frame, handle().address(), block_size * pool_granule);
  }

 private:
  /// For the pool all sizes beyond its classes are one.
  [[nodiscard]] static std::uint8_t granules(std::size_t size) noexcept {
    return std::uint8_t(std::min((size + pool_granule - 1) / pool_granule, pool_classes + 1));
  }
};

// The members of a promise are still there after its coroutine's end: nothing ends their lifetime.
static_assert(std::is_trivially_destructible_v<promise_base>);

/// A coroutine's promise that derives from `promise_base`: one of `starling::task`.
template <class Promise>
concept runtime_promise = std::is_base_of_v<promise_base, Promise>;

/// Ready coroutines in the order found, linked through `promise_base::next`.
class ready_list {
 public:
  void push(promise_base& coroutine) noexcept {
    coroutine.next = nullptr;
    *m_tail = &coroutine;
    m_tail = &coroutine.next;
    ++m_size;
  }
  [[nodiscard]] promise_base* pop() noexcept {
    promise_base* first = m_head;
    if (first == nullptr) return nullptr;
    m_head = first->next;
    if (m_head == nullptr) m_tail = &m_head;
    --m_size;
    return first;
  }
  [[nodiscard]] bool empty() const noexcept { return m_head == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return m_size; }

  ready_list() = default;
  ready_list(const ready_list&) = delete;
  ready_list& operator=(const ready_list&) = delete;

 private:
  promise_base* m_head = nullptr;
  promise_base** m_tail = &m_head;
  std::size_t m_size = 0;
};

}  // namespace detail
}  // namespace starling
