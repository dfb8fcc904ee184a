// SPDX-License-Identifier: Apache-2.0
//
// Further waits of the floor: a bounded channel and shared completions with a join. One thread
// only, like floor.hpp.
#pragma once

#include "floor.hpp"

namespace starling::bench::floor {

/// Channel of at most `capacity` ordered values from one sender to one receiver.
template <class T>
class channel {
 public:
  explicit channel(std::size_t capacity) : m_ring(capacity) {}

  struct sending {
    channel& target;
    T value;

    bool await_ready() {
      if (target.m_count == target.m_ring.size()) return false;
      target.put(std::move(value));
      return true;
    }
    template <class Waiter>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Waiter> waiter) {
      target.m_sender = waiter;
      target.m_late = this;
      return Waiter::next();
    }
    void await_resume() const noexcept {}
  };

  struct receiving {
    channel& source;

    bool await_ready() const noexcept { return source.m_count != 0; }
    template <class Waiter>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Waiter> waiter) const {
      source.m_receiver = waiter;
      return Waiter::next();
    }
    T await_resume() const { return source.get(); }
  };

  /// Sends a value; the await suspends while the channel is full.
  [[nodiscard]] sending send(T value) { return {*this, std::move(value)}; }
  /// Receives a value; the await suspends while the channel is empty.
  [[nodiscard]] receiving receive() { return {*this}; }

 private:
  void put(T value) {
    m_ring[m_tail] = std::move(value);
    if (++m_tail == m_ring.size()) m_tail = 0;
    ++m_count;
    if (m_receiver) queue.push(std::exchange(m_receiver, nullptr));
  }

  T get() {
    T value = std::move(m_ring[m_head]);
    if (++m_head == m_ring.size()) m_head = 0;
    --m_count;
    if (m_sender) {
      queue.push(std::exchange(m_sender, nullptr));
      put(std::move(m_late->value));
    }
    return value;
  }

  std::vector<T> m_ring;
  std::size_t m_head = 0;
  std::size_t m_tail = 0;
  std::size_t m_count = 0;
  std::coroutine_handle<> m_receiver{};
  std::coroutine_handle<> m_sender{};
  sending* m_late = nullptr;
};

/// A coroutine that waits for several completions; the last of them pushes it to the queue.
struct gate {
  std::coroutine_handle<> waiter{};
  std::uint32_t missing = 0;
};

struct gate_node {
  gate* waiting = nullptr;
  gate_node* next = nullptr;
};

/// A completion with one owner that many coroutines may await; a default-constructed one is
/// complete. The coroutine runs at once in its creator until it suspends.
class completion {
 public:
  struct promise_type {
    gate_node* waiting = nullptr;
    std::uint32_t owners = 2;
    bool ready = false;

    struct finish {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> frame) const noexcept {
        promise_type& self = frame.promise();
        self.ready = true;
        for (gate_node* node = self.waiting; node != nullptr; node = node->next) {
          if (--node->waiting->missing == 0) queue.push(node->waiting->waiter);
        }
        if (--self.owners == 0) frame.destroy();
        return next();
      }
      void await_resume() const noexcept {}
    };

    /// Returns to the creator, or to the code that resumed the coroutine.
    static std::coroutine_handle<> next() noexcept { return std::noop_coroutine(); }
    completion get_return_object() {
      return completion(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    finish final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
    static void* operator new(std::size_t bytes) { return frames.allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) { frames.release(block, bytes); }
  };

  completion() = default;
  completion(completion&& other) noexcept : m_frame(std::exchange(other.m_frame, nullptr)) {}
  completion& operator=(completion&& other) noexcept {
    std::swap(m_frame, other.m_frame);
    return *this;
  }
  ~completion() {
    if (m_frame && --m_frame.promise().owners == 0) m_frame.destroy();
  }

  [[nodiscard]] bool ready() const noexcept { return !m_frame || m_frame.promise().ready; }

  void attach(gate_node& node) const noexcept {
    node.next = std::exchange(m_frame.promise().waiting, &node);
  }

 private:
  explicit completion(std::coroutine_handle<promise_type> frame) noexcept : m_frame(frame) {}

  std::coroutine_handle<promise_type> m_frame{};
};

/// Awaits all of a fixed number of completions; resumes the coroutine once.
template <std::size_t Count>
class all_of {
 public:
  explicit all_of(std::array<const completion*, Count> inputs) : m_inputs(inputs) {}

  bool await_ready() const noexcept {
    for (const completion* input : m_inputs) {
      if (!input->ready()) return false;
    }
    return true;
  }
  template <class Waiter>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Waiter> waiter) noexcept {
    m_gate.waiter = waiter;
    for (std::size_t i = 0; i < Count; ++i) {
      if (m_inputs[i]->ready()) continue;
      m_nodes[i].waiting = &m_gate;
      ++m_gate.missing;
      m_inputs[i]->attach(m_nodes[i]);
    }
    return Waiter::next();
  }
  void await_resume() const noexcept {}

 private:
  std::array<const completion*, Count> m_inputs;
  std::array<gate_node, Count> m_nodes{};
  gate m_gate;
};

}  // namespace starling::bench::floor
