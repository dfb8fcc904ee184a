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

#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "placement/host_halos.hpp"
#include "placement/others.hpp"
#include "placement/serial.hpp"
#include "placement/simulation.hpp"
#include "placement/workspaces.hpp"
#include "transfer/ghosts.hpp"

namespace stars {
namespace {

std::size_t streams_of(starling::device& where, const staged_options& how) {
  return how.streams == 0 ? where.pool().size() : how.streams;
}

/// Returns how many sub-grids may be in flight on one device: with an aggregator a full batch on
/// each stream and one batch that is gathered, otherwise one sub-grid on each stream.
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
        m_part(others == nullptr ? partition(m_state.grid) : others->mine()),
        m_tables(m_state.grid, m_state.boundary, m_part, numerics.error.dropped_direction),
        m_halos(others), m_workspaces(starling::devices(rt),
                                      workspaces_for(starling::devices(rt).device(0), how, count()),
                                      how.aggregate <= 1, how.memory) {
    starling::device_set& all = starling::devices(rt);
    for (std::size_t d = 0; d < all.count() && how.aggregate > 1; ++d)
      m_aggregators.emplace_back(
          all.device(d),
          starling::aggregation{.most = std::min(how.aggregate, std::size_t(count())),
                                .streams = streams_of(all.device(d), how),
                                .name = "stage"});
    for (std::size_t d = 0; d < all.count(); ++d)
      m_frames.push_back(all.device(d).allocate<subgrid_frame>(starling::memory_kind::device,
                                                               m_tables.frames.size()));
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
    // Reserves memory first, so that recording a started task cannot fail.
    m_running.reserve(before + std::size_t(count()) * (stage_count + 2) + 2 +
                      2 * m_sent.size() * (stage_count + 1));
    if (!std::exchange(m_uploaded, true))
      std::fill(m_ready.begin(), m_ready.end(), start(upload_frames()));
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
    // The time step needs every sub-grid, so that all tasks of the previous step are over except
    // sends, for which the next sends wait.
    m_running.erase(m_running.begin(), m_running.begin() + std::ptrdiff_t(before));
    m_state.data.swap(m_first);  // the result of the last stage; tasks hold pointers
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
  /// Waits for all tasks. Returns the exception of the first failed task in the order of their
  /// start.
  starling::task<std::exception_ptr> drain() { return all_over(std::exchange(m_running, {})); }

  /// Returns the fastest signal of all parts of the domain.
  /// @throws unphysical_state if any part has a fault, otherwise `failure`, the exception of a task
  /// of this part
  starling::task<double> agree(std::exception_ptr failure, double fastest) {
    if (!failure || m_fault) fastest = co_await stars::agree(m_others, fastest, m_fault);
    if (m_fault) throw unphysical_state(m_fault->where);
    if (failure) std::rethrow_exception(failure);
    co_return fastest;
  }

  /// Throws after all tasks have ended, so that no earlier fault can be found: the fault that the
  /// serial driver would find first, if there is any, otherwise `failure`.
  starling::task<> fail(std::exception_ptr failure) {
    m_failed = true;
    static_cast<void>(co_await drain());
    m_outflow_pending = false;  // of a step that was not completed
    if (!m_fault) std::rethrow_exception(failure);
    if (m_fault->stage == 1) m_state.data.swap(m_second);  // the other stages end in m_state
    m_state.step = m_fault->where.step;
    m_state.time = m_fault->where.time;
    throw unphysical_state(m_fault->where);
  }

  /// The position of a run in time, and the states of a stage. Copied to each task, since the clock
  /// advances and states are swapped while tasks run.
  struct moment {
    long step;
    double time;
    int stage;
    const double* start;  // before the step
    const double* u;      // before the stage
    double* next;         // after the stage
  };
  [[nodiscard]] moment at(int stage) {
    double* const u[] = {m_state.data.data(), m_first.data(), m_second.data()};
    return {m_state.step, m_state.time, stage, u[0], u[stage], u[stage == 1 ? 2 : 1]};
  }

  template <class T>
  [[nodiscard]] static T* part(T* all, int n) {
    return all + index_type{n} * compact.block;
  }
  /// Returns the number of own sub-grids, which are numbered from 0 on.
  [[nodiscard]] int count() const { return m_part.count(); }
  /// Returns the cells of the domain from own sub-grid n on.
  [[nodiscard]] std::ptrdiff_t remaining(int n) const {
    return m_state.grid.cell_count() - std::ptrdiff_t{m_part.first() + n} * cells_per_subgrid;
  }
  /// Finds for each sub-grid the sources of its ghosts: own sub-grids, and halos, which are
  /// numbered after them. The same lists give the readers of a sub-grid, because directions come in
  /// opposite pairs.
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
        const int slot = m_tables.view().sources_of(n)[d].slot;
        if (const int other = source[std::size_t(slot)]; other != n) list.push_back(other);
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  /// Copies the frames to each device.
  starling::task<> upload_frames() {
    for (starling::buffer<subgrid_frame>& on_device : m_frames) {
      starling::device& where = starling::devices(*starling::runtime::current())
                                    .device(std::size_t(&on_device - m_frames.data()));
      starling::stream s = where.make_stream();
      auto on_host = where.allocate<subgrid_frame>(starling::memory_kind::pinned, on_device.size());
      std::copy(m_tables.frames.begin(), m_tables.frames.end(), on_host.begin());
      s.copy(on_device, on_host);
      co_await s.completion();
    }
  }

  /// Spawns the tasks of a stage. No task waits for a whole stage: a sub-grid continues when its
  /// neighbours are ready. Each of the three states is written only when no task reads it any more.
  /// The first stage writes the start of the previous step, and the second stage a state that was
  /// read in that step: the tasks of the sub-grid and its neighbours in that step are over by then.
  /// The last stage writes a state that was read by the second stage of the neighbours for which
  /// the sub-grid waits.
  void start_stage(int stage) {
    const moment now = at(stage);
    std::vector<signal> done;
    for (int n = 0; n < count(); ++n) done.push_back(start(do_stage(n, now, around(n))));
    exchange(std::move(done), now.next,
             stage == stage_count - 1 ? halo_fields::all_but_tracer : halo_fields::all);
  }

  /// Exchanges the halos of the state `u`, which the tasks `done` complete, and sets `m_ready`:
  /// readers of `u` wait for these tasks, and for the halos received from other parts. Cells are
  /// sent before they change again, because each change needs messages that other parts send only
  /// after they have received these cells.
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

  /// Starts the first stage. The time step is determined after its fluxes; the returned signal is
  /// set then.
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

  /// Returns the signals that a sub-grid and its neighbours are ready. The sub-grid itself comes
  /// first, so that no task ends before the previous task of its sub-grid, even if another
  /// neighbour's task fails.
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

  /// Computes the rate of the first stage, into the memory of the next state.
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

  /// Fills ghosts, runs the five kernels on the device, and computes the rate of change from their
  /// fluxes.
  starling::task<> find_rate(int n, const moment& now, workspace& w, double* rate) {
    run_loop(ghosts_of(now.u, m_tables.view(), n, int(host_vector::size()), w.host_u.data()));
    co_await run_kernels(n, w);
    const subgrid_frame* frame = &m_tables.frames[std::size_t(n)];
    run_loop(divergence{w.host_fluxes.data(), part(now.u, n), rate, frame, 1, m_scheme.omega});
    run_loop(
        outflow_rate{w.host_fluxes.data(), &m_leaving[std::size_t(n) * field_count], frame, 1});
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
    const stage_kernels k =
        make_stage(w.arrays(), m_frames[w.device].data() + n, 1, m_scheme, w.lanes);
    queue.copy(w.u, w.host_u);
    submit(queue, k.pressure);
    submit(queue, k.jump);
    submit(queue, k.prepare);
    submit(queue, k.points);
    submit(queue, k.fluxes);
    queue.copy(w.host_fluxes, w.fluxes);
    queue.copy(w.host_speeds, w.speeds);
  }

  /// Determines the time step: the only barrier of a step, since it needs every sub-grid's fastest
  /// signal.
  starling::task<> choose_time_step(std::vector<signal> fluxes_done) {
    const std::exception_ptr failure = co_await all_over(std::move(fluxes_done));
    double fastest = 0.0;
    run_loop(reduce_max{m_fastest.data(), &fastest, count(), 1});
    fastest = co_await agree(failure, fastest);
    co_await account_outflow();  // of the previous step; before this step's updates
    m_outflow_pending = true;
    run_loop(time_step{&fastest, m_clock.data(), 1, m_scheme.cfl, m_state.grid.dx()});
  }

  /// Updates a sub-grid. Called when the rate and the time step are determined.
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
    run_loop(find_fault{part(now.next, n), faults, remaining(n), 1});
    const double first = *std::max_element(std::begin(faults), std::end(faults));
    if (first == 0.0) return;
    const fault found{
        now.stage,
        unphysical_in(m_state.grid, part(now.next, n),
                      find_fault::cell_of(m_state.grid.cell_count(), first), now.step, now.time)};
    const std::lock_guard lock(m_fault_lock);
    if (!m_fault || found.before(*m_fault)) m_fault = found;
    throw unphysical_state(found.where);
  }

  /// Re-sets the tracer. Reads the neighbours' energies, which do not change any more in this step.
  starling::task<> synchronize_tracer(int n, double* u, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    std::vector<double> energy(ghosted.field);
    run_loop(ghosts_of(u, m_tables.view(), n, int(host_vector::size()), energy.data(), true));
    run_loop(synchronize_tau{part(u, n), energy.data(), 1, m_scheme.effective_gamma()});
  }

  /// Adds the outflow of the last complete step, unless it has been added already.
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
  subgrid_tables m_tables;
  std::vector<starling::buffer<subgrid_frame>> m_frames;  // on each device
  bool m_uploaded = false;
  host_halos m_halos;
  workspace_pool m_workspaces;
  std::deque<starling::aggregator> m_aggregators;  // one for each device, or none
  std::vector<std::vector<int>> m_neighbours;
  std::array<double, clock_entry::count> m_clock{};
  std::vector<signal> m_ready;    // by sub-grid and halo: its state after the last started stage
  std::vector<signal> m_sent;     // by halo: its last message
  std::vector<signal> m_running;  // started tasks that may be running, of two steps at most
  bool m_outflow_pending = false;
  std::mutex m_fault_lock;
  std::optional<fault> m_fault;  // the first; all are of one step, as later steps have no dt
  bool m_failed = false;
  // After the first and the second stage of a step. The last stage ends in m_first, which is then
  // swapped with m_state.data.
  std::vector<double> m_first, m_second;
  std::vector<double> m_leaving, m_amount, m_fastest;
};

}  // namespace

std::unique_ptr<simulation> make_staged(starling::runtime& rt, snapshot initial,
                                        const scheme& numerics, const staged_options& how,
                                        other_parts* others) {
  require_uniform(initial.grid, "staged");
  return std::make_unique<staged>(rt, std::move(initial), numerics, how, others);
}

}  // namespace stars
