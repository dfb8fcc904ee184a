// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace by_hand {

/// Memory that a process shares with the processes that it forks.
template <class T>
class shared_memory {
 public:
  shared_memory() {
    void* const p =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("no memory that processes can share");
    m_value = new (p) T;
  }
  ~shared_memory() { munmap(m_value, sizeof(T)); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  T& operator*() const { return *m_value; }
  T* operator->() const { return m_value; }

 private:
  T* m_value;
};

/// A reusable barrier of processes. If a process ends without reaching it, `in_processes` ends the
/// remaining processes.
class meeting {
 public:
  void of(int size) {
    // The last process that arrives begins the next turn. Acquire and release: earlier writes of
    // every process are visible to all processes after the barrier.
    const unsigned turn = m_turn.load(std::memory_order_acquire);
    if (m_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      m_arrived.store(0, std::memory_order_relaxed);
      m_turn.fetch_add(1, std::memory_order_release);
      return;
    }
    while (m_turn.load(std::memory_order_acquire) == turn) sched_yield();
  }

 private:
  std::atomic<int> m_arrived = 0;    // processes in this turn
  std::atomic<unsigned> m_turn = 0;  // completed turns
};

/// A process has failed: it did not end with 0.
struct process_failed : std::runtime_error {
  process_failed(int number, int with)
      : runtime_error("process " + std::to_string(number) + " ended with " + std::to_string(with)),
        code(with) {}
  int code;  ///< exit code, or 128 plus the number of the signal
};

namespace detail {

inline int exit_code_of_process(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Work>
[[noreturn]] void be_process(int number, pid_t parent, Work& work) {
  int code = 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a process alone would wait for ever
  try {
    if (getppid() == parent) code = work(number);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "process %d: %s\n", number, e.what());
  }
  std::fflush(nullptr);
  _exit(code);  // without the parent's exit handlers
}

}  // namespace detail

/// Calls work(number), which returns an exit code, in `count` forked processes and waits for them.
/// The first failure ends the remaining processes. Call it before using libraries that do not
/// survive a fork, as CUDA. @throws process_failed
template <class Work>
void in_processes(int count, Work work) {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  std::vector<pid_t> running;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) detail::be_process(i, parent, work);
    if (child < 0) break;
    running.push_back(child);
  }
  int failed = int(running.size()) < count ? int(running.size()) : -1, code = 1;
  const auto end_all = [&] {
    for (const pid_t p : running)
      if (p > 0) kill(p, SIGKILL);
  };
  if (failed >= 0) end_all();
  for (std::size_t left = running.size(); left > 0;) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) break;
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (running[i] != ended) continue;
      running[i] = 0;
      --left;
      if (detail::exit_code_of_process(status) == 0 || failed >= 0) continue;
      failed = int(i);
      code = detail::exit_code_of_process(status);
      end_all();
    }
  }
  if (failed >= 0) throw process_failed(failed, code);
}

}  // namespace by_hand
