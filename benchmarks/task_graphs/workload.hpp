// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "kernel.hpp"

namespace task_graphs {

/// Output of a task, 16 bytes as in Task Bench: its step and its point, so that a task that reads
/// it can check it.
struct output {
  std::int64_t step = -1;
  std::int64_t point = -1;
  friend bool operator==(const output&, const output&) = default;
};

/// A graph with a kernel. Competitors call `execute` for each task when its inputs are ready.
class workload {
 public:
  /// `spoilt`: the tasks of the middle step output wrong values, which their consumers must notice.
  workload(const graph& g, const kernel& k, bool spoilt)
      : m_graph(&g), m_kernel(k), m_spoilt_step(spoilt ? g.steps() / 2 : -1) {}

  [[nodiscard]] const graph& tasks() const { return *m_graph; }
  [[nodiscard]] std::int64_t iterations() const {
    std::int64_t sum = 0;
    m_graph->for_each_task([&](int t, int p) { sum += m_kernel.iterations_of(t, p); });
    return sum;
  }

  /// Runs the task (t, p): checks all inputs, runs the kernel, returns the output. `at(q)` is the
  /// output of (t − 1, q). Thread-safe.
  template <class At>
  [[nodiscard]] output execute(int t, int p, At at) {
    m_graph->for_each_input(t, p, [&](int q) {
      if (at(q) != output{t - 1, q}) [[unlikely]]
        m_wrong.store(true, std::memory_order_relaxed);
    });
    task_graphs::execute(m_kernel, t, p);
    if (t == m_spoilt_step) [[unlikely]]
      return {t, p + 1};
    return {t, p};
  }
  /// Returns whether a task got a wrong input. Called after the run.
  [[nodiscard]] bool is_wrong() const { return m_wrong.load(std::memory_order_relaxed); }

 private:
  const graph* m_graph;
  kernel m_kernel;
  int m_spoilt_step;
  std::atomic<bool> m_wrong{false};  // set by tasks, read when they have ended
};

/// A cell for each task's output and number of missing inputs, for competitors whose threads share
/// memory. Each cell has a cache line of its own.
class grid {
 public:
  struct alignas(64) cell {
    output value;
    std::atomic<int> missing{0};
  };

  explicit grid(const graph& g)
      : m_width(std::size_t(g.width())), m_cells(std::size_t(g.steps()) * m_width) {}

  [[nodiscard]] cell& at(int t, int p) {
    return m_cells[std::size_t(t) * m_width + std::size_t(p)];
  }
  /// Resets the cells before a run.
  void clear(const graph& g) {
    g.for_each_task([&](int t, int p) {
      at(t, p).value = {};
      at(t, p).missing.store(g.input_count(t, p), std::memory_order_relaxed);
    });
  }
  /// Returns, after a run, the number of tasks whose output has the right step.
  [[nodiscard]] std::int64_t filled(const graph& g) {
    std::int64_t sum = 0;
    g.for_each_task([&](int t, int p) { sum += at(t, p).value.step == t ? 1 : 0; });
    return sum;
  }
  /// Runs the task (t, p) on the outputs in the grid.
  void execute(workload& w, int t, int p) {
    at(t, p).value = w.execute(t, p, [&](int q) -> const output& { return at(t - 1, q).value; });
  }
  /// Counts an input of the task (t, p) as ready; returns whether it was the last missing input.
  [[nodiscard]] bool is_last_input(int t, int p) {
    std::atomic<int>& missing = at(t, p).missing;
    // Acquire and release: the thread that starts a task sees the outputs that the task reads. If
    // one input is missing, no other thread counts, and the new count need not be stored.
    return missing.load(std::memory_order_acquire) == 1 ||
           missing.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 private:
  std::size_t m_width;
  std::vector<cell> m_cells;
};

}  // namespace task_graphs
