// SPDX-License-Identifier: Apache-2.0
// Random task graphs with known sums: every edge is a future, a shared future, a join, a
// continuation, a child or a channel.
#include <memory>
#include <utility>
#include <vector>

#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_stress;

task<long> leaf(long value, int yields) {
  for (int i = 0; i < yields; ++i) co_await yield();
  co_return value;
}

task<long> add(future<long> a, future<long> b) { co_return co_await a + co_await b; }

task<long> add_shared(shared_future<long> a, long b) { co_return co_await a + b; }

/// A node of the graph: its expected value and its future.
struct node {
  long expected;
  future<long> result;
};

/// Removes a random node from the graph.
node take(std::vector<node>& open, random_source& random) {
  const std::size_t i = std::size_t(random.below(int(open.size())));
  node n = std::move(open[i]);
  open[i] = std::move(open.back());
  open.pop_back();
  return n;
}

/// Performs one random step, which replaces some nodes with new nodes.
void grow(runtime& rt, std::vector<node>& open, random_source& random) {
  const int workers = int(rt.worker_count());
  executor where = random.below(3) == 0 ? rt.on_worker(unsigned(random.below(workers)))
                                        : rt.get_executor(priority(random.below(2)));
  switch (open.size() < 4 ? 0 : random.below(6)) {
    case 0: {  // a new node
      const long value = random.below(1000);
      open.push_back({value, where.spawn(leaf(value, random.below(4)))});
      return;
    }
    case 1: {  // the sum of two nodes
      node a = take(open, random);
      node b = take(open, random);
      open.push_back(
          {a.expected + b.expected, where.spawn(add(std::move(a.result), std::move(b.result)))});
      return;
    }
    case 2: {  // a continuation
      node a = take(open, random);
      open.push_back({a.expected + 7, std::move(a.result).then([](long x) { return x + 7; })});
      return;
    }
    case 3: {  // three nodes from one, through a shared future
      node a = take(open, random);
      const auto shared = std::move(a.result).share();
      for (long k = 0; k < 3; ++k)
        open.push_back({a.expected + k, where.spawn(add_shared(shared, k))});
      return;
    }
    case 4: {  // a join of several nodes
      std::vector<future<long>> inputs;
      long expected = 0;
      for (int n = 2 + random.below(3); n > 0 && !open.empty(); --n) {
        node a = take(open, random);
        expected += a.expected;
        inputs.push_back(std::move(a.result));
      }
      auto sum = [](std::vector<future<long>> fs) -> task<long> {
        long total = 0;
        for (const long x : co_await when_all(std::move(fs))) total += x;
        co_return total;
      };
      open.push_back({expected, where.spawn(sum(std::move(inputs)))});
      return;
    }
    default: {  // a race: the winner, then the loser
      node a = take(open, random);
      node b = take(open, random);
      std::vector<future<long>> inputs;
      inputs.push_back(std::move(a.result));
      inputs.push_back(std::move(b.result));
      auto both = [](std::vector<future<long>> fs) -> task<long> {
        auto race = co_await when_any(std::move(fs));
        const long won = co_await race.futures[race.index];
        co_return won + co_await race.futures[1 - race.index];
      };
      open.push_back({a.expected + b.expected, where.spawn(both(std::move(inputs)))});
    }
  }
}

TEST(a_random_graph, computes_its_sum) {
  for (std::uint64_t seed = first_seed(), end = seed + seeds(150); seed < end; ++seed) {
    runtime rt(options_for(seed));
    const bool right = rt.sync_wait([](runtime& r, std::uint64_t s) -> task<bool> {
      random_source random(s);
      std::vector<node> open;
      const int steps = 100 + random.below(300);
      for (int i = 0; i < steps; ++i) {
        grow(r, open, random);
        if (random.below(16) == 0) co_await yield();
      }
      bool ok = true;
      for (node& n : open) ok = co_await n.result == n.expected && ok;
      co_return ok;
    }(rt, seed));
    ASSERT_TRUE(right) << "seed " << seed;
  }
}

// --- a pipeline of channels with random capacities and random numbers of tasks in each stage

task<> pump(channel<long>& from, channel<long>& to, long add, int& hands, int yields) {
  while (auto v = co_await from.receive()) {
    for (int i = 0; i < yields; ++i) co_await yield();
    co_await to.send(*v + add);
  }
  if (--hands == 0) to.close();  // all tasks of a stage are on one worker
}

TEST(a_random_pipeline, passes_every_value_once) {
  for (std::uint64_t seed = first_seed(), end = seed + seeds(80); seed < end; ++seed) {
    random_source random(seed);
    const int stages = 1 + random.below(5);
    const long values = 200;
    std::vector<std::unique_ptr<channel<long>>> links;
    for (int i = 0; i <= stages; ++i) {
      const int capacity = random.below(6);
      links.push_back(std::make_unique<channel<long>>(capacity == 5 ? channel<long>::unbounded
                                                                    : std::size_t(capacity)));
    }
    std::vector<int> hands(std::size_t(stages), 0);
    runtime rt(options_for(seed));
    for (int i = 0; i < stages; ++i) {
      int& n = hands[std::size_t(i)];
      n = 1 + random.below(4);
      const auto where = rt.on_worker(unsigned(random.below(int(rt.worker_count()))));
      for (int k = n; k > 0; --k)
        where.post(pump(*links[std::size_t(i)], *links[std::size_t(i) + 1], i, n, random.below(3)));
    }
    auto feed = [](channel<long>& c, long n) -> task<> {
      for (long i = 0; i < n; ++i) co_await c.send(i);
      c.close();
    };
    rt.post(feed(*links.front(), values));
    const long sum = rt.sync_wait([](channel<long>& c) -> task<long> {
      long total = 0;
      while (auto v = co_await c.receive()) total += *v;
      co_return total;
    }(*links.back()));
    ASSERT_EQ(sum, values * (values - 1) / 2 + values * stages * (stages - 1) / 2) << seed;
  }
}

}  // namespace
