// SPDX-License-Identifier: Apache-2.0
//
// Competitor: one thread submits all tasks in order; each names the data that it reads and writes.
#include <starpu.h>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#include "suite.hpp"

namespace task_graphs {
namespace {

class starpu {
 public:
  static constexpr const char* name = "starpu";
  explicit starpu(int workers) {
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    conf.sched_policy_name = std::getenv("STARPU_SCHED") == nullptr ? "lws" : nullptr;
    check(starpu_init(&conf), "starpu_init");
    starpu_codelet_init(&m_codelet);
    m_codelet.cpu_funcs[0] = &run_task;
    m_codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
  }
  starpu(const starpu&) = delete;
  starpu& operator=(const starpu&) = delete;
  ~starpu() {
    release();
    starpu_shutdown();
  }

  /// Registers a handle for each task's output.
  void prepare(const graph& g) {
    release();
    m_grid.emplace(g);
    m_width = std::size_t(g.width());
    m_handles.assign(std::size_t(g.steps()) * m_width, nullptr);
    g.for_each_task([&](int t, int p) {
      starpu_variable_data_register(&handle(t, p), STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(&m_grid->at(t, p).value),
                                    sizeof(output));
    });
  }
  void clear(workload& w) {
    m_grid->clear(w.tasks());
    m_jobs.clear();
    m_jobs.reserve(std::size_t(w.tasks().tasks()));
  }
  void run(workload& w) {
    w.tasks().for_each_task([&](int t, int p) { submit(w, t, p); });
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
  }
  [[nodiscard]] std::int64_t finished(workload& w) { return m_grid->filled(w.tasks()); }

 private:
  struct job {
    starpu* self;
    workload* work;
    int t, p;
  };

  static void check(int result, const char* call) {
    if (result != 0)
      throw std::runtime_error(std::string(call) + ": error " + std::to_string(result));
  }
  starpu_data_handle_t& handle(int t, int p) {
    return m_handles[std::size_t(t) * m_width + std::size_t(p)];
  }
  void release() {
    for (starpu_data_handle_t h : m_handles)
      if (h != nullptr) starpu_data_unregister(h);
    m_handles.clear();
  }
  static void run_task(void*[], void* argument) {
    const job& j = *static_cast<job*>(argument);
    j.self->m_grid->execute(*j.work, j.t, j.p);
  }
  void submit(workload& w, int t, int p) {
    m_accesses.clear();
    w.tasks().for_each_input(t, p, [&](int q) {
      m_accesses.push_back({handle(t - 1, q), STARPU_R});
    });
    m_accesses.push_back({handle(t, p), STARPU_W});
    m_jobs.push_back({this, &w, t, p});
    check(starpu_task_insert(&m_codelet, STARPU_DATA_MODE_ARRAY, m_accesses.data(),
                             int(m_accesses.size()), STARPU_CL_ARGS_NFREE, &m_jobs.back(),
                             sizeof(job), 0),
          "starpu_task_insert");
  }

  starpu_codelet m_codelet{};
  std::optional<grid> m_grid;
  std::size_t m_width = 0;
  std::vector<starpu_data_handle_t> m_handles;
  std::vector<starpu_data_descr> m_accesses;
  std::vector<job> m_jobs;
};

}  // namespace
}  // namespace task_graphs

int main(int argc, char** argv) { return task_graphs::run_suite<task_graphs::starpu>(argc, argv); }
