// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "host_halos.hpp"
#include "others.hpp"
#include "physics/ghosts.hpp"
#include "physics/serial.hpp"
#include "physics/time_step.hpp"
#include "physics/update.hpp"
#include "simulation.hpp"
#include "workspaces.hpp"

namespace sedov {
namespace {

std::size_t streams_of(starling::device& where, const staged_options& how) {
  return how.streams == 0 ? where.pool().size() : how.streams;
}

/// How many sub-grids may be on their way through one device: with an aggregator a full batch on
/// each stream and one that gathers, else one on each stream.
std::size_t workspaces_for(starling::device& where, const staged_options& how, int sub_grids) {
  const std::size_t streams = streams_of(where, how);
  if (how.aggregate <= 1) return streams;
  return std::min<std::size_t>(std::size_t(sub_grids), how.aggregate * (streams + 1));
}

class staged final : public simulation {
 public:
  staged(starling::runtime& rt, snapshot initial, const scheme& numerics, const staged_options& how,
         other_parts* others)
      : m_state(std::move(initial)), m_scheme(numerics), m_others(others),
        m_part(others == nullptr ? partition(m_state.grid) : others->mine()), m_halos(others),
        m_workspaces(starling::devices(rt),
                     workspaces_for(starling::devices(rt).device(0), how, count()),
                     how.aggregate <= 1, how.memory) {
    starling::device_set& all = starling::devices(rt);
    for (std::size_t d = 0; d < all.count() && how.aggregate > 1; ++d)
      m_aggregators.emplace_back(
          all.device(d),
          starling::aggregation{.most = std::min(how.aggregate, std::size_t(count())),
                                .streams = streams_of(all.device(d), how),
                                .name = "stage"});
    const auto n = std::size_t(count());
    for (auto* array : {&m_first, &m_second}) array->resize(m_state.data.size());
    for (auto* array : {&m_leaving, &m_amount}) array->resize(n * field_count);
    m_fastest.resize(n);
    m_sent.assign(m_halos.all().size(), starling::make_ready_future().share());
    m_ready.assign(n + m_sent.size(), starling::make_ready_future().share());
    find_neighbours();
  }

  starling::task<double> step(double longest) override {
    m_clock[clock_entry::time] = m_state.time;
    m_clock[clock_entry::stop] = m_state.time + longest;
    const std::size_t before = m_running.size();
    // Room first: a task that has started must not be forgotten for want of it.
    m_running.reserve(before + std::size_t(count()) * (stage_count + 2) + 1 +
                      2 * m_sent.size() * (stage_count + 1));
    const signal dt_chosen = start_first_stage();
    for (int s = 1; s < stage_count; ++s) start_stage(s);
    start_synchronization();
    std::exception_ptr failure;
    try {
      co_await dt_chosen;
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) co_await fail(failure);
    // The time step needs every sub-grid, so all tasks of the step before are over but those that
    // send, for which the next ones wait.
    m_running.erase(m_running.begin(), m_running.begin() + std::ptrdiff_t(before));
    m_state.data.swap(m_first);  // where the last stage ends; tasks hold pointers
    m_state.time += m_clock[clock_entry::dt];
    m_state.step += 1;
    co_return m_clock[clock_entry::dt];
  }

  starling::task<> finish() override {
    std::exception_ptr failure = co_await drain();
    if (m_failed) co_return;
    try {
      co_await agree(failure, 0.0);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) co_await fail(failure);
    co_await account_outflow();
  }

  starling::task<snapshot> gather() override {
    snapshot own = m_state;
    own.data.resize(std::size_t(count()) * compact.block);
    co_return own;
  }

  [[nodiscard]] starling::aggregation_statistics aggregated() const override {
    starling::aggregation_statistics sum;
    for (const starling::aggregator& a : m_aggregators) sum += a.statistics();
    return sum;
  }

 private:
  /// Waits for all tasks; yields what the first one threw, in the order of their start.
  starling::task<std::exception_ptr> drain() { return all_over(std::exchange(m_running, {})); }

  /// The fastest signal of all parts of the domain. @throws whatever a task of this part threw, or
  /// unphysical_state where there is a fault in any
  starling::task<double> agree(std::exception_ptr failure, double fastest) {
    if (!failure || m_fault) fastest = co_await sedov::agree(m_others, fastest, m_fault);
    if (m_fault) throw unphysical_state(m_fault->where);
    if (failure) std::rethrow_exception(failure);
    co_return fastest;
  }

  /// When no task can find another fault: throws the one that the serial driver would have met, if
  /// there is any, else `failure`.
  starling::task<> fail(std::exception_ptr failure) {
    m_failed = true;
    static_cast<void>(co_await drain());
    m_outflow_pending = false;  // of a step that did not come to its end
    if (!m_fault) std::rethrow_exception(failure);
    if (m_fault->stage == 1) m_state.data.swap(m_second);  // the other stages end where steps do
    m_state.step = m_fault->where.step;
    m_state.time = m_fault->where.time;
    throw unphysical_state(m_fault->where);
  }

  /// Where a run is, and the states that a stage works on. By value in each
  /// task, for the clock goes on while tasks run, and states change places.
  struct moment {
    long step;
    double time;
    int stage;
    const double* start;  // of the step
    const double* u;      // before the stage
    double* next;         // after it
  };
  [[nodiscard]] moment at(int stage) {
    double* const u[] = {m_state.data.data(), m_first.data(), m_second.data()};
    return {m_state.step, m_state.time, stage, u[0], u[stage], u[stage == 1 ? 2 : 1]};
  }

  template <class T>
  [[nodiscard]] static T* part(T* all, int n) {
    return all + index_type{n} * compact.block;
  }
  /// Own sub-grids, numbered from 0 on.
  [[nodiscard]] int count() const { return m_part.count(); }
  /// Among those of the domain.
  [[nodiscard]] int number(int n) const { return m_part.first() + n; }
  [[nodiscard]] const int* slots() const {
    return m_part.slots().empty() ? nullptr : m_part.slots().data();
  }
  /// Who is to be waited for: own sub-grids, and halos, which are numbered behind them. Who reads
  /// whom: the same lists, because directions come in opposite pairs.
  void find_neighbours() {
    std::vector<int> source(std::size_t(m_part.slot_count()));
    for (int n = 0; n < count(); ++n) source[std::size_t(n)] = n;
    for (int h = 0; h < int(m_sent.size()); ++h)
      for (const halo_box& box : m_halos.all()[std::size_t(h)].incoming)
        source[std::size_t(box.slot)] = count() + h;
    m_neighbours.resize(std::size_t(count()));
    for (int n = 0; n < count(); ++n) {
      auto& list = m_neighbours[std::size_t(n)];
      for (int d = 0; d < direction_count; ++d) {
        const int read = m_state.grid.source(number(n), d, m_state.boundary).subgrid;
        const int slot = slots() == nullptr ? read : slots()[read];
        if (const int other = source[std::size_t(slot)]; other != n) list.push_back(other);
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  /// Spawns the tasks of a stage. None waits for a stage as a whole: a sub-grid goes on when its
  /// neighbours let it. Of the three states each is written when nobody reads it any more: the
  /// first stage's target was the start of the step before, and the second stage's was read in that
  /// step, all of which is over when there is a time step; the last stage's was read by the second
  /// stage of those whom the sub-grid waits for.
  void start_stage(int stage) {
    const moment now = at(stage);
    std::vector<signal> done;
    for (int n = 0; n < count(); ++n) done.push_back(start(do_stage(n, now, around(n))));
    exchange(std::move(done), now.next,
             stage == stage_count - 1 ? halo_fields::all_but_tracer : halo_fields::all);
  }

  /// `done` makes the state `u`: whoever reads it waits for that, and for what other parts send of
  /// theirs. They read what is sent before it changes again, because the changes need their
  /// answers.
  void exchange(std::vector<signal> done, double* u, halo_fields which) {
    for (std::size_t h = 0; h < m_sent.size(); ++h) {
      std::vector<signal> writers;
      for (const halo_box& box : m_halos.all()[h].outgoing)
        writers.push_back(done[std::size_t(box.slot)]);
      m_sent[h] = start(m_halos.send(h, u, which, std::move(writers), m_sent[h]));
    }
    for (std::size_t h = 0; h < m_sent.size(); ++h)
      done.push_back(start(m_halos.receive(h, u, which, m_ready[std::size_t(count()) + h])));
    m_ready = std::move(done);
  }

  /// The time step is found after the fluxes of the first stage; yields when it is.
  signal start_first_stage() {
    const moment now = at(0);
    std::vector<signal> fluxes_done;
    for (int n = 0; n < count(); ++n)
      fluxes_done.push_back(start(find_first_rate(n, now, around(n))));
    signal dt_chosen = start(choose_time_step(std::move(fluxes_done)));
    std::vector<signal> done;
    for (int n = 0; n < count(); ++n) done.push_back(start(do_first_update(n, now, dt_chosen)));
    exchange(std::move(done), now.next, halo_fields::all);
    return dt_chosen;
  }

  void start_synchronization() {
    double* u = at(stage_count - 1).next;
    std::vector<signal> synchronized;
    for (int n = 0; n < count(); ++n)
      synchronized.push_back(start(synchronize_tracer(n, u, around(n))));
    exchange(std::move(synchronized), u, halo_fields::tracer);
  }

  signal start(starling::task<> t) {
    return m_running.emplace_back(starling::spawn(std::move(t)).share());
  }

  /// When a sub-grid and its neighbours are ready. The sub-grid itself comes first, so that no task
  /// ends before the sub-grid's last one, even if another neighbour's fails.
  [[nodiscard]] std::vector<signal> around(int n) const {
    std::vector<signal> picked = {m_ready[std::size_t(n)]};
    for (const int other : m_neighbours[std::size_t(n)])
      picked.push_back(m_ready[std::size_t(other)]);
    return picked;
  }

  static starling::task<> wait_all(std::vector<signal> inputs) {
    for (const signal& s : inputs) co_await s;
  }

  starling::task<> do_stage(int n, moment now, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const workspace_pool::loan lent = co_await m_workspaces.borrow();
    workspace& w = *lent;
    co_await find_rate(n, now, w, w.rate.data());
    update_state(n, now, w.rate.data());
  }

  /// Leaves the rate where the next state will be.
  starling::task<> find_first_rate(int n, moment now, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const workspace_pool::loan lent = co_await m_workspaces.borrow();
    workspace& w = *lent;
    co_await find_rate(n, now, w, part(now.next, n));
    run_loop(reduce_max{w.host_speeds.data(), &m_fastest[std::size_t(n)], speed_block, 1});
  }
  starling::task<> do_first_update(int n, moment now, signal dt_chosen) {
    co_await dt_chosen;
    update_state(n, now, part(now.next, n));
  }

  /// Ghosts, the five kernels on the device, and from their fluxes the rate of change.
  starling::task<> find_rate(int n, const moment& now, workspace& w, double* rate) {
    run_loop(ghosts_of(now.u, m_state, m_scheme, number(n), int(host_vector::size()),
                       w.host_u.data(), false, slots()));
    co_await run_kernels(n, w);
    run_loop(divergence{w.host_fluxes.data(), part(now.u, n), rate, 1, 1.0 / m_state.grid.dx(),
                        m_scheme.omega});
    run_loop(outflow_rate{w.host_fluxes.data(), &m_leaving[std::size_t(n) * field_count],
                          m_state.grid, number(n), 1, m_state.boundary});
  }

  starling::task<> run_kernels(int n, workspace& w) {
    if (m_aggregators.empty()) {
      queue_kernels(n, w, w.stream);
      co_await w.stream.completion();
    } else {
      starling::sequence all = m_aggregators[w.device].begin();
      queue_kernels(n, w, all);
      co_await all.completion();
    }
  }
  template <class Queue>
  void queue_kernels(int n, workspace& w, Queue& queue) {
    const stage_kernels k = make_stage(w.arrays(), m_state.grid, number(n), 1, m_scheme, w.lanes);
    queue.copy(w.u, w.host_u);
    submit(queue, k.pressure);
    submit(queue, k.jump);
    submit(queue, k.prepare);
    submit(queue, k.points);
    submit(queue, k.fluxes);
    queue.copy(w.host_fluxes, w.fluxes);
    queue.copy(w.host_speeds, w.speeds);
  }

  /// The one barrier of a step: the time step needs every sub-grid's fastest signal.
  starling::task<> choose_time_step(std::vector<signal> fluxes_done) {
    const std::exception_ptr failure = co_await all_over(std::move(fluxes_done));
    double fastest = 0.0;
    run_loop(reduce_max{m_fastest.data(), &fastest, count(), 1});
    fastest = co_await agree(failure, fastest);
    co_await account_outflow();  // of the step before: its updates are over, this one's are to come
    m_outflow_pending = true;
    run_loop(time_step{&fastest, m_clock.data(), 1, m_scheme.cfl, m_state.grid.dx()});
  }

  /// When the rate and the time step are known.
  void update_state(int n, const moment& now, const double* rate) {
    const std::size_t fields = std::size_t(n) * field_count;
    double* next = part(now.next, n);
    run_loop(outflow_update{&m_amount[fields], &m_leaving[fields], m_clock.data(), 1, now.stage});
    run_loop(update{next, part(now.u, n), part(now.start, n), rate, m_clock.data(), 1, now.stage});
    if (m_scheme.floors.enabled)
      run_loop(apply_floors{next, 1, m_scheme.effective_gamma(), m_scheme.floors});
    check(n, now);
  }

  void check(int n, const moment& now) {
    double faults[edge * edge];
    run_loop(find_fault{part(now.next, n), faults, m_state.grid, number(n), 1});
    const double first = *std::max_element(std::begin(faults), std::end(faults));
    if (first == 0.0) return;
    const fault found{now.stage,
                      unphysical_in(part(now.next, n), find_fault::cell_of(m_state.grid, first),
                                    now.step, now.time)};
    const std::lock_guard lock(m_fault_lock);
    if (!m_fault || found.before(*m_fault)) m_fault = found;
    throw unphysical_state(found.where);
  }

  /// Reads the neighbours' energies, which nobody changes any more in this step.
  starling::task<> synchronize_tracer(int n, double* u, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    std::vector<double> energy(ghosted.field);
    run_loop(ghosts_of(u, m_state, m_scheme, number(n), int(host_vector::size()), energy.data(),
                       true, slots()));
    run_loop(synchronize_tau{part(u, n), energy.data(), 1, m_scheme.effective_gamma()});
  }

  /// Adds what left the domain in the last complete step; nothing when that is done already.
  starling::task<> account_outflow() {
    if (!std::exchange(m_outflow_pending, false)) co_return;
    if (m_others != nullptr) co_return co_await m_others->account(m_amount);
    for (std::size_t f = 0; f < field_count; ++f) {
      double sum = 0.0;  // in the order of end_step, for the same bits
      for (int n = 0; n < count(); ++n) sum += m_amount[std::size_t(n) * field_count + f];
      m_state.outflow[f] += sum;
    }
  }

  snapshot m_state;
  scheme m_scheme;
  other_parts* m_others;  // null: this is the whole domain
  partition m_part;
  host_halos m_halos;
  workspace_pool m_workspaces;
  std::deque<starling::aggregator> m_aggregators;  // of each device, or none
  std::vector<std::vector<int>> m_neighbours;
  std::array<double, clock_entry::count> m_clock{};
  std::vector<signal> m_ready;    // per sub-grid and halo: its state after the last stage started
  std::vector<signal> m_sent;     // per halo: its last message
  std::vector<signal> m_running;  // everything started and perhaps not over, of two steps at most
  bool m_outflow_pending = false;
  std::mutex m_fault_lock;
  std::optional<fault> m_fault;  // the earliest; all of one step, as no later one has a time step
  bool m_failed = false;
  // After a step's first stage, and after its second; what ends its last one is in m_state.
  std::vector<double> m_first, m_second;
  std::vector<double> m_leaving, m_amount, m_fastest;
};

}  // namespace

std::unique_ptr<simulation> make_staged(starling::runtime& rt, snapshot initial,
                                        const scheme& numerics, const staged_options& how,
                                        other_parts* others) {
  return std::make_unique<staged>(rt, std::move(initial), numerics, how, others);
}

}  // namespace sedov
