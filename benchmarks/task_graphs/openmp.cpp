// SPDX-License-Identifier: Apache-2.0
//
// Competitor: one thread of the team creates all tasks in order; `depend` names each task's inputs.
#include <omp.h>
#include <optional>

#include "suite.hpp"

namespace task_graphs {
namespace {

class openmp {
 public:
  static constexpr const char* name = "openmp";
  explicit openmp(int workers) : m_workers(workers) {
    // The team's threads persist: thread i is bound to core i, as Starling binds its workers.
#pragma omp parallel num_threads(m_workers)
    bench::bind_to_core(omp_get_thread_num(), m_workers);
  }

  void prepare(const graph& g) {
    m_grid.emplace(g);
    m_inputs.resize(std::size_t(g.width()));
  }
  void clear(workload& w) { m_grid->clear(w.tasks()); }
  void run(workload& w) {
#pragma omp parallel num_threads(m_workers)
#pragma omp single
    w.tasks().for_each_task([&](int t, int p) { create(w, t, p); });
  }
  [[nodiscard]] std::int64_t finished(workload& w) { return m_grid->filled(w.tasks()); }

 private:
  /// Creates a task. Up to three inputs are listed without an iterator, which costs less.
  void create(workload& w, int t, int p) {
    const output* in[3] = {};
    std::size_t n = 0;
    m_inputs.clear();
    w.tasks().for_each_input(t, p, [&](int q) {
      const output* value = &m_grid->at(t - 1, q).value;
      if (n < 3) in[n] = value;
      ++n;
      m_inputs.push_back(value);
    });
    [[maybe_unused]] const output *a = in[0], *b = in[1], *c = in[2];
    [[maybe_unused]] output* out = &m_grid->at(t, p).value;
    grid& all = *m_grid;
    if (n == 0) {
#pragma omp task shared(all, w) firstprivate(t, p) depend(out : *out)
      all.execute(w, t, p);
    } else if (n == 1) {
#pragma omp task shared(all, w) firstprivate(t, p) depend(in : *a) depend(out : *out)
      all.execute(w, t, p);
    } else if (n == 2) {
#pragma omp task shared(all, w) firstprivate(t, p) depend(in : *a, *b) depend(out : *out)
      all.execute(w, t, p);
    } else if (n == 3) {
#pragma omp task shared(all, w) firstprivate(t, p) depend(in : *a, *b, *c) depend(out : *out)
      all.execute(w, t, p);
    } else {
      create_with_many(w, t, p, n);
    }
  }
  void create_with_many(workload& w, int t, int p, std::size_t n) {
    [[maybe_unused]] const output* const* in = m_inputs.data();
    [[maybe_unused]] output* out = &m_grid->at(t, p).value;
    grid& all = *m_grid;
// clang-format off
#pragma omp task shared(all, w) firstprivate(t, p) \
    depend(iterator(std::size_t k = 0 : n), in : *in[k]) depend(out : *out)
    // clang-format on
    all.execute(w, t, p);
  }

  int m_workers;
  std::optional<grid> m_grid;
  std::vector<const output*> m_inputs;
};

}  // namespace
}  // namespace task_graphs

int main(int argc, char** argv) { return task_graphs::run_suite<task_graphs::openmp>(argc, argv); }
