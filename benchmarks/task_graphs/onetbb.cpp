// SPDX-License-Identifier: Apache-2.0
//
// Competitor: tasks of a task_group, each started by its last input. A flow graph costs more, since
// its nodes would have to be built for every task.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <optional>

#include "suite.hpp"

namespace task_graphs {
namespace {

namespace tbb = oneapi::tbb;

/// Observer that binds each thread of an arena to the core of its slot, as Starling binds workers.
class binder : public tbb::task_scheduler_observer {
 public:
  binder(tbb::task_arena& arena, int threads)
      : tbb::task_scheduler_observer(arena), m_threads(threads) {
    observe(true);
  }
  ~binder() override { observe(false); }
  binder(const binder&) = delete;
  binder& operator=(const binder&) = delete;

  void on_scheduler_entry(bool) override {
    bench::bind_to_core(tbb::this_task_arena::current_thread_index(), m_threads);
  }

 private:
  int m_threads;
};

class onetbb {
 public:
  static constexpr const char* name = "onetbb";
  explicit onetbb(int workers)
      : m_limit(tbb::global_control::max_allowed_parallelism, std::size_t(workers)),
        m_arena(workers), m_binder(m_arena, workers) {}

  void prepare(const graph& g) { m_grid.emplace(g); }
  void clear(workload& w) { m_grid->clear(w.tasks()); }
  void run(workload& w) {
    m_arena.execute([&] {
      tbb::task_group group;
      w.tasks().for_each_task([&](int t, int p) {
        if (w.tasks().input_count(t, p) == 0) start(group, w, t, p);
      });
      group.wait();
    });
  }
  [[nodiscard]] std::int64_t finished(workload& w) { return m_grid->filled(w.tasks()); }

 private:
  void start(tbb::task_group& group, workload& w, int t, int p) {
    group.run([this, &group, &w, t, p] {
      m_grid->execute(w, t, p);
      w.tasks().for_each_consumer(t, p, [&](int q) {
        if (m_grid->is_last_input(t + 1, q)) start(group, w, t + 1, q);
      });
    });
  }

  tbb::global_control m_limit;
  tbb::task_arena m_arena;
  binder m_binder;
  std::optional<grid> m_grid;
};

}  // namespace
}  // namespace task_graphs

int main(int argc, char** argv) { return task_graphs::run_suite<task_graphs::onetbb>(argc, argv); }
