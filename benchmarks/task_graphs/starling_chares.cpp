// SPDX-License-Identifier: Apache-2.0
//
// Competitor: a chare for each point. A task runs when the messages with its inputs have arrived,
// and sends a message to each task that reads its result, including the next task of its own chare.
#include <optional>
#include <utility>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "starling_options.hpp"
#include "suite.hpp"

namespace task_graphs {
namespace {

using starling::callback;

/// Inputs of later steps, in order of arrival. Usually few steps are open at a time.
class inbox {
 public:
  struct arrival {
    output value;
    int from;
  };

  std::vector<arrival>& of(int step) {
    for (;;) {
      slot& s = m_slots[std::size_t(step) & (m_slots.size() - 1)];
      if (s.inputs.empty()) s.step = step;
      if (s.step == step) return s.inputs;
      grow();
    }
  }

 private:
  struct slot {
    int step = 0;
    std::vector<arrival> inputs;
  };
  void grow() {
    std::vector<slot> old(2 * m_slots.size());
    old.swap(m_slots);
    for (slot& s : old)
      if (!s.inputs.empty()) m_slots[std::size_t(s.step) & (m_slots.size() - 1)] = std::move(s);
  }

  std::vector<slot> m_slots = std::vector<slot>(4);  // a power of two; indexed by step modulo size
};

class point : public starling::chare<point> {
 public:
  static constexpr bool one_rank = true;  // `prepare` passes a pointer
  /// Prepares a run; each point contributes to `ready` when it is prepared.
  void prepare(workload* w, const callback<std::int64_t>& ready,
               const callback<std::int64_t>& over) {
    m_work = w;
    m_over = over;
    m_left = w->tasks().tasks_of(this_index());
    m_finished = 0;
    m_step = -1;
    m_points.clear();
    for (int q = 0; q < w->tasks().width(); ++q) m_points.push_back(this_array()[q]);
    contribute(std::int64_t(1), starling::reduction::sum{}, ready);
  }
  /// Starts the first task if it has all inputs, or needs none: inputs may arrive before this call.
  void begin() {
    if (m_left == 0) return finish();
    find_next();
    proceed();
  }
  void proceed() {
    if (auto& inputs = m_inbox.of(m_step); inputs.size() == m_needed) run(inputs);
  }
  void input(const output& value, int step, int from) {
    auto& inputs = m_inbox.of(step);
    inputs.push_back({value, from});
    if (step == m_step && inputs.size() == m_needed) run(inputs);
  }

 private:
  void run(std::vector<inbox::arrival>& inputs) {
    const output result = m_work->execute(m_step, this_index(), [&](int q) {
      for (const inbox::arrival& a : inputs)
        if (a.from == q) return a.value;
      return output{};
    });
    inputs.clear();
    m_work->tasks().for_each_consumer(m_step, this_index(), [&](int q) {
      m_points[std::size_t(q)].invoke<&point::input>(result, m_step + 1, this_index());
    });
    ++m_finished;
    if (--m_left == 0) return finish();
    find_next();
    if (m_inbox.of(m_step).size() == m_needed) this_element().invoke<&point::proceed>();
  }
  void find_next() {
    while (!m_work->tasks().has(++m_step, this_index())) {
    }
    m_needed = std::size_t(m_work->tasks().input_count(m_step, this_index()));
  }
  void finish() { contribute(m_finished, starling::reduction::sum{}, m_over); }

  workload* m_work = nullptr;
  callback<std::int64_t> m_over;
  std::int64_t m_finished = 0;
  int m_left = 0;            // tasks that have not run
  int m_step = -1;           // step of the next task
  std::size_t m_needed = 0;  // number of its inputs
  inbox m_inbox;
  std::vector<starling::element<point>> m_points;  // all elements of the array
};

class starling_chares {
 public:
  static constexpr const char* name = "starling_chares";
  explicit starling_chares(int workers) : m_runtime(options_for(workers)) {}

  void prepare(const graph& g) {
    m_points = starling::create_array<point>(m_runtime, g.width(), starling::placement::block);
  }
  void clear(workload& w) {
    auto [ready, told] = starling::make_reply<std::int64_t>();
    auto [over, end] = starling::make_reply<std::int64_t>();
    m_points->invoke<&point::prepare>(&w, ready, over);
    m_runtime.sync_wait(std::move(told));
    m_end = std::move(end);
  }
  void run(workload&) {
    m_points->invoke<&point::begin>();
    m_finished = m_runtime.sync_wait(std::move(m_end));
  }
  [[nodiscard]] std::int64_t finished(workload&) const { return m_finished; }

 private:
  starling::runtime m_runtime;
  std::optional<starling::chare_array<point>> m_points;
  starling::future<std::int64_t> m_end;
  std::int64_t m_finished = 0;
};

}  // namespace
}  // namespace task_graphs

int main(int argc, char** argv) {
  return task_graphs::run_suite<task_graphs::starling_chares>(argc, argv);
}
