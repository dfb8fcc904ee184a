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
#include "mesh/part_order.hpp"
#include "placement/host_halos.hpp"
#include "placement/others.hpp"
#include "placement/serial.hpp"
#include "placement/simulation.hpp"
#include "placement/step.hpp"
#include "placement/workspaces.hpp"
#include "problems/test_one.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/moves.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars {
namespace {

class staged final : public part_simulation {
 public:
  staged(starling::runtime& rt, snapshot initial, const scheme& numerics, const staged_options& how,
         other_parts* others)
      : m_runtime(rt), m_how(how), m_state(std::move(initial)), m_scheme(numerics),
        m_others(others),
        m_plan(others == nullptr ? plan_whole(m_state, numerics.error.dropped_direction)
                                 : others->mine()),
        m_order(m_plan), m_halos(others),
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
    for (std::size_t d = 0; d < all.count(); ++d)
      m_frames.push_back(all.device(d).allocate<subgrid_frame>(starling::memory_kind::device,
                                                               m_plan.frames.size()));
    const auto n = std::size_t(count());
    for (auto& state : m_states) state.resize(std::size_t(m_plan.slot_count) * compact.block);
    to_slots(m_plan, m_state.data.data(), m_states[0].data());
    for (auto* array : {&m_leaving, &m_amount}) array->resize(n * field_count);
    m_fastest.resize(n);
    m_means.resize(std::size_t(m_plan.face_rows) * face_row);
    m_corrected.resize(std::size_t(count() - m_plan.corrected) * flux_block);
    const signal now = starling::make_ready_future().share();
    m_ready.assign(std::size_t(m_order.size()), now);
    m_halo.assign(halo_count(), {now, now, now, now, now, now});
  }

  starling::task<double> step(double longest) override {
    m_clock[clock_entry::time] = m_state.time;
    m_clock[clock_entry::stop] = m_state.time + longest;
    const std::size_t before = m_running.size();
    // Reserves memory first, so that recording a started task cannot fail.
    m_running.reserve(before + step_list.size() * (m_ready.size() + 2 * halo_count()) + 8);
    start_first_fill();
    for (const step_entry& entry : step_list) start(entry);
    std::exception_ptr failure;
    try {
      co_await m_dt_chosen;
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) co_await fail(failure);
    // The time step needs every sub-grid, so that all tasks of the previous step are over except
    // sends, for which the next sends wait.
    m_running.erase(m_running.begin(), m_running.begin() + std::ptrdiff_t(before));
    m_states[0].swap(m_states[1]);  // the result of the last stage; tasks hold pointers
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
    from_slots(m_plan, m_states[0].data(), m_state.data.data());
    co_return m_state;
  }

  starling::task<std::vector<leaf_flags>> test(std::vector<refinement_rule> rules) override {
    co_await fill_slots();
    const auto n = std::size_t(count());
    std::vector<leaf_flags> flags(n);
    std::vector<signal> tasks;
    for (int k = 0; k < count(); ++k)
      tasks.push_back(
          starling::spawn(test_leaf(m_plan.slots[std::size_t(k)], rules, &flags[std::size_t(k)]))
              .share());
    co_await wait_all(std::move(tasks));
    co_return flags;
  }

  starling::task<std::vector<double>> rows_of(leaf_moves sent) override {
    std::vector<double> rows(rows_in(sent) * compact.block);
    co_await make_leaves(std::move(sent), rows.data());
    co_return rows;
  }

  starling::task<std::unique_ptr<part_simulation>> next(mesh grid, leaf_moves kept,
                                                        std::vector<moved_leaves> received,
                                                        other_parts* others) override {
    snapshot state = m_state;
    state.grid = std::move(grid);
    const int first = others == nullptr ? 0 : others->mine().first;
    const int leaves = others == nullptr ? state.grid.subgrid_count() : others->mine().count;
    state.data.assign(std::size_t(leaves) * compact.block, 0.0);
    co_await make_leaves(std::move(kept), state.data.data());
    std::vector<double> rows;
    for (const moved_leaves& message : received) {
      rows.resize(message.leaves.size() * compact.block);
      const auto moves = unpack_pieces(message, first, leaves, rows.data());
      run_loop(move_leaves{rows.data(), state.data.data(), moves.data(), int(moves.size())});
    }
    co_return make_staged(m_runtime, std::move(state), m_scheme, m_how, others);
  }

  [[nodiscard]] starling::aggregation_statistics aggregated() const override {
    starling::aggregation_statistics sum;
    for (const starling::aggregator& a : m_aggregators) sum += a.statistics();
    return sum;
  }

 private:
  /// Waits for all tasks. Returns the exception of the first one that failed, in their order.
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

  /// Throws after all tasks have ended: the fault that the serial driver would find first, if there
  /// is any, otherwise `failure`.
  starling::task<> fail(std::exception_ptr failure) {
    m_failed = true;
    static_cast<void>(co_await drain());
    m_outflow_pending = false;  // of a step that was not completed
    if (!m_fault) std::rethrow_exception(failure);
    if (m_fault->stage == 1) m_states[0].swap(m_states[2]);  // the other stages end in the first
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
    return {m_state.step,
            m_state.time,
            stage,
            m_states[0].data(),
            m_states[std::size_t(stage)].data(),
            m_states[stage == 1 ? 2 : 1].data()};
  }

  template <class T>
  [[nodiscard]] static T* part(T* all, int n) {
    return all + index_type{n} * compact.block;
  }
  /// Returns the number of own sub-grids, whose slots are the first ones.
  [[nodiscard]] int count() const { return m_plan.count; }
  [[nodiscard]] std::size_t halo_count() const { return m_plan.halos.size(); }

  /// Copies the frames to each device.
  starling::task<> upload_frames() {
    for (starling::buffer<subgrid_frame>& on_device : m_frames) {
      starling::device& where = starling::devices(*starling::runtime::current())
                                    .device(std::size_t(&on_device - m_frames.data()));
      starling::stream s = where.make_stream();
      auto on_host = where.allocate<subgrid_frame>(starling::memory_kind::pinned, on_device.size());
      std::copy(m_plan.frames.begin(), m_plan.frames.end(), on_host.begin());
      s.copy(on_device, on_host);
      co_await s.completion();
    }
  }

  // --- The operations of a step. Each starts tasks, which wait for what they read, and for the
  // readers of what they overwrite.

  signal start(starling::task<> t) {
    return m_running.emplace_back(starling::spawn(std::move(t)).share());
  }

  void start(const step_entry& entry) {
    const moment now = at(entry.stage);
    switch (entry.what) {
      case operation::find_fluxes:
        return start_fluxes(now);
      case operation::exchange_fluxes:
        return start_flux_exchange();
      case operation::correct_fluxes:
        return start_corrections(now);
      case operation::choose_time_step:
        m_dt_chosen = start(choose_time_step(fluxes()));
        return;
      case operation::update:
        return start_updates(now);
      case operation::restrict_cells:
        return start_restrictions(now.next, entry.fields);
      case operation::exchange_cells:
        return start_cell_exchange(now.next, entry.fields);
      case operation::prolong_cells:
        return start_prolongations(now.next, entry.fields == field_set::energy);
      case operation::synchronize_tracer:
        return start_synchronization(now.next);
      case operation::end_step:
        return;  // the next choose_time_step, or finish
    }
  }

  /// Fills the slots of other levels and other parts for the first step.
  void start_first_fill() {
    if (std::exchange(m_uploaded, true)) return;
    std::fill(m_ready.begin(), m_ready.end(), start(upload_frames()));
    double* u = m_states[0].data();
    start_restrictions(u, field_set::all);
    start_cell_exchange(u, field_set::all);
    start_prolongations(u, false);
  }

  /// Fluxes, and, where they are final, the rate and in later stages the update. This is the first
  /// task of a stage that writes cells of the leaf, in `next`: it waits for their readers.
  void start_fluxes(const moment& now) {
    std::vector<signal> ready = m_ready;
    for (int n = 0; n < count(); ++n) {
      std::vector<signal> inputs = around(n);
      for (const int h : m_order.halos_of(n))
        inputs.push_back(m_halo[std::size_t(h)].cells_sent_before);
      for (const int h : m_order.flux_halos_of(n))
        inputs.push_back(m_halo[std::size_t(h)].fluxes_sent);
      ready[std::size_t(n)] = start(find_fluxes(n, now, std::move(inputs)));
    }
    m_ready.swap(ready);
  }
  [[nodiscard]] std::vector<signal> fluxes() const {
    return {m_ready.begin(), m_ready.begin() + count()};
  }

  void start_flux_exchange() {
    for (std::size_t h = 0; h < halo_count(); ++h) {
      std::vector<signal> writers{m_halo[h].sent}, readers{m_halo[h].received};
      for (const int leaf : m_order.fluxes_sent(int(h)))
        writers.push_back(m_ready[std::size_t(leaf)]);
      for (const coarse_face& face : m_plan.coarse_faces)
        readers.push_back(m_ready[std::size_t(face.slot)]);
      halo_signals& now = m_halo[h];
      now.sent = now.fluxes_sent =
          start(m_halos.send_fluxes(h, m_means.data(), std::move(writers)));
      now.received = now.fluxes_received =
          start(m_halos.receive_fluxes(h, m_means.data(), std::move(readers)));
    }
  }

  void start_corrections(const moment& now) {
    std::vector<signal> found = fluxes();
    for (int n = m_plan.corrected; n < count(); ++n) {
      std::vector<signal> inputs{found[std::size_t(n)]};
      for (const int other : m_order.reads(m_order.leaf(n))) {
        // Leaves on the fine side are read by way of restrictions.
        const int k = other - m_order.restriction(0);
        if (k >= 0 && other < m_order.prolongation(0))
          inputs.push_back(found[std::size_t(m_plan.restrictions[std::size_t(k)].fine)]);
        if (other >= m_order.received(0))
          inputs.push_back(m_halo[std::size_t(other - m_order.received(0))].fluxes_received);
      }
      m_ready[std::size_t(n)] = start(correct(n, now, std::move(inputs)));
    }
  }

  void start_updates(const moment& now) {
    for (int n = 0; n < count(); ++n)
      if (now.stage == 0) m_ready[std::size_t(n)] = start(do_first_update(n, now, m_dt_chosen));
  }

  starling::task<> fill_slots() {
    start_first_fill();
    const std::exception_ptr failure = co_await drain();
    if (failure) std::rethrow_exception(failure);
  }
  [[nodiscard]] ghost_fill ghosts_into(double* to, const double* from, int n) const {
    return ghosts_of(from, m_plan.view(), n, int(host_vector::size()), to, false,
                     m_scheme.weight());
  }
  starling::task<> test_leaf(int n, std::span<const refinement_rule> rules, leaf_flags* flags) {
    std::vector<double> u(ghosted.block);
    run_loop(ghosts_into(u.data(), m_states[0].data(), n));
    *flags = test_one(u.data(), rules);
    co_return;
  }
  /// Makes leaves of the next tree from own ones.
  starling::task<> make_leaves(leaf_moves moves, double* to) {
    co_await fill_slots();
    present_to_slots(m_plan, moves);
    const double* u = m_states[0].data();
    run_loop(move_leaves{u, to, moves.copies.data(), int(moves.copies.size())});
    run_loop(restriction{u, to, moves.restrictions.data(), int(moves.restrictions.size())});
    std::vector<signal> tasks;
    for (const level_link& link : moves.prolongations)
      tasks.push_back(starling::spawn(prolong(&link, u, to)).share());
    co_await wait_all(std::move(tasks));
  }
  starling::task<> prolong(const level_link* link, const double* from, double* to) {
    run_loop(prolongation{from, to, m_plan.frames.data(), m_plan.sources.data(), link, 1,
                          theta_of_refinement, int(host_vector::size()), false, m_scheme.weight()});
    co_return;
  }

  void start_restrictions(double* u, field_set fields) {
    for (int k = 0; k < int(m_plan.restrictions.size()); ++k) {
      signal& ready = m_ready[std::size_t(m_order.restriction(k))];
      ready = start(restrict_cells(k, u, fields, with_reads(m_order.restriction(k))));
    }
  }
  void start_prolongations(double* u, bool energy_only) {
    for (int k = 0; k < int(m_plan.prolongations.size()); ++k) {
      const int fill = m_order.prolongation(k);
      std::vector<signal> inputs = with_reads(fill);
      for (const int reader : m_order.readers(fill)) inputs.push_back(m_ready[std::size_t(reader)]);
      m_ready[std::size_t(fill)] = start(prolong_cells(k, u, energy_only, std::move(inputs)));
    }
  }
  void start_cell_exchange(double* u, field_set fields) {
    std::vector<signal> received;
    for (std::size_t h = 0; h < halo_count(); ++h) {
      std::vector<signal> writers{m_halo[h].sent}, readers{m_halo[h].received};
      for (const int fill : m_order.sent(int(h))) writers.push_back(m_ready[std::size_t(fill)]);
      for (const int reader : m_order.readers(m_order.received(int(h))))
        readers.push_back(m_ready[std::size_t(reader)]);
      halo_signals& now = m_halo[h];
      now.cells_sent_before = now.cells_sent;
      now.sent = now.cells_sent = start(m_halos.send_cells(h, u, fields, std::move(writers)));
      now.received = start(m_halos.receive_cells(h, u, fields, std::move(readers)));
      received.push_back(now.received);
    }
    std::copy(received.begin(), received.end(), m_ready.begin() + m_order.received(0));
  }

  void start_synchronization(double* u) {
    std::vector<signal> ready = m_ready;
    for (int n = 0; n < count(); ++n)
      ready[std::size_t(n)] = start(synchronize_tracer(n, u, around(n)));
    m_ready.swap(ready);
  }

  /// Returns the signals of a fill and of those that it reads. Its own comes first: no task ends
  /// before the previous one of its fill, even if another one fails.
  [[nodiscard]] std::vector<signal> with_reads(int fill) const {
    std::vector<signal> picked = {m_ready[std::size_t(fill)]};
    for (const int other : m_order.reads(fill)) picked.push_back(m_ready[std::size_t(other)]);
    return picked;
  }
  /// Returns these signals of a leaf, and those of its readers.
  [[nodiscard]] std::vector<signal> around(int n) const {
    std::vector<signal> picked = with_reads(n);
    const std::vector<int>& known = m_order.reads(n);
    for (const int reader : m_order.readers(n))
      if (reader != n && !std::binary_search(known.begin(), known.end(), reader))
        picked.push_back(m_ready[std::size_t(reader)]);
    return picked;
  }

  static starling::task<> wait_all(std::vector<signal> inputs) {
    for (const signal& s : inputs) co_await s;
  }

  // --- The tasks.

  [[nodiscard]] bool is_corrected(int n) const { return n >= m_plan.corrected; }
  [[nodiscard]] double* corrected_fluxes(int n) {
    return m_corrected.data() + index_type{n - m_plan.corrected} * flux_block;
  }

  starling::task<> find_fluxes(int n, moment now, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const workspace_pool::loan lent = co_await m_workspaces.borrow();
    const busy_clock::piece work(m_clock_of_work);
    workspace& w = *lent;
    run_loop(ghosts_into(w.host_u.data(), now.u, n));
    co_await run_kernels(n, w);
    const subgrid_frame* frame = &m_plan.frames[std::size_t(n)];
    if (now.stage == 0) {
      run_loop(scale_speeds{w.host_speeds.data(), frame, m_state.grid.dx(), 1});
      run_loop(reduce_max{w.host_speeds.data(), &m_fastest[std::size_t(n)], speed_block, 1});
    }
    const auto faces = m_plan.fine_faces_of(n, 1);
    run_loop(mean_fluxes{w.host_fluxes.data(), m_means.data(), faces.data(), n, int(faces.size())});
    if (is_corrected(n)) {
      std::copy(w.host_fluxes.begin(), w.host_fluxes.end(), corrected_fluxes(n));
    } else {
      finish_fluxes(n, now, w.host_fluxes.data(), w.rate.data());
    }
  }
  starling::task<> correct(int n, moment now, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const busy_clock::piece work(m_clock_of_work);
    double* fluxes = corrected_fluxes(n);
    const auto faces = m_plan.coarse_faces_of(n, 1);
    if (!m_scheme.error.fluxes_uncorrected)
      run_loop(correct_fluxes{fluxes, m_means.data(), faces.data(), n, int(faces.size())});
    std::vector<double> rate(compact.block);
    finish_fluxes(n, now, fluxes, rate.data());
  }
  /// Computes the rate. In the first stage the time step is not determined yet: the rate goes into
  /// the memory of the next state. Later stages update the leaf at once.
  void finish_fluxes(int n, const moment& now, const double* fluxes, double* work) {
    const subgrid_frame* frame = &m_plan.frames[std::size_t(n)];
    double* rate = now.stage == 0 ? part(now.next, n) : work;
    run_loop(divergence{fluxes, part(now.u, n), rate, frame, 1, m_scheme.omega, m_scheme.gravity});
    run_loop(outflow_rate{fluxes, m_leaving.data(), frame, m_plan.first, 1, m_scheme.gravity});
    if (now.stage > 0) update_state(n, now, rate);
  }
  starling::task<> do_first_update(int n, moment now, signal dt_chosen) {
    co_await dt_chosen;
    const busy_clock::piece work(m_clock_of_work);
    update_state(n, now, part(now.next, n));
  }

  starling::task<> restrict_cells(int k, double* u, field_set fields, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const busy_clock::piece work(m_clock_of_work);
    run_loop(restriction{u, u, &m_plan.restrictions[std::size_t(k)], 1, fields});
  }
  starling::task<> prolong_cells(int k, double* u, bool energy_only, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const busy_clock::piece work(m_clock_of_work);
    run_loop(prolongation{u, u, m_plan.frames.data(), m_plan.sources.data(),
                          &m_plan.prolongations[std::size_t(k)], 1, theta_of_ghosts,
                          int(host_vector::size()), energy_only, m_scheme.weight()});
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
    const std::size_t fields =
        std::size_t(m_plan.frames[std::size_t(n)].number - m_plan.first) * field_count;
    double* next = part(now.next, n);
    run_loop(outflow_update{&m_amount[fields], &m_leaving[fields], m_clock.data(), 1, now.stage});
    run_loop(update{next, part(now.u, n), part(now.start, n), rate, m_clock.data(), 1, now.stage});
    if (m_scheme.floors.enabled)
      run_loop(apply_floors{next, 1, m_scheme.effective_gamma(), m_scheme.floors});
    check(n, now);
  }

  void check(int n, const moment& now) {
    double faults[edge * edge];
    const std::ptrdiff_t cells = m_state.grid.cell_count();
    run_loop(find_fault{part(now.next, n), faults, &m_plan.frames[std::size_t(n)], cells, 1});
    const double first = *std::max_element(std::begin(faults), std::end(faults));
    if (first == 0.0) return;
    const fault found{
        now.stage, unphysical_in(m_state.grid, part(now.next, n), find_fault::cell_of(cells, first),
                                 now.step, now.time)};
    const std::lock_guard lock(m_fault_lock);
    if (!m_fault || found.before(*m_fault)) m_fault = found;
    throw unphysical_state(found.where);
  }

  /// Re-sets the tracer. Reads the neighbours' energies, which do not change any more in this step.
  starling::task<> synchronize_tracer(int n, double* u, std::vector<signal> inputs) {
    co_await wait_all(std::move(inputs));
    const busy_clock::piece work(m_clock_of_work);
    std::vector<double> energy(ghosted.field);
    run_loop(ghosts_of(u, m_plan.view(), n, int(host_vector::size()), energy.data(), true));
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

  starling::runtime& m_runtime;
  staged_options m_how;
  snapshot m_state;
  scheme m_scheme;
  other_parts* m_others;  // null: this is the whole domain
  busy_clock* m_clock_of_work = m_others == nullptr ? nullptr : &m_others->busy();
  part_plan m_plan;
  part_order m_order;
  std::vector<starling::buffer<subgrid_frame>> m_frames;  // on each device
  bool m_uploaded = false;
  host_halos m_halos;
  workspace_pool m_workspaces;
  std::deque<starling::aggregator> m_aggregators;  // one for each device, or none
  std::array<double, clock_entry::count> m_clock{};
  std::vector<signal> m_ready;  // by fill: its last started task
  /// The last messages of a halo, of any kind and of each kind. Both parts send and receive all of
  /// them in the same order.
  struct halo_signals {
    signal sent, received;
    signal cells_sent, cells_sent_before;
    signal fluxes_sent, fluxes_received;
  };
  std::vector<halo_signals> m_halo;
  signal m_dt_chosen;
  std::vector<signal> m_running;  // started tasks that may be running, of two steps at most
  bool m_outflow_pending = false;
  std::mutex m_fault_lock;
  std::optional<fault> m_fault;  // the first; all are of one step, as later steps have no dt
  bool m_failed = false;
  // At the start of a step; after its first, then its last stage; after its second stage.
  std::array<std::vector<double>, 3> m_states;  // [slots][15][512]
  std::vector<double> m_means;      // [rows][15][4][4]: fluxes through faces between levels
  std::vector<double> m_corrected;  // fluxes of corrected sub-grids
  std::vector<double> m_leaving, m_amount, m_fastest;
};

}  // namespace

std::unique_ptr<part_simulation> make_staged(starling::runtime& rt, snapshot initial,
                                             const scheme& numerics, const staged_options& how,
                                             other_parts* others) {
  return std::make_unique<staged>(rt, std::move(initial), numerics, how, others);
}

}  // namespace stars
