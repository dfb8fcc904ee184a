// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include "suite.hpp"

namespace starling::bench {
namespace {

using std::uint64_t;
namespace flow = oneapi::tbb::flow;
using oneapi::tbb::task_group;

/// A task that adds one and spawns its successor: continuation passing, since there is no `.then`.
struct link {
  task_group& group;
  uint64_t& end;
  uint64_t value;
  uint64_t links_left;

  void operator()() const {
    if (links_left == 1) {
      end = value + 1;
    } else {
      group.run(link{group, end, value + 1, links_left - 1});
    }
  }
};

uint64_t fib_of(int n) {
  if (n < 2) return static_cast<uint64_t>(n);
  uint64_t first = 0;
  task_group group;
  group.run([&first, n] { first = fib_of(n - 1); });
  const uint64_t second = fib_of(n - 2);
  group.wait();
  return first + second;
}

/// Competitor: task_group, resumable tasks and flow graphs in an arena of the given size.
class onetbb {
 public:
  static constexpr const char* name = "onetbb";
  static constexpr int max_workers = 4096;
  static std::string version() { return fmt::format("oneTBB {}", TBB_runtime_version()); }
  static sizes defaults() { return {}; }

  explicit onetbb(int workers)
      : m_limit(oneapi::tbb::global_control::max_allowed_parallelism,
                static_cast<std::size_t>(workers)),
        m_arena(workers) {}

  uint64_t spawn(const counting_problem& p) {
    return m_arena.execute([&] {
      task_group group;
      uint64_t sum = 0;
      for (uint64_t i = 0; i < p.count; ++i) {
        uint64_t value = 0;
        group.run([&value, i] { value = i; });
        group.wait();
        sum += value;
      }
      return sum;
    });
  }

  uint64_t child(const counting_problem& p) {
    return m_arena.execute([&] {
      task_group group;
      uint64_t sum = 0;
      for (uint64_t i = 0; i < p.count; ++i) {
        group.run_and_wait([&sum, i] { sum += i; });
      }
      return sum;
    });
  }

  uint64_t continuation_ready(const chain_problem& p) {
    return m_arena.execute([&] {
      task_group group;
      uint64_t sum = 0;
      for (uint64_t c = 0; c < p.chains; ++c) {
        uint64_t end = 0;
        group.run(link{group, end, c, p.length});
        group.wait();
        sum += end;
      }
      return sum;
    });
  }

  uint64_t continuation_pending(const chain_problem& p) {
    // `lightweight` runs a small body in the thread that completes its predecessor.
    using node = flow::function_node<uint64_t, uint64_t, flow::queueing_lightweight>;
    return m_arena.execute([&] {
      uint64_t sum = 0;
      for (uint64_t c = 0; c < p.chains; ++c) {
        flow::graph graph;
        std::deque<node> nodes;
        const auto increment = [](uint64_t value) noexcept { return value + 1; };
        for (uint64_t k = 0; k < p.length; ++k) {
          nodes.emplace_back(graph, flow::unlimited, increment);
          if (k > 0) flow::make_edge(nodes[k - 1], nodes[k]);
        }
        flow::function_node<uint64_t> last(graph, flow::serial, [&sum](uint64_t v) { sum += v; });
        flow::make_edge(nodes.back(), last);
        nodes.front().try_put(c);
        graph.wait_for_all();
      }
      return sum;
    });
  }

  uint64_t join(const counting_problem& p) {
    return m_arena.execute([&] {
      std::vector<uint64_t> values(p.count);
      task_group group;
      for (uint64_t i = 0; i < p.count; ++i) group.run([&values, i] { values[i] = i; });
      group.wait();
      return sum_of(values);
    });
  }

  uint64_t join_pending(const counting_problem& p) {
    return m_arena.execute([&] {
      std::vector<uint64_t> values(p.count);
      uint64_t sum = 0;
      flow::graph graph;
      flow::continue_node<flow::continue_msg> all(
          graph, static_cast<int>(p.count),
          [&](const flow::continue_msg&) { sum = sum_of(values); });
      for (uint64_t i = 0; i < p.count; ++i) {
        values[i] = i;
        all.try_put(flow::continue_msg());
      }
      graph.wait_for_all();
      return sum;
    });
  }

  uint64_t channel(const channel_problem& p) {
    using ping_node = flow::multifunction_node<uint64_t, std::tuple<uint64_t>>;
    return m_arena.execute([&] {
      uint64_t sum = 0;
      uint64_t sent = 0;
      flow::graph graph;
      ping_node ping(graph, flow::serial,
                     [&](uint64_t received, ping_node::output_ports_type& out) {
                       sum += received;
                       if (++sent < p.round_trips) std::get<0>(out).try_put(sent);
                     });
      flow::function_node<uint64_t, uint64_t> pong(graph, flow::serial,
                                                   [](uint64_t value) { return value + 1; });
      flow::make_edge(flow::output_port<0>(ping), pong);
      flow::make_edge(pong, ping);
      pong.try_put(0);
      graph.wait_for_all();
      return sum;
    });
  }

  uint64_t pending(const counting_problem& p) {
    return m_arena.execute([&] {
      task_group group;
      uint64_t sum = 0;
      for (uint64_t i = 0; i < p.count; ++i) {
        uint64_t value = 0;
        oneapi::tbb::task::suspend([&](oneapi::tbb::task::suspend_point consumer) {
          group.run([&value, i, consumer] {
            value = i;
            oneapi::tbb::task::resume(consumer);
          });
        });
        sum += value;
      }
      group.wait();
      return sum;
    });
  }

  uint64_t fib(const fib_problem& p) {
    return m_arena.execute([&] { return fib_of(p.n); });
  }

  uint64_t heat(heat_problem& p) {
    using node = flow::continue_node<flow::continue_msg>;
    return m_arena.execute([&] {
      flow::graph graph;
      flow::broadcast_node<flow::continue_msg> begin(graph);
      std::deque<node> nodes;
      for (uint64_t step = 0; step < p.steps(); ++step) {
        for (uint64_t part = 0; part < p.partitions(); ++part) {
          node& self = nodes.emplace_back(
              graph, [&p, step, part](const flow::continue_msg&) { p.update(step, part); });
          if (step == 0) {
            flow::make_edge(begin, self);
            continue;
          }
          const uint64_t row = (step - 1) * p.partitions();
          for (const uint64_t input : {p.left(part), part, p.right(part)}) {
            flow::make_edge(nodes[row + input], self);
          }
        }
      }
      begin.try_put(flow::continue_msg());
      graph.wait_for_all();
      return p.items();
    });
  }

 private:
  static uint64_t sum_of(const std::vector<uint64_t>& values) {
    uint64_t sum = 0;
    for (const uint64_t value : values) sum += value;
    return sum;
  }

  oneapi::tbb::global_control m_limit;
  oneapi::tbb::task_arena m_arena;
};

}  // namespace
}  // namespace starling::bench

int main(int argc, char** argv) {
  return starling::bench::run_suite<starling::bench::onetbb>(argc, argv);
}
