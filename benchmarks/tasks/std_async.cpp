// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "suite.hpp"

namespace starling::bench {
namespace {

using std::uint64_t;

/// Runs `work` on a thread of its own.
template <class Work>
auto start(Work work) {
  return std::async(std::launch::async, std::move(work));
}

uint64_t increment(uint64_t value) { return value + 1; }

/// Starts a thread that waits for its predecessor: `.then` with blocking futures.
std::future<uint64_t> then(std::future<uint64_t> input) {
  return start([input = std::move(input)]() mutable { return increment(input.get()); });
}

uint64_t fib_of(int n) {
  if (n < 2) return static_cast<uint64_t>(n);
  auto first = start([n] { return fib_of(n - 1); });
  const uint64_t second = fib_of(n - 2);
  return first.get() + second;
}

/// One value under a mutex: a bounded channel between two threads.
class slot_channel {
 public:
  void send(uint64_t value) {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return !m_value; });
    m_value = value;
    m_changed.notify_one();
  }

  uint64_t receive() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_value.has_value(); });
    const uint64_t value = *m_value;
    m_value.reset();
    m_changed.notify_one();
    return value;
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::optional<uint64_t> m_value;
};

/// Competitor: std::async, std::future and std::promise, with a thread per task and blocking waits.
/// As the number of threads cannot be limited, the process is bound to `workers` CPUs.
class std_async {
 public:
  static constexpr const char* name = "std_async";
  static constexpr int max_workers = CPU_SETSIZE;
  static std::string version() { return fmt::format("libstdc++ {}", __GLIBCXX__); }

  /// Smaller sizes: a thread per task takes tens of microseconds, and tasks in flight are threads.
  static sizes defaults() {
    sizes size;
    size.spawns = 5000;
    size.continuations = 5000;
    size.joins = 2000;
    size.round_trips = 20'000;
    size.cycles = 5000;
    size.fib_n = 14;
    size.heat_steps = 5;
    return size;
  }

  explicit std_async(int workers) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) fail("sched_getaffinity");
    int left = workers;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed) && left-- <= 0) CPU_CLR(cpu, &allowed);
    }
    if (left > 0) throw std::runtime_error("fewer CPUs than workers");
    if (sched_setaffinity(0, sizeof(allowed), &allowed) != 0) fail("sched_setaffinity");
  }

  uint64_t spawn(const counting_problem& p) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p.count; ++i) sum += start([i] { return i; }).get();
    return sum;
  }

  uint64_t child(const counting_problem& p) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p.count; ++i) {
      sum += std::async(std::launch::deferred, [i] { return i; }).get();
    }
    return sum;
  }

  uint64_t continuation_ready(const chain_problem& p) {
    uint64_t sum = 0;
    for (uint64_t c = 0; c < p.chains; ++c) {
      std::promise<uint64_t> input;
      input.set_value(c);
      auto last = input.get_future();
      for (uint64_t k = 0; k < p.length; ++k) {
        last.wait();
        last = then(std::move(last));
      }
      sum += last.get();
    }
    return sum;
  }

  uint64_t continuation_pending(const chain_problem& p) {
    uint64_t sum = 0;
    for (uint64_t c = 0; c < p.chains; ++c) {
      std::promise<uint64_t> input;
      auto last = input.get_future();
      for (uint64_t k = 0; k < p.length; ++k) last = then(std::move(last));
      input.set_value(c);
      sum += last.get();
    }
    return sum;
  }

  uint64_t join(const counting_problem& p) {
    std::vector<std::future<uint64_t>> inputs;
    inputs.reserve(p.count);
    for (uint64_t i = 0; i < p.count; ++i) inputs.push_back(start([i] { return i; }));
    return sum_of(inputs);
  }

  uint64_t join_pending(const counting_problem& p) {
    std::vector<std::promise<uint64_t>> promises(p.count);
    std::vector<std::future<uint64_t>> inputs;
    inputs.reserve(p.count);
    for (auto& promise : promises) inputs.push_back(promise.get_future());
    auto sum = start([&inputs] { return sum_of(inputs); });
    for (uint64_t i = 0; i < p.count; ++i) promises[i].set_value(i);
    return sum.get();
  }

  uint64_t channel(const channel_problem& p) {
    slot_channel there;
    slot_channel back;
    auto partner = start([&] {
      for (uint64_t i = 0; i < p.round_trips; ++i) back.send(there.receive() + 1);
    });
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p.round_trips; ++i) {
      there.send(i);
      sum += back.receive();
    }
    partner.get();
    return sum;
  }

  uint64_t pending(const counting_problem& p) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p.count; ++i) {
      std::promise<uint64_t> promise;
      auto value = promise.get_future();
      const auto producer =
          start([i, promise = std::move(promise)]() mutable { promise.set_value(i); });
      sum += value.get();
    }
    return sum;
  }

  uint64_t fib(const fib_problem& p) { return fib_of(p.n); }

  uint64_t heat(heat_problem& p) {
    using row = std::vector<std::shared_future<void>>;
    row older;  // waited for two steps later: threads of at most three steps exist
    row current;
    for (uint64_t step = 0; step < p.steps(); ++step) {
      row next;
      for (uint64_t part = 0; part < p.partitions(); ++part)
        next.push_back(update(p, step, part, current));
      for (const auto& done : older) done.wait();
      older = std::exchange(current, std::move(next));
    }
    for (const auto& done : current) done.wait();
    return p.items();
  }

 private:
  static std::shared_future<void> update(heat_problem& p, uint64_t step, uint64_t part,
                                         const std::vector<std::shared_future<void>>& row) {
    std::array<std::shared_future<void>, 3> inputs;
    if (!row.empty()) inputs = {row[p.left(part)], row[part], row[p.right(part)]};
    return start([&p, step, part, inputs = std::move(inputs)] {
             for (const auto& input : inputs) {
               if (input.valid()) input.wait();
             }
             p.update(step, part);
           })
        .share();
  }

  static uint64_t sum_of(std::vector<std::future<uint64_t>>& inputs) {
    uint64_t sum = 0;
    for (auto& input : inputs) sum += input.get();
    return sum;
  }

  [[noreturn]] static void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
  }
};

}  // namespace
}  // namespace starling::bench

int main(int argc, char** argv) {
  return starling::bench::run_suite<starling::bench::std_async>(argc, argv);
}
