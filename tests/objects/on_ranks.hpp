// SPDX-License-Identifier: Apache-2.0
// Runs a test of chares on any number of ranks.
#pragma once

#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster.hpp"

namespace starling_test {

/// A reference that is valid on all ranks, as they are threads of one process.
template <class T>
struct in_process {
  T* it;
  operator T&() const noexcept { return *it; }  // NOLINT: converts implicitly, like a reference
};

/// The ranks of a cluster except the first, each a thread in `run`, and the network of all ranks.
class other_ranks {
 public:
  explicit other_ranks(const cluster& all) {
    if (all.ranks == 1) return;
    m_network.emplace(all.network, all.ranks);
    for (int r = 1; r < all.ranks; ++r) m_threads.emplace_back([this, all, r] { serve(all, r); });
    try {
      m_connection = m_network->connect(0);
    } catch (const starling::backend_unavailable& e) {
      m_missing = e.what();
    }
  }
  /// Waits until all of these ranks have ended; the first rank must have ended its run before.
  ~other_ranks() {
    for (std::thread& t : m_threads) t.join();
  }
  other_ranks(const other_ranks&) = delete;
  other_ranks& operator=(const other_ranks&) = delete;

  /// Returns the transport of the first rank; null: it is the only rank.
  [[nodiscard]] starling::transport* connection() const noexcept { return m_connection.get(); }
  /// Returns why the network is unavailable; empty: it is available.
  [[nodiscard]] const std::string& missing() const noexcept { return m_missing; }

 private:
  static starling::task<int> nothing() { co_return 0; }
  void serve(const cluster& all, int r) {
    try {
      const auto connection = m_network->connect(r);
      starling::runtime rt(all.options());
      static_cast<void>(starling::run(rt, *connection, nothing()));
    } catch (const starling::backend_unavailable&) {  // the first rank reports the reason
    } catch (const std::exception& e) {
      ADD_FAILURE() << "rank " << r << ": " << e.what();
    }
  }

  std::optional<thread_network> m_network;
  std::vector<std::thread> m_threads;
  std::unique_ptr<starling::transport> m_connection;
  std::string m_missing;
};

/// The run of all ranks, which continues until the test has ended or an error ends the run.
class held_run {
 public:
  /// Returns the task of rank 0.
  static starling::task<int> until_the_end(std::shared_ptr<held_run> run, starling::runtime& rt) {
    run->hold(rt);
    co_await run->m_end.get_future();
    co_return 0;
  }
  /// Ends the run. Called by the test's thread.
  void end() {
    m_end.set_value();
    work();
  }
  /// Notes the end of the run. Called by the thread that has returned from `run`.
  void close(std::exception_ptr error) {
    const std::lock_guard lock(m_mutex);
    m_is_closed = true;
    m_error = std::move(error);
    m_held.reset();
    m_changed.notify_all();
  }

  /// Lets the runtime detect a hang from now on, as the test awaits a result.
  void work() {
    const std::lock_guard lock(m_mutex);
    m_held.reset();
  }
  /// Suspends the detection of hangs until `work`, as the test's thread may send messages at any
  /// time.
  void hold(starling::runtime& rt) {
    const std::lock_guard lock(m_mutex);
    if (!m_is_closed) m_held.emplace(rt.hold_external_work());
    m_has_begun = true;
    m_changed.notify_all();
  }

  void wait_until_begun() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_has_begun || m_is_closed; });
  }
  void wait_until_closed() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_is_closed; });
  }
  [[nodiscard]] bool is_closed() {
    const std::lock_guard lock(m_mutex);
    return m_is_closed;
  }
  /// Returns the error that has ended the run; null at a second call.
  [[nodiscard]] std::exception_ptr take_error() {
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_error, nullptr);
  }

 private:
  starling::promise<> m_end;
  std::mutex m_mutex;
  std::condition_variable m_changed;
  bool m_has_begun = false;
  bool m_is_closed = false;
  std::optional<starling::external_work> m_held;
  std::exception_ptr m_error;
};

/// The runtime of the first rank, for the test's thread: that thread creates arrays, sends messages
/// and waits as on a single rank, while another thread executes `run`. After an error has ended the
/// run, the runtime is indeed that of a single rank.
class first_rank : private other_ranks, public starling::runtime {
 public:
  explicit first_rank(const cluster& all) : other_ranks(all), runtime(all.options()) {
    if (connection() == nullptr) return;
    m_thread = std::thread([this] { lead(); });
    m_run->wait_until_begun();
  }
  ~first_rank() {
    if (!m_thread.joinable()) return;
    m_run->end();
    m_thread.join();
    if (const cluster::end e{-1, m_run->take_error()}; e.error)
      ADD_FAILURE() << "the run has ended" << cluster::text_of(e);
  }
  using other_ranks::missing;

  /// Like `runtime::sync_wait`; an error that ends the run is thrown when all ranks have ended it.
  template <class Awaitable>
  typename Awaitable::value_type sync_wait(Awaitable awaited) {
    using T = typename Awaitable::value_type;
    if (connection() == nullptr) return runtime::sync_wait(std::move(awaited));
    if (m_run->is_closed()) {
      throw_error_of_run();
      return runtime::sync_wait(std::move(awaited));
    }
    auto answer = std::make_shared<std::promise<T>>();
    std::future<T> result = answer->get_future();
    try {
      runtime::sync_wait(during(m_run, *this, std::move(awaited), std::move(answer)));
    } catch (...) {  // error of the run; that of `awaited` is in the result
      m_run->wait_until_closed();
      throw_error_of_run();
      throw;
    }
    return result.get();
  }
  void wait_idle() {
    if (connection() == nullptr || m_run->is_closed()) return runtime::wait_idle();
    sync_wait([]() -> starling::task<> { co_await starling::quiescence(); }());
  }

 private:
  void lead() {
    std::exception_ptr error;
    try {
      const int status = starling::run(*this, *connection(), held_run::until_the_end(m_run, *this));
      if (status != 0) throw starling::run_exited(status);
    } catch (...) {
      error = std::current_exception();
    }
    m_run->close(error);
  }
  void throw_error_of_run() {
    if (const std::exception_ptr error = m_run->take_error()) std::rethrow_exception(error);
  }
  /// Shares ownership of `run`, as this task may last until the runtime ends.
  template <class Awaitable, class T>
  static starling::task<> during(std::shared_ptr<held_run> run, starling::runtime& rt,
                                 Awaitable awaited, std::shared_ptr<std::promise<T>> answer) {
    run->work();
    try {
      Awaitable local = std::move(awaited);
      if constexpr (std::is_void_v<T>) {
        co_await std::move(local);
        answer->set_value();
      } else {
        answer->set_value(co_await std::move(local));
      }
    } catch (...) {
      answer->set_exception(std::current_exception());
    }
    run->hold(rt);
  }

  std::shared_ptr<held_run> m_run = std::make_shared<held_run>();
  std::thread m_thread;
};

/// Runs each test on one rank, with one, two and four workers, and on several ranks.
class on_ranks : public testing::TestWithParam<cluster> {
 protected:
  void SetUp() override {
    if (!rt.missing().empty()) GTEST_SKIP() << rt.missing();
  }
  first_rank rt{GetParam()};
};

inline const auto one_rank = testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4});
inline const auto some_ranks = testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{1, 4},
                                               cluster{2, 2}, cluster{3, 1}, over_ucx({2, 1}));
inline std::string ranks_name(const testing::TestParamInfo<cluster>& info) {
  if (info.param.ranks > 1) return cluster_name(info);
  return worker_count_name(testing::TestParamInfo<unsigned>(info.param.workers, info.index));
}

}  // namespace starling_test

template <class T>
inline constexpr bool starling::travels_as_bytes<starling_test::in_process<T>> = true;
