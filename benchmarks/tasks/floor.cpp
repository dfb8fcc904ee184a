// SPDX-License-Identifier: Apache-2.0
#include "floor.hpp"

#include "floor_sync.hpp"
#include "suite.hpp"

namespace starling::bench {
namespace {

using std::uint64_t;

floor::task<uint64_t> number(uint64_t i) { co_return i; }

floor::task<uint64_t> spawn_all(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += co_await floor::spawn(number(i));
  co_return sum;
}

floor::task<uint64_t> call_all(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += co_await number(i);
  co_return sum;
}

uint64_t increment(uint64_t value) { return value + 1; }

/// Returns the end of a chain of `length` continuations of `input`.
template <class Input>
floor::continuation<uint64_t> chain(Input input, uint64_t length) {
  auto last = floor::then(std::move(input), increment);
  for (uint64_t link = 1; link < length; ++link) last = floor::then(std::move(last), increment);
  return last;
}

floor::task<uint64_t> ready_chains(chain_problem problem) {
  uint64_t sum = 0;
  for (uint64_t c = 0; c < problem.chains; ++c) {
    const floor::cell_promise<uint64_t> input;
    input.set(c);
    sum += co_await chain(input.get_future(), problem.length);
  }
  co_return sum;
}

floor::task<uint64_t> pending_chains(chain_problem problem) {
  uint64_t sum = 0;
  for (uint64_t c = 0; c < problem.chains; ++c) {
    const floor::cell_promise<uint64_t> input;
    auto end = chain(input.get_future(), problem.length);
    input.set(c);
    sum += co_await std::move(end);
  }
  co_return sum;
}

template <class Future>
floor::task<uint64_t> sum_of(std::vector<Future> inputs) {
  uint64_t sum = 0;
  for (const uint64_t value : co_await floor::when_all<Future, uint64_t>(std::move(inputs))) {
    sum += value;
  }
  co_return sum;
}

floor::task<uint64_t> join_all(uint64_t count) {
  std::vector<floor::future<uint64_t>> inputs;
  inputs.reserve(count);
  for (uint64_t i = 0; i < count; ++i) inputs.push_back(floor::spawn(number(i)));
  co_return co_await sum_of(std::move(inputs));
}

floor::task<void> fulfil_all(const std::vector<floor::cell_promise<uint64_t>>& promises) {
  for (uint64_t i = 0; i < promises.size(); ++i) promises[i].set(i);
  co_return;
}

floor::task<uint64_t> join_promises(uint64_t count) {
  const std::vector<floor::cell_promise<uint64_t>> promises(count);
  std::vector<floor::cell_future<uint64_t>> inputs;
  inputs.reserve(count);
  for (const auto& promise : promises) inputs.push_back(promise.get_future());
  floor::post(fulfil_all(promises));
  co_return co_await sum_of(std::move(inputs));
}

using line = floor::channel<uint64_t>;

floor::task<void> pong(line& in, line& out, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t value = co_await in.receive();
    co_await out.send(value + 1);
  }
}

floor::task<uint64_t> ping(uint64_t count) {
  line there(1);
  line back(1);
  auto partner = floor::spawn(pong(there, back, count));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    co_await there.send(i);
    sum += co_await back.receive();
  }
  co_await std::move(partner);
  co_return sum;
}

floor::task<void> fulfil(floor::cell_promise<uint64_t> promise, uint64_t value) {
  promise.set(value);
  co_return;
}

floor::task<uint64_t> await_all(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    floor::cell_promise<uint64_t> promise;
    auto value = promise.get_future();
    floor::post(fulfil(std::move(promise), i));
    sum += co_await std::move(value);
  }
  co_return sum;
}

floor::task<uint64_t> fib(int n) {
  if (n < 2) co_return static_cast<uint64_t>(n);
  auto first = floor::spawn(fib(n - 1));
  const uint64_t second = co_await fib(n - 2);
  co_return co_await std::move(first) + second;
}

/// Updates a partition after its three inputs. The inputs are read before the creator continues,
/// and complete without their owner, so they need not be kept.
floor::completion update(heat_problem& problem, uint64_t step, uint64_t partition,
                         const floor::completion& left, const floor::completion& middle,
                         const floor::completion& right) {
  co_await floor::all_of<3>({&left, &middle, &right});
  problem.update(step, partition);
}

floor::task<uint64_t> diffuse(heat_problem& problem) {
  std::vector<floor::completion> current(problem.partitions());
  std::vector<floor::completion> next(problem.partitions());
  for (uint64_t step = 0; step < problem.steps(); ++step) {
    for (uint64_t p = 0; p < problem.partitions(); ++p) {
      next[p] =
          update(problem, step, p, current[problem.left(p)], current[p], current[problem.right(p)]);
    }
    std::swap(current, next);
  }
  for (const auto& last : current) co_await floor::all_of<1>({&last});
  co_return problem.items();
}

/// Competitor: hand-written coroutines on one thread.
class single_thread {
 public:
  static constexpr const char* name = "floor";
  static constexpr int max_workers = 1;
  static std::string version() { return "pooled frames, LIFO queue, one thread, no atomics"; }
  static sizes defaults() { return {}; }

  explicit single_thread(int /*workers*/) {}

  uint64_t spawn(const counting_problem& p) { return floor::run(spawn_all(p.count)); }
  uint64_t child(const counting_problem& p) { return floor::run(call_all(p.count)); }
  uint64_t continuation_ready(const chain_problem& p) { return floor::run(ready_chains(p)); }
  uint64_t continuation_pending(const chain_problem& p) { return floor::run(pending_chains(p)); }
  uint64_t join(const counting_problem& p) { return floor::run(join_all(p.count)); }
  uint64_t join_pending(const counting_problem& p) { return floor::run(join_promises(p.count)); }
  uint64_t channel(const channel_problem& p) { return floor::run(ping(p.round_trips)); }
  uint64_t pending(const counting_problem& p) { return floor::run(await_all(p.count)); }
  uint64_t fib(const fib_problem& p) { return floor::run(bench::fib(p.n)); }
  uint64_t heat(heat_problem& p) { return floor::run(diffuse(p)); }
};

}  // namespace
}  // namespace starling::bench

int main(int argc, char** argv) {
  return starling::bench::run_suite<starling::bench::single_thread>(argc, argv);
}
