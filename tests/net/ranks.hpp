// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <starling/net/loopback.hpp>
#include <starling/net/transport.hpp>

namespace starling_test {

/// The shared state by which threads that act as ranks exchange their addresses.
class thread_group {
 public:
  explicit thread_group(int size) : m_values(std::size_t(size)) {}

  std::vector<std::string> all_gather(int rank, const std::string& mine) {
    std::unique_lock lock(m_mutex);
    m_values[std::size_t(rank)] = mine;
    const int round = m_round;
    if (++m_come == int(m_values.size())) {
      m_come = 0;
      ++m_round;
      m_result = m_values;
      m_all.notify_all();
    }
    m_all.wait(lock, [&] { return m_round != round; });
    return m_result;  // the next round ends after all have read this one
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_all;
  std::vector<std::string> m_values, m_result;
  int m_come = 0, m_round = 0;
};

class thread_bootstrap final : public starling::bootstrap {
 public:
  thread_bootstrap(thread_group& group, int rank, int size)
      : m_group(group), m_rank(rank), m_size(size) {}
  int rank() const noexcept override { return m_rank; }
  int size() const noexcept override { return m_size; }
  int local_rank() const noexcept override { return m_rank; }
  int local_size() const noexcept override { return m_size; }
  const char* name() const noexcept override { return "threads"; }
  std::vector<std::string> all_gather(const std::string& mine) override {
    return m_group.all_gather(m_rank, mine);
  }
  void abort(int, const std::string&) noexcept override {}

 private:
  thread_group& m_group;
  int m_rank, m_size;
};

/// The network of one process whose threads act as ranks. It must outlive their transports.
class thread_network {
 public:
  thread_network(starling::transport_kind kind, int size,
                 const starling::transport::options& options = {})
      : m_kind(kind), m_options(options), m_group(size), m_loopback(size, options) {
    for (int rank = 0; rank < size; ++rank) m_ranks.emplace_back(m_group, rank, size);
  }
  /// Collective: each rank calls it, on its own thread. @throws backend_unavailable
  [[nodiscard]] std::unique_ptr<starling::transport> connect(int rank) {
    if (m_kind == starling::transport_kind::loopback) return m_loopback.connect(rank);
    return starling::make_transport(m_ranks[std::size_t(rank)], m_kind, m_options);
  }

 private:
  starling::transport_kind m_kind;
  starling::transport::options m_options;
  thread_group m_group;
  starling::loopback_network m_loopback;
  std::deque<thread_bootstrap> m_ranks;
};

/// Runs `body` once for each rank, on its own thread.
inline void run_ranks(starling::transport_kind kind, int size,
                      const std::function<void(starling::transport&)>& body,
                      const starling::transport::options& options = {}) {
  thread_network network(kind, size, options);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(*network.connect(rank));
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
      }
    });
  for (std::thread& t : threads) t.join();
}

/// Makes progress until `is_over`.
template <class Condition>
void drive(starling::transport& t, Condition is_over) {
  while (!is_over())
    if (!t.progress()) std::this_thread::yield();
}

}  // namespace starling_test
