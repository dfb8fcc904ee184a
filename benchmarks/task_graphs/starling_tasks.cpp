// SPDX-License-Identifier: Apache-2.0
//
// Competitor: a spawned coroutine for each task, on the worker of its point, started by its last
// input. Results are in shared memory.
#include <optional>
#include <utility>
#include <vector>

#include <starling/core.hpp>

#include "starling_options.hpp"
#include "suite.hpp"

namespace task_graphs {
namespace {

class starling_tasks {
 public:
  static constexpr const char* name = "starling_tasks";
  explicit starling_tasks(int workers) : m_runtime(options_for(workers)) {}

  void prepare(const graph& g) {
    m_grid.emplace(g);
    m_points.clear();
    for (int p = 0; p < g.width(); ++p)
      m_points.push_back({m_runtime.on_worker(unsigned(std::uint64_t(p) * m_runtime.worker_count() /
                                                       std::uint64_t(g.width()))),
                          0});
  }
  void clear(workload& w) {
    m_grid->clear(w.tasks());
    for (int p = 0; p < w.tasks().width(); ++p) at(p).left = w.tasks().tasks_of(p);
  }
  void run(workload& w) {
    m_work = &w;
    m_runtime.sync_wait(whole_run(*this));
  }
  [[nodiscard]] std::int64_t finished(workload& w) { return m_grid->filled(w.tasks()); }

 private:
  struct alignas(64) point {
    starling::executor home;
    int left;  // tasks that have not run; accessed by the worker of `home` only
  };
  point& at(int p) { return m_points[std::size_t(p)]; }

  static starling::task<> whole_run(starling_tasks& s) {
    std::vector<starling::future<>> ends;
    const graph& g = s.m_work->tasks();
    s.m_ends = std::vector<starling::promise<>>(std::size_t(g.width()));
    for (int p = 0; p < g.width(); ++p) {
      ends.push_back(s.m_ends[std::size_t(p)].get_future());
      s.at(p).home.post(begin(s, p));
    }
    for (auto& end : ends) co_await std::move(end);
  }
  /// Starts the tasks of a point that have no input.
  static starling::task<> begin(starling_tasks& s, int p) {
    const graph& g = s.m_work->tasks();
    if (s.at(p).left == 0) s.m_ends[std::size_t(p)].set_value();
    for (int t = 0; t < g.steps(); ++t)
      if (g.has(t, p) && g.input_count(t, p) == 0) s.at(p).home.post(one_task(s, t, p));
    co_return;
  }
  static starling::task<> one_task(starling_tasks& s, int t, int p) {
    s.m_grid->execute(*s.m_work, t, p);
    s.m_work->tasks().for_each_consumer(t, p, [&](int q) {
      if (s.m_grid->is_last_input(t + 1, q)) s.at(q).home.post(one_task(s, t + 1, q));
    });
    if (--s.at(p).left == 0) s.m_ends[std::size_t(p)].set_value();
    co_return;
  }

  starling::runtime m_runtime;
  std::optional<grid> m_grid;
  std::vector<point> m_points;
  std::vector<starling::promise<>> m_ends;
  workload* m_work = nullptr;
};

}  // namespace
}  // namespace task_graphs

int main(int argc, char** argv) {
  return task_graphs::run_suite<task_graphs::starling_tasks>(argc, argv);
}
