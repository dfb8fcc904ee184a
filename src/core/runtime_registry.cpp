// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <thread>

#include "diagnosis.hpp"
#include "scheduler_impl.hpp"

namespace starling::detail {
namespace {

/// The signal handler may only write to a pipe; a thread, asleep in read, does the printing.
class signal_printer {
 public:
  void start() noexcept {
    struct sigaction current {};
    if (sigaction(SIGQUIT, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
    // The pipe stays for ever: a handler may still be under way when the last runtime ends.
    if (pipe_ends[1] < 0 && pipe(pipe_ends) != 0) return;
    try {
      m_thread = std::thread([] { loop(); });
    } catch (const std::system_error&) {
      return;  // no thread, no list on SIGQUIT
    }
    struct sigaction ours {};
    ours.sa_handler = &on_signal;
    ours.sa_flags = SA_RESTART;
    sigaction(SIGQUIT, &ours, nullptr);
  }

  void stop() noexcept {
    if (!m_thread.joinable()) return;
    struct sigaction current {};
    if (sigaction(SIGQUIT, nullptr, &current) == 0 && current.sa_handler == &on_signal)
      std::signal(SIGQUIT, SIG_DFL);
    request('s');
    m_thread.join();
  }

 private:
  static void request(char what) noexcept {
    [[maybe_unused]] const ssize_t n = write(pipe_ends[1], &what, 1);
  }
  static void on_signal(int) {
    const int saved = errno;
    request('p');
    errno = saved;
  }
  static void loop() {
    char what = 0;
    while (read(pipe_ends[0], &what, 1) == 1 && what == 'p')
      runtime_registry::instance().print_awaiters();
  }

  inline static int pipe_ends[2] = {-1, -1};
  std::thread m_thread;
};

/// Orders the installation and removal of the handler; never held while printing.
std::mutex& lifecycle() {
  static std::mutex m;
  return m;
}

signal_printer& printer() {
  static signal_printer* const p = new signal_printer;  // the program may end with runtimes alive
  return *p;
}

}  // namespace

runtime_registry& runtime_registry::instance() noexcept {
  static runtime_registry* const registry = new runtime_registry;
  return *registry;
}

void runtime_registry::add(scheduler_impl& s) {
  std::lock_guard order(lifecycle());
  if (m_count.load() == 0) printer().start();
  std::lock_guard lock(m_mutex);
  m_runtimes.push_back(&s);
  m_count.store(m_runtimes.size());
}

void runtime_registry::remove(scheduler_impl& s) noexcept {
  std::lock_guard order(lifecycle());
  if (m_count.load() == 1) printer().stop();  // answers earlier signals, for which `s` is listed
  {
    std::lock_guard lock(m_mutex);
    std::erase(m_runtimes, &s);
    m_count.store(m_runtimes.size());
  }
  came_to_rest(s);
}

runtime_registry::walk::walk() noexcept {
  instance().m_mutex.lock();
  instance().m_walking.store(true, std::memory_order_seq_cst);
}

runtime_registry::walk::~walk() {
  instance().m_walking.store(false, std::memory_order_seq_cst);
  instance().m_mutex.unlock();
}

void runtime_registry::let_walk_end() noexcept {
  // The walk raises the flag and then finds the worker on the idle board, or the worker, which has
  // left the board, sees the flag.
  if (instance().m_walking.load(std::memory_order_seq_cst)) std::lock_guard(instance().m_mutex);
}

bool runtime_registry::all_quiescent() const noexcept {
  const auto wakes = [this] {
    std::uint64_t sum = 0;
    for (const scheduler_impl* s : m_runtimes) sum += s->wakes();
    return sum;
  };
  const std::uint64_t before = wakes();
  return std::all_of(m_runtimes.begin(), m_runtimes.end(),
                     [](const scheduler_impl* s) { return s->is_quiescent(); }) &&
         wakes() == before;
}

void runtime_registry::came_to_rest(const scheduler_impl& s) noexcept {
  if (m_count.load(std::memory_order_relaxed) < 2 && s.owns(worker::current())) return;
  std::lock_guard lock(m_mutex);
  for (scheduler_impl* other : m_runtimes)
    if (other != &s && other->take_suspicion()) other->wake_one();
}

void runtime_registry::print_awaiters() noexcept {
  std::lock_guard lock(m_mutex);
  for (const scheduler_impl* s : m_runtimes) try {
      const std::string list = s->describe_awaiters();
      std::fprintf(stderr, "starling: suspended coroutines:\n%s",
                   list.empty() ? "  none\n" : list.c_str());
    } catch (const std::bad_alloc&) {
      std::fputs("starling: no memory for the list of suspended coroutines\n", stderr);
    }
}

}  // namespace starling::detail
