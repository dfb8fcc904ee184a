// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <starling/core.hpp>

#include "suite.hpp"

namespace starling::bench {
namespace {

using std::uint64_t;

task<uint64_t> number(uint64_t i) { co_return i; }

task<uint64_t> spawn_all(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += co_await starling::spawn(number(i));
  co_return sum;
}

task<uint64_t> call_all(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += co_await number(i);
  co_return sum;
}

uint64_t increment(uint64_t value) { return value + 1; }

future<uint64_t> chain(future<uint64_t> input, uint64_t length) {
  for (uint64_t link = 0; link < length; ++link) input = std::move(input).then(increment);
  return input;
}

task<uint64_t> ready_chains(chain_problem problem) {
  uint64_t sum = 0;
  for (uint64_t c = 0; c < problem.chains; ++c)
    sum += co_await chain(make_ready_future(c), problem.length);
  co_return sum;
}

task<uint64_t> pending_chains(chain_problem problem) {
  uint64_t sum = 0;
  for (uint64_t c = 0; c < problem.chains; ++c) {
    promise<uint64_t> input;
    future<uint64_t> end = chain(input.get_future(), problem.length);
    input.set_value(c);
    sum += co_await end;
  }
  co_return sum;
}

task<uint64_t> sum_of(std::vector<future<uint64_t>> inputs) {
  uint64_t sum = 0;
  for (const uint64_t value : co_await when_all(std::move(inputs))) sum += value;
  co_return sum;
}

task<uint64_t> join_all(uint64_t count) {
  std::vector<future<uint64_t>> inputs;
  inputs.reserve(count);
  for (uint64_t i = 0; i < count; ++i) inputs.push_back(starling::spawn(number(i)));
  co_return co_await sum_of(std::move(inputs));
}

task<> fulfil_all(std::vector<promise<uint64_t>>& promises) {
  for (uint64_t i = 0; i < promises.size(); ++i) promises[i].set_value(i);
  co_return;
}

task<uint64_t> join_promises(uint64_t count) {
  std::vector<promise<uint64_t>> promises(count);
  std::vector<future<uint64_t>> inputs;
  inputs.reserve(count);
  for (auto& p : promises) inputs.push_back(p.get_future());
  future<> producer = starling::spawn(fulfil_all(promises));
  const uint64_t sum = co_await sum_of(std::move(inputs));
  co_await producer;
  co_return sum;
}

using line = starling::channel<uint64_t>;

task<> pong(line& in, line& out, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = co_await in.receive();
    co_await out.send(*value + 1);
  }
}

task<uint64_t> ping(uint64_t count) {
  line there(1);
  line back(1);
  future<> partner = starling::spawn(pong(there, back, count));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    co_await there.send(i);
    const auto answer = co_await back.receive();
    sum += *answer;
  }
  co_await partner;
  co_return sum;
}

task<> fulfil(promise<uint64_t> p, uint64_t value) {
  p.set_value(value);
  co_return;
}

task<uint64_t> await_all(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    promise<uint64_t> p;
    future<uint64_t> value = p.get_future();
    post(fulfil(std::move(p), i));
    sum += co_await value;
  }
  co_return sum;
}

task<uint64_t> fib(int n) {
  if (n < 2) co_return static_cast<uint64_t>(n);
  future<uint64_t> first = starling::spawn(fib(n - 1));
  const uint64_t second = co_await fib(n - 2);
  co_return co_await first + second;
}

task<> update(heat_problem& problem, uint64_t step, uint64_t partition,
              std::array<shared_future<>, 3> inputs) {
  for (const shared_future<>& input : inputs) co_await input;
  problem.update(step, partition);
}

task<uint64_t> diffuse(heat_problem& problem) {
  const shared_future<> ready = make_ready_future().share();
  std::vector<shared_future<>> current(problem.partitions(), ready);
  std::vector<shared_future<>> next(problem.partitions());
  for (uint64_t step = 0; step < problem.steps(); ++step) {
    for (uint64_t p = 0; p < problem.partitions(); ++p)
      next[p] =
          starling::spawn(update(problem, step, p,
                                 {current[problem.left(p)], current[p], current[problem.right(p)]}))
              .share();
    std::swap(current, next);
    // One step of lookahead: enough for overlap, and the tasks stay in cache.
    for (const shared_future<>& input : next)
      if (input.valid()) co_await input;
  }
  for (const shared_future<>& last : current) co_await last;
  co_return problem.items();
}

runtime_options with_workers(int workers) {
  runtime_options options = runtime_options::from_environment();
  options.workers = unsigned(workers);
  return options;
}

/// Competitor: Starling's tasks, as a user would write them.
class starling_tasks {
 public:
  static constexpr const char* name = "starling";
  static constexpr int max_workers = 4096;
  static std::string version() { return "this tree"; }
  static sizes defaults() { return {}; }

  explicit starling_tasks(int workers) : m_runtime(with_workers(workers)) {}

  uint64_t spawn(const counting_problem& p) { return m_runtime.sync_wait(spawn_all(p.count)); }
  uint64_t child(const counting_problem& p) { return m_runtime.sync_wait(call_all(p.count)); }
  uint64_t continuation_ready(const chain_problem& p) {
    return m_runtime.sync_wait(ready_chains(p));
  }
  uint64_t continuation_pending(const chain_problem& p) {
    return m_runtime.sync_wait(pending_chains(p));
  }
  uint64_t join(const counting_problem& p) { return m_runtime.sync_wait(join_all(p.count)); }
  uint64_t join_pending(const counting_problem& p) {
    return m_runtime.sync_wait(join_promises(p.count));
  }
  uint64_t channel(const channel_problem& p) { return m_runtime.sync_wait(ping(p.round_trips)); }
  uint64_t pending(const counting_problem& p) { return m_runtime.sync_wait(await_all(p.count)); }
  uint64_t fib(const fib_problem& p) { return m_runtime.sync_wait(bench::fib(p.n)); }
  uint64_t heat(heat_problem& p) { return m_runtime.sync_wait(diffuse(p)); }

 private:
  runtime m_runtime;
};

}  // namespace
}  // namespace starling::bench

int main(int argc, char** argv) {
  return starling::bench::run_suite<starling::bench::starling_tasks>(argc, argv);
}
