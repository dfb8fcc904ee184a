// SPDX-License-Identifier: Apache-2.0
// One test, however many ranks its chares are spread over.
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

/// Refers to something that means the same on all ranks, as they are threads of one process.
template <class T>
struct in_process {
  T* it;
  operator T&() const noexcept { return *it; }  // NOLINT: as a reference would be given
};

/// The ranks of a cluster but the first, each a thread in `run`, and the network of all.
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
  /// When the first has parted from them.
  ~other_ranks() {
    for (std::thread& t : m_threads) t.join();
  }
  other_ranks(const other_ranks&) = delete;
  other_ranks& operator=(const other_ranks&) = delete;

  /// What connects the first with them; null: there are none.
  [[nodiscard]] starling::transport* connection() const noexcept { return m_connection.get(); }
  /// Why it is not there; empty: it is.
  [[nodiscard]] const std::string& missing() const noexcept { return m_missing; }

 private:
  static starling::task<int> nothing() { co_return 0; }
  void serve(const cluster& all, int r) {
    try {
      const auto connection = m_network->connect(r);
      starling::runtime rt(all.options());
      static_cast<void>(starling::run(rt, *connection, nothing()));
    } catch (const starling::backend_unavailable&) {  // as the first says
    } catch (const std::exception& e) {
      ADD_FAILURE() << "rank " << r << ": " << e.what();
    }
  }

  std::optional<thread_network> m_network;
  std::vector<std::thread> m_threads;
  std::unique_ptr<starling::transport> m_connection;
  std::string m_missing;
};

/// Where the thread of a test and the task that `run` runs meet: the one brings what is to be
/// awaited, the other awaits it.
class waiting_desk {
 public:
  /// By the task: until there is nothing more.
  static starling::task<int> serve(std::shared_ptr<waiting_desk> desk, starling::runtime& rt) {
    while (desk->rest(rt)) {
      auto next = co_await desk->m_requests.receive();
      if (!next) break;
      co_await std::move(*next);
    }
    co_return 0;
  }
  /// When `run` has ended, with an error or because there was nothing more.
  void close(std::exception_ptr error) {
    const std::lock_guard lock(m_mutex);
    m_state = state::closed;
    m_error = std::move(error);
    m_pause.reset();
    m_changed.notify_all();
  }

  /// By the test: has `t` awaited and returns when that is over. False: the run has ended.
  bool await(starling::task<> t) {
    if (!wait()) return false;
    {
      const std::lock_guard lock(m_mutex);
      m_state = state::busy;
      if (!m_requests.try_send(std::move(t))) return false;
      m_pause.reset();
    }
    return wait();
  }
  void bring_no_more() {
    const std::lock_guard lock(m_mutex);
    m_requests.close();
    m_pause.reset();
  }
  /// Until the task waits for something to await. False: the run has ended.
  bool wait() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_state != state::busy; });
    return m_state == state::idle;
  }
  /// What has ended the run, once.
  [[nodiscard]] std::exception_ptr take_error() {
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_error, nullptr);
  }

 private:
  enum class state { busy, idle, closed };
  /// The test may think as long as it likes: meanwhile nothing hangs.
  bool rest(starling::runtime& rt) {
    const std::lock_guard lock(m_mutex);
    if (m_state == state::closed) return false;
    m_pause.emplace(rt.hold_external_work());
    m_state = state::idle;
    m_changed.notify_all();
    return true;
  }

  starling::channel<starling::task<>> m_requests;
  std::mutex m_mutex;
  std::condition_variable m_changed;
  state m_state = state::busy;
  std::optional<starling::external_work> m_pause;
  std::exception_ptr m_error;
};

/// The runtime of the first rank, for the thread of a test: it makes arrays, sends messages and
/// waits as if the rank were alone. Another thread is in `run`, whose task does the waiting. When
/// an error has ended the run, the rank is alone indeed.
class first_rank : private other_ranks, public starling::runtime {
 public:
  explicit first_rank(const cluster& all) : other_ranks(all), runtime(all.options()) {
    if (connection() == nullptr) return;
    m_run = std::thread([this] { lead(); });
    if (!m_desk->wait()) std::rethrow_exception(m_desk->take_error());
  }
  ~first_rank() {
    if (!m_run.joinable()) return;
    m_desk->bring_no_more();
    m_run.join();
    if (const cluster::end e{-1, m_desk->take_error()}; e.error)
      ADD_FAILURE() << "the run has ended" << cluster::text_of(e);
  }
  using other_ranks::missing;

  /// As that of a runtime; an error that ends the run is thrown when that is over on all ranks.
  template <class Awaitable>
  typename Awaitable::value_type sync_wait(Awaitable awaited) {
    using T = typename Awaitable::value_type;
    if (connection() == nullptr) return runtime::sync_wait(std::move(awaited));
    if (!m_desk->wait()) {
      throw_error();
      return runtime::sync_wait(std::move(awaited));
    }
    auto root = std::make_shared<std::promise<T>>();
    std::future<T> result = root->get_future();
    if (!m_desk->await(tell(std::move(awaited), std::move(root)))) throw_error();
    return result.get();
  }
  void wait_idle() {
    if (connection() == nullptr || !m_desk->wait()) return runtime::wait_idle();
    sync_wait([]() -> starling::task<> { co_await starling::quiescence(); }());
  }

 private:
  void lead() {
    std::exception_ptr error;
    try {
      const int status = starling::run(*this, *connection(), waiting_desk::serve(m_desk, *this));
      if (status != 0) throw starling::run_exited(status);
    } catch (...) {
      error = std::current_exception();
    }
    m_desk->close(error);
  }
  void throw_error() {
    if (const std::exception_ptr error = m_desk->take_error()) std::rethrow_exception(error);
  }
  template <class T, class Awaitable>
  static starling::task<> tell(Awaitable awaited, std::shared_ptr<std::promise<T>> root) {
    try {
      Awaitable local = std::move(awaited);
      if constexpr (std::is_void_v<T>) {
        co_await std::move(local);
        root->set_value();
      } else {
        root->set_value(co_await std::move(local));
      }
    } catch (...) {
      root->set_exception(std::current_exception());
    }
  }

  // Shared with a task that may end with the runtime only.
  std::shared_ptr<waiting_desk> m_desk = std::make_shared<waiting_desk>();
  std::thread m_run;
};

/// Runs every test on one rank, with one, two and four workers, and on several.
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
