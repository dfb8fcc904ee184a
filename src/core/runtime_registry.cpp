// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <starling/core/detail/frame_pool.hpp>

#include "diagnosis.hpp"
#include "scheduler_impl.hpp"
#include "signal_printer.hpp"

namespace starling::detail {
namespace {

/// Orders the installation and removal of the handler; never held while printing.
std::mutex& lifecycle() {
  static std::mutex m;
  return m;
}

signal_printer& printer() {
  // Never destroyed: runtimes may exist when the program ends.
  static signal_printer* const p = new signal_printer;
  return *p;
}

}  // namespace

runtime_registry& runtime_registry::instance() noexcept {
  static runtime_registry* const registry = new runtime_registry;
  return *registry;
}

runtime_registry::runtime_registry() {
  static_cast<void>(::pthread_atfork([] { instance().before_fork(); },
                                     [] { instance().after_fork(); },
                                     [] { instance().begin_child(); }));
}

// --- fork

/// Takes the locks that the child of the fork uses: a thread of the parent that held one would hold
/// it for ever in the child.
void runtime_registry::before_fork() noexcept {
  lifecycle().lock();
  m_mutex.lock();
  lock_pools();
}

void runtime_registry::after_fork() noexcept {
  unlock_pools();
  m_mutex.unlock();
  lifecycle().unlock();
}

void runtime_registry::begin_child() noexcept {
  printer().leave_in_child();
  if (!m_runtimes.empty()) s_is_forked_copy.store(true, std::memory_order_relaxed);
  for (scheduler_impl* s : m_runtimes) s->stop_in_child();
  after_fork();
}

void refuse_forked_copy() {
  if (!runtime_registry::is_forked_copy()) return;
  throw usage_error(
      "this process was made by fork while its parent had a runtime, whose threads are not here: "
      "make runtimes after the fork, or call exec or _exit in the child");
}

void end_forked_worker() noexcept {
  if (!runtime_registry::is_forked_copy()) return;
  std::fputs(
      "starling: a task called fork and the child went on to the task's next suspension: it must "
      "call exec or _exit before\n",
      stderr);
  std::_Exit(EXIT_FAILURE);
}

// --- the list

void runtime_registry::add(scheduler_impl& s) {
  std::lock_guard order(lifecycle());
  if (m_count.load() == 0) printer().start();
  std::lock_guard lock(m_mutex);
  m_runtimes.push_back(&s);
  m_left_behind.reserve(m_left_behind.size() + m_runtimes.size());
  m_count.store(m_runtimes.size());
}

void runtime_registry::remove(scheduler_impl& s, bool leaves_it_behind) noexcept {
  std::lock_guard order(lifecycle());
  if (m_count.load() == 1) printer().stop();  // prints for earlier signals, with `s` listed
  {
    std::lock_guard lock(m_mutex);
    std::erase(m_runtimes, &s);
    m_count.store(m_runtimes.size());
    if (leaves_it_behind) m_left_behind.push_back(&s);
  }
  became_quiescent(s);
}

void runtime_registry::let_walk_end() noexcept {
  // The walk raises the flag and then reads the board; the worker leaves the board and then reads
  // the flag. So the walk finds the worker awake, or the worker sees the flag.
  if (instance().m_walking.load(std::memory_order_seq_cst)) std::lock_guard(instance().m_mutex);
}

bool runtime_registry::all_quiescent() const noexcept {
  const auto wakes = [this] {
    std::uint64_t sum = 0;
    for (const scheduler_impl* s : m_runtimes) sum += s->wakes();
    return sum;
  };
  const std::uint64_t before = wakes();
  return std::ranges::all_of(m_runtimes, [](auto* s) { return s->is_quiescent(); }) &&
         wakes() == before;
}

void runtime_registry::became_quiescent(const scheduler_impl& s) noexcept {
  if (m_count.load(std::memory_order_relaxed) < 2 && s.owns(worker::current())) return;
  std::lock_guard lock(m_mutex);
  for (scheduler_impl* other : m_runtimes)
    if (other != &s && other->take_suspicion()) other->wake_one();
}

void runtime_registry::print_awaiters() noexcept {
  std::lock_guard lock(m_mutex);
  for (const scheduler_impl* s : m_runtimes) try {
      const std::string list = s->describe_awaiters();
      std::fprintf(stderr, "starling: suspended coroutines:\n%s%s",
                   list.empty() ? "  none\n" : list.c_str(), s->describe_waiting_errors().c_str());
    } catch (const std::bad_alloc&) {
      std::fputs("starling: no memory for the list of suspended coroutines\n", stderr);
    }
}

}  // namespace starling::detail
