// SPDX-License-Identifier: Apache-2.0
//
// The floor: the least that hand-written C++20 coroutines need on one thread. Pooled frames and a
// last-in-first-out queue; no atomics, no errors in results, no cancellation, no second thread. The
// cost of a runtime above this floor is the price of its further features.
//
// Ownership: a frame counts its owners; the running computation is one of them. Not thread-safe. An
// exception that leaves a coroutine ends the program.
//
// Needs an optimising compiler: without optimisation, and under AddressSanitizer, a transfer from
// coroutine to coroutine is a call, and the stack grows with the number of tasks.
#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace starling::bench::floor {

/// Recycler of memory blocks in size classes of 32 bytes; larger blocks come from the heap.
class frame_pool {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t rank = class_of(bytes);
    if (rank >= classes) [[unlikely]]
      return ::operator new(bytes);
    if (m_free[rank] == nullptr) [[unlikely]]
      refill(rank);
    return std::exchange(m_free[rank], m_free[rank]->next);
  }

  void release(void* block, std::size_t bytes) noexcept {
    const std::size_t rank = class_of(bytes);
    if (rank >= classes) [[unlikely]]
      return ::operator delete(block);
    m_free[rank] = ::new (block) node{m_free[rank]};
  }

 private:
  struct node {
    node* next;
  };
  static constexpr std::size_t step = 32;
  static constexpr std::size_t classes = 33;  // up to 1 KiB
  static constexpr std::size_t slab_bytes = std::size_t{1} << 16U;

  static constexpr std::size_t class_of(std::size_t bytes) { return (bytes + step - 1) / step; }

  [[gnu::noinline]] void refill(std::size_t rank) {
    const std::size_t size = std::max<std::size_t>(rank, 1) * step;
    m_slabs.push_back(std::make_unique_for_overwrite<std::byte[]>(slab_bytes));
    std::byte* slab = m_slabs.back().get();
    for (std::size_t at = slab_bytes / size; at-- > 0;) {
      m_free[rank] = ::new (static_cast<void*>(slab + at * size)) node{m_free[rank]};
    }
  }

  std::array<node*, classes> m_free{};
  std::vector<std::unique_ptr<std::byte[]>> m_slabs;
};

inline frame_pool frames;

/// Stack of runnable coroutines: the newest runs first.
class run_queue {
 public:
  void push(std::coroutine_handle<> ready) { m_ready.push_back(ready); }

  /// Returns the next coroutine; if there is none, a coroutine that returns to `run`.
  [[nodiscard]] std::coroutine_handle<> pop() noexcept {
    if (m_ready.empty()) return std::noop_coroutine();
    const auto next = m_ready.back();
    m_ready.pop_back();
    return next;
  }

  void run() {
    while (!m_ready.empty()) pop().resume();
  }

 private:
  std::vector<std::coroutine_handle<>> m_ready;
};

inline run_queue queue;

/// How a coroutine starts: a `lazy` coroutine waits to be spawned or awaited, and transfers to the
/// queue when it suspends; an `eager` coroutine runs at once inside its caller and returns to it.
enum class start { lazy, eager };

template <class T>
struct result_of {
  T value{};
  void return_value(T given) { value = std::move(given); }
  T take() { return std::move(value); }
};

template <>
struct result_of<void> {
  void return_void() const noexcept {}
  void take() const noexcept {}
};

/// Promise of every coroutine: its state besides the result.
template <class T, start Start>
struct promise_type : result_of<T> {
  std::coroutine_handle<> waiter{};
  std::uint32_t owners = Start == start::lazy ? 1 : 2;
  bool ready = false;

  using handle = std::coroutine_handle<promise_type>;

  struct finish {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle frame) const noexcept {
      promise_type& self = frame.promise();
      self.ready = true;
      const auto next = self.waiter ? self.waiter : promise_type::next();
      if (--self.owners == 0) frame.destroy();
      return next;
    }
    void await_resume() const noexcept {}
  };

  /// Returns the coroutine that runs when this coroutine suspends.
  static std::coroutine_handle<> next() noexcept {
    if constexpr (Start == start::lazy) return queue.pop();
    return std::noop_coroutine();
  }

  handle get_return_object() noexcept { return handle::from_promise(*this); }
  auto initial_suspend() const noexcept {
    if constexpr (Start == start::lazy) return std::suspend_always{};
    if constexpr (Start == start::eager) return std::suspend_never{};
  }
  finish final_suspend() const noexcept { return {}; }
  void unhandled_exception() const noexcept { std::terminate(); }

  static void* operator new(std::size_t bytes) { return frames.allocate(bytes); }
  static void operator delete(void* block, std::size_t bytes) { frames.release(block, bytes); }
};

/// Owner of a frame, shared with the computation in it. Awaiting it takes the result, once.
template <class T, start Start>
class owner {
 public:
  using promise_type = floor::promise_type<T, Start>;
  using handle = typename promise_type::handle;

  owner(handle frame) noexcept : m_frame(frame) {}  // NOLINT: coroutines return the handle
  owner(owner&& other) noexcept : m_frame(std::exchange(other.m_frame, nullptr)) {}
  owner& operator=(owner&& other) noexcept {
    std::swap(m_frame, other.m_frame);
    return *this;
  }
  ~owner() {
    if (m_frame && --m_frame.promise().owners == 0) m_frame.destroy();
  }

  [[nodiscard]] bool ready() const noexcept { return m_frame.promise().ready; }
  [[nodiscard]] T get() const { return m_frame.promise().take(); }

  bool await_ready() const noexcept { return ready(); }
  template <class Waiter>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Waiter> waiter) const noexcept {
    m_frame.promise().waiter = waiter;
    return Waiter::next();
  }
  T await_resume() const { return get(); }

 protected:
  handle m_frame;
};

/// A task that has not started. Awaiting it runs it as a child, with direct transfers.
template <class T>
class [[nodiscard]] task : public owner<T, start::lazy> {
 public:
  using owner<T, start::lazy>::owner;

  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) const noexcept {
    ++this->m_frame.promise().owners;
    this->m_frame.promise().waiter = parent;
    return this->m_frame;
  }

  void enqueue() const {
    ++this->m_frame.promise().owners;
    queue.push(this->m_frame);
  }
};

/// The results of started tasks.
template <class T>
using future = owner<T, start::lazy>;
template <class T>
using continuation = owner<T, start::eager>;

template <class T>
[[nodiscard]] future<T> spawn(task<T> work) {
  work.enqueue();
  return work;
}

/// Starts a task without a future.
inline void post(task<void> work) { work.enqueue(); }

/// Runs until `work` is done. @throws std::logic_error if all coroutines wait before that
template <class T>
T run(task<T> work) {
  work.enqueue();
  queue.run();
  if (!work.ready()) throw std::logic_error("every coroutine waits");
  return work.get();
}

/// Returns the continuation `f` of `input`; it runs at once if the input is ready.
template <class Input, class Function>
auto then(Input input, Function f) -> continuation<decltype(f(input.await_resume()))> {
  co_return f(co_await std::move(input));
}

/// Awaits all inputs; returns their results in order.
template <class Future, class Value>
task<std::vector<Value>> when_all(std::vector<Future> inputs) {
  std::vector<Value> values;
  values.reserve(inputs.size());
  for (Future& input : inputs) values.push_back(co_await std::move(input));
  co_return values;
}

/// A value that is provided later, in a pooled cell that both ends own.
template <class T>
struct cell {
  T value{};
  std::coroutine_handle<> waiter{};
  std::uint32_t owners = 1;
  bool ready = false;

  static void* operator new(std::size_t bytes) { return frames.allocate(bytes); }
  static void operator delete(void* block, std::size_t bytes) { frames.release(block, bytes); }
};

/// One end of a cell: `set` provides the value, awaiting receives it.
template <class T>
class cell_end {
 public:
  explicit cell_end(cell<T>* shared) noexcept : m_cell(shared) {}
  cell_end(cell_end&& other) noexcept : m_cell(std::exchange(other.m_cell, nullptr)) {}
  cell_end& operator=(cell_end&& other) noexcept {
    std::swap(m_cell, other.m_cell);
    return *this;
  }
  ~cell_end() {
    if (m_cell != nullptr && --m_cell->owners == 0) delete m_cell;
  }

 protected:
  cell<T>* m_cell;
};

template <class T>
class cell_future : public cell_end<T> {
 public:
  using cell_end<T>::cell_end;

  bool await_ready() const noexcept { return this->m_cell->ready; }
  template <class Waiter>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Waiter> waiter) const noexcept {
    this->m_cell->waiter = waiter;
    return Waiter::next();
  }
  T await_resume() const { return std::move(this->m_cell->value); }
};

template <class T>
class cell_promise : public cell_end<T> {
 public:
  cell_promise() : cell_end<T>(new cell<T>) {}

  [[nodiscard]] cell_future<T> get_future() const {
    ++this->m_cell->owners;
    return cell_future<T>(this->m_cell);
  }

  void set(T value) const {
    this->m_cell->value = std::move(value);
    this->m_cell->ready = true;
    if (this->m_cell->waiter) queue.push(this->m_cell->waiter);
  }
};

}  // namespace starling::bench::floor
