// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "hydro/stage.hpp"
#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "placement/device_halos.hpp"
#include "placement/lane_set.hpp"
#include "placement/launch.hpp"
#include "placement/others.hpp"
#include "placement/resident_memory.hpp"
#include "placement/serial.hpp"
#include "placement/simulation.hpp"
#include "placement/step.hpp"
#include "placement/submit_stage.hpp"
#include "problems/test_leaves.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/moves.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars {
namespace {

using array = device_array;
using starling::memory_kind;

/// Returns the device of this rank: ranks of one host use its devices in turn.
starling::device& device_for(starling::runtime& rt, const other_parts* others) {
  starling::device_set& all = starling::devices(rt);
  return all.device(others == nullptr ? 0 : std::size_t(others->mine().number) % all.count());
}

class resident final : public part_simulation {
 public:
  resident(starling::runtime& rt, snapshot initial, const scheme& numerics,
           const resident_options& how, other_parts* others)
      : m_runtime(rt), m_how(how), m_state(std::move(initial)), m_scheme(numerics),
        m_others(others),
        m_plan(others == nullptr ? plan_whole(m_state, numerics.error.dropped_direction)
                                 : others->mine()),
        m_device(device_for(rt, others)), m_lanes_per_vector(lanes_of(m_device)),
        m_cut(cut_for(how.cut, numerics, m_device)), m_capture(how.capture),
        m_work(m_cut, numerics.quadrature), m_kept(first_kept()),
        m_batch(batch_size(how.aggregate)), m_main(m_device.make_stream()),
        m_tables(m_device, m_main, m_plan),
        m_halos(m_device, m_main, others), m_states{allocate_state(), allocate_state(),
                                                    allocate_state()},
        m_leaving(allocate(field_count)), m_amount(allocate(field_count)),
        m_speeds(allocate(speed_block)), m_faults(allocate(edge * edge)),
        m_means(
            m_device.allocate<double>(memory_kind::device, lane::size(m_plan.face_rows, face_row))),
        m_fluxes(m_device.allocate<double>(memory_kind::device,
                                           lane::size(count() - m_kept, flux_block))),
        m_maxima(m_device), m_small(m_device.allocate<double>(memory_kind::device, small_size)),
        m_host(m_device.allocate<double>(memory_kind::pinned, small_size)),
        m_host_amount(m_device.allocate<double>(
            memory_kind::pinned, others == nullptr ? 0 : lane::size(count(), field_count))),
        m_lanes(lane_count(how.aggregate), m_device, m_main, m_batch, m_work, count()) {
    upload();
  }

  starling::task<double> step(double longest) override {
    m_host.data()[clock_entry::time] = m_state.time;
    m_host.data()[clock_entry::stop] = m_state.time + longest;
    std::fill_n(m_host.data() + clock_entry::fault, stage_count, 0.0);
    co_await fill_slots();
    co_await run_step();
    co_await m_main.completion();
    co_await look_for_fault();
    std::swap(m_states[0], after(last_stage));
    const double dt = m_host.data()[clock_entry::dt];
    m_state.time += dt;
    m_state.step += 1;
    m_outflow_pending = m_others != nullptr;
    if (m_others == nullptr && m_fault) fail();  // else in the next step or `finish`
    co_return dt;
  }

  /// Waits for each lane as well: after a failed submission the main stream does not.
  starling::task<> finish() override {
    std::exception_ptr first;
    for (std::size_t i = 0; i <= m_lanes.size(); ++i) {
      try {
        co_await (i < m_lanes.size() ? m_lanes.stream(i) : m_main).completion();
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);  // ends the run: other parts may not answer
    co_await m_halos.wait_until_sent();
    if (!m_failed) co_await agree_on(0.0);
  }

  starling::task<snapshot> gather() override {
    co_await bring_back(m_states[0]);
    co_return m_state;
  }

  starling::task<std::vector<leaf_flags>> test(std::vector<refinement_rule> rules) override {
    co_await fill_slots();
    const auto n = std::size_t(count());
    auto on_device = apps::upload(m_device, m_main, rules);
    auto found = m_device.allocate<tested_rows>(memory_kind::device, n, m_main);
    auto flags = m_device.allocate<leaf_flags>(memory_kind::device, n, m_main);
    auto on_host = m_device.allocate<leaf_flags>(memory_kind::pinned, n);
    m_lanes.in_batches(0, count(), [&](lane& l, int first, int batch) {
      submit(m_lanes.stream_of(l), ghosts_from(m_states[0], l, first, batch, false));
      submit(m_lanes.stream_of(l), test_leaves{l.u.data(), on_device.data(), found.data() + first,
                                               int(rules.size()), batch});
    });
    submit(m_main, summarize_tests{found.data(), flags.data(), count()});
    m_main.copy(on_host, flags);
    co_await m_main.completion();
    std::vector<leaf_flags> in_order;
    for (const int slot : m_plan.slots) in_order.push_back(on_host.data()[slot]);
    co_return in_order;
  }

  starling::task<std::vector<double>> rows_of(leaf_moves sent) override {
    co_await fill_slots();
    array rows = m_device.allocate<double>(memory_kind::device,
                                           lane::size(int(rows_in(sent)), compact.block), m_main);
    array on_host = m_device.allocate<double>(memory_kind::pinned, rows.size());
    present_to_slots(m_plan, sent);
    make_leaves(sent, rows);
    m_main.copy(on_host, rows);
    co_await m_main.completion();
    co_return std::vector<double>(on_host.begin(), on_host.end());
  }

  starling::task<std::unique_ptr<part_simulation>> next(mesh grid, leaf_moves kept,
                                                        std::vector<moved_leaves> received,
                                                        other_parts* others) override {
    co_await fill_slots();
    snapshot state = m_state;
    state.grid = std::move(grid);
    state.data.clear();
    std::copy_n(m_host.data() + outflow_at, field_count, state.outflow.begin());
    auto made = std::make_unique<resident>(m_runtime, std::move(state), m_scheme, m_how, others);
    present_to_slots(m_plan, kept);
    next_to_slots(made->m_plan, kept);
    make_leaves(kept, made->m_states[0]);
    for (const moved_leaves& message : received) made->take(message);
    co_await m_main.completion();
    co_await made->m_main.completion();
    co_return made;
  }

 private:
  // Data that the host reads after a step, adjacent in memory: clock and total outflow.
  static constexpr std::size_t clock_at = 0;
  static constexpr std::size_t outflow_at = clock_entry::count;
  static constexpr std::size_t small_size = outflow_at + field_count;

  /// Returns the number of own sub-grids, whose slots are the first ones.
  [[nodiscard]] int count() const { return m_plan.count; }
  [[nodiscard]] double* small(std::size_t at) { return m_small.data() + at; }
  [[nodiscard]] array allocate(int block) {
    return m_device.allocate<double>(memory_kind::device, lane::size(count(), block));
  }
  [[nodiscard]] array allocate_state() {
    return m_device.allocate<double>(memory_kind::device,
                                     lane::size(m_plan.slot_count, compact.block));
  }
  static std::span<double> part(array& a, std::size_t at, std::size_t n) {
    return a.span().subspan(at, n);
  }

  /// Returns the sub-grids of a batch. On the host a sub-grid's arrays should stay in cache. A GPU
  /// needs as many threads as possible; batches use half of the memory that the states leave.
  [[nodiscard]] int batch_size(int wanted) const {
    if (wanted > 0 || on_host()) return std::clamp(wanted, 1, count());
    const double states = 8.0 * (3.0 * compact.block * m_plan.slot_count + speed_block * count() +
                                 flux_block * (count() - m_kept));
    const double room = (double(m_device.properties().memory_bytes) - states) / 2;
    return std::clamp(int(std::min(room / (8.0 * m_work.total()), 4096.0)), 1, count());
  }
  /// Returns the number of lanes: one if launches fill the device anyway, or if work is captured
  /// from one stream.
  [[nodiscard]] std::size_t lane_count(int aggregate) const {
    if (m_capture != capture_kind::none || (!on_host() && aggregate == 0)) return 1;
    return std::min(std::size_t((count() + m_batch - 1) / m_batch), m_device.pool().size());
  }

  /// Returns the first slot whose fluxes get memory of their own until coarse faces are corrected:
  /// that of the first corrected sub-grid. A GPU also stores the fluxes of sub-grids that read
  /// other parts, since one more launch of each kernel for these few would take more time.
  [[nodiscard]] int first_kept() const {
    const bool keeps = !on_host() || m_how.keeps_fluxes;
    return keeps && m_plan.corrected < count() ? m_plan.independent : m_plan.corrected;
  }
  [[nodiscard]] bool on_host() const { return on_processor(m_device); }

  /// Runs `work`, which submits operations. If this `kind` of work is to be captured, launches it
  /// as the graph of entry `number`, captured at first use: one for each parity of the step, as
  /// states are swapped.
  template <class Work>
  void perform(capture_kind kind, std::size_t number, Work work) {
    if (kind != m_capture) return work();
    starling::graph& g = m_graphs[std::size_t(m_state.step % 2)][number];
    if (g.empty()) g = m_main.capture(work);
    static_cast<void>(g.launch(m_main));
  }

  /// Fills the slots of other levels and other parts for the first step.
  starling::task<> fill_slots() {
    if (std::exchange(m_filled, true)) co_return;
    restrict_cells(m_states[0], field_set::all);
    co_await m_halos.send_cells(m_main, m_states[0].data(), field_set::all);
    co_await m_halos.receive_cells(m_main, m_states[0].data(), field_set::all);
    prolong_cells(m_states[0], field_set::all, share::all);
    co_await m_halos.wait_until_sent();
  }

  /// Returns whether an entry of the step waits for other parts.
  [[nodiscard]] bool meets_others(const step_entry& entry) const {
    return m_others != nullptr &&
           (entry.what == operation::exchange_fluxes || entry.what == operation::exchange_cells ||
            entry.what == operation::choose_time_step);
  }

  /// Does a step. What is between two meetings with other parts, or of one stage, may be a graph.
  starling::task<> run_step() {
    if (m_others == nullptr) {
      perform(capture_kind::step, 0, [this] { run_until(step_list.size(), 0, share::all); });
      co_return;
    }
    for (std::size_t k = 0; k < step_list.size();) {
      const step_entry& entry = step_list[k];
      if (!meets_others(entry)) {
        k = run_until(next_meeting(k), k, share::all);
      } else if (entry.what == operation::exchange_fluxes) {
        co_await m_halos.exchange_fluxes(m_main, m_means);
        ++k;
      } else if (entry.what == operation::choose_time_step) {
        co_await agree_on_time_step();
        ++k;
      } else {
        k = co_await exchange_cells(k);
      }
    }
  }
  /// Exchanges cells, and meanwhile runs the next entries for independent sub-grids. Returns the
  /// next meeting.
  starling::task<std::size_t> exchange_cells(std::size_t k) {
    const step_entry& entry = step_list[k];
    double* const state = after(entry.stage).data();
    const std::size_t next = next_meeting(k + 1);
    co_await m_halos.send_cells(m_main, state, entry.fields);
    std::size_t shared = k + 1;
    while (shared < next && is_shared(step_list[shared].what)) ++shared;
    run_until(shared, k + 1, share::independent);
    co_await m_halos.receive_cells(m_main, state, entry.fields);
    co_return run_until(next, k + 1, share::remaining);
  }
  [[nodiscard]] std::size_t next_meeting(std::size_t k) const {
    while (k < step_list.size() && !meets_others(step_list[k])) ++k;
    return k;
  }

  /// Runs the entries from `begin` to before `end`, stage by stage. Returns `end`.
  std::size_t run_until(std::size_t end, std::size_t begin, share which) {
    while (begin < end) {
      std::size_t next = begin;
      while (next < end && step_list[next].stage == step_list[begin].stage) ++next;
      const std::size_t number = begin + (which == share::independent ? step_list.size() : 0);
      perform(capture_kind::stage, number, [=, this] {
        if (begin == 0)
          m_main.copy(part(m_small, clock_at, clock_entry::count),
                      part(m_host, clock_at, clock_entry::count));
        for (std::size_t k = begin; k < next; ++k) run(step_list[k], which);
      });
      begin = next;
    }
    return end;
  }

  void run(const step_entry& entry, share which) {
    const int stage = entry.stage;
    switch (entry.what) {
      case operation::find_fluxes:
        return find_fluxes(stage, which);
      case operation::correct_fluxes:
        return correct(stage);
      case operation::choose_time_step:
        find_fastest();
        return choose_time_step();
      case operation::update:
        return finish_stage(stage);
      case operation::restrict_cells:
        return restrict_cells(after(stage), entry.fields);
      case operation::prolong_cells:
        return prolong_cells(after(stage), entry.fields, which);
      case operation::synchronize_tracer:
        return synchronize_tracer(which);
      case operation::end_step:
        return close_step();
      case operation::exchange_fluxes:
      case operation::exchange_cells:
        return;  // there are no other parts
    }
  }
  void find_fastest() {
    const index_type speeds = index_type{count()} * speed_block;
    if (!m_state.grid.is_uniform())
      submit(m_main,
             scale_speeds{m_speeds.data(), m_tables.frames.data(), m_state.grid.dx(), count()});
    m_maxima.find(m_main, m_speeds.data(), speeds, small(clock_at + clock_entry::fastest));
  }
  void choose_time_step() {
    submit(m_main, time_step{small(clock_at + clock_entry::fastest), small(clock_at), 1,
                             m_scheme.cfl, m_state.grid.dx()});
  }
  starling::task<> agree_on_time_step() {
    constexpr std::size_t fastest = clock_at + clock_entry::fastest;
    find_fastest();
    m_main.copy(part(m_host, fastest, 1), part(m_small, fastest, 1));
    co_await m_main.completion();
    m_host.data()[fastest] = co_await agree_on(m_host.data()[fastest]);
    m_main.copy(part(m_small, fastest, 1), part(m_host, fastest, 1));
    choose_time_step();
  }

  /// Agrees with all parts to continue or to fail. Returns the fastest signal.
  /// @throws unphysical_state
  starling::task<double> agree_on(double fastest) {
    fastest = co_await agree(m_others, fastest, m_fault);
    if (m_fault) fail();
    if (std::exchange(m_outflow_pending, false))
      co_await m_others->account({m_host_amount.begin(), m_host_amount.end()});
    co_return fastest;
  }

  /// Throws the fault, after the step in which it was found.
  [[noreturn]] void fail() {
    m_failed = true;
    if (m_fault->stage == 1) std::swap(m_states[0], m_states[2]);  // else it is in m_states[0]
    m_state.step = m_fault->where.step;
    m_state.time = m_fault->where.time;
    throw unphysical_state(m_fault->where);
  }

  /// Submits the making of sub-grids of `to` from own leaves; numbers are slots.
  void make_leaves(const leaf_moves& moves, array& to) {
    const auto copies = apps::upload(m_device, m_main, moves.copies);
    const auto coarse = apps::upload(m_device, m_main, moves.restrictions);
    const auto fine = apps::upload(m_device, m_main, moves.prolongations);
    const double* u = m_states[0].data();
    if (copies.size() > 0)
      submit(m_main, move_leaves{u, to.data(), copies.data(), int(copies.size())});
    if (coarse.size() > 0)
      submit(m_main, restriction{u, to.data(), coarse.data(), int(coarse.size())});
    if (fine.size() > 0)
      submit(m_main,
             prolong(m_states[0], fine.data(), int(fine.size()), to, theta_of_refinement, false));
  }
  /// Submits the copies of pieces from another part to their leaves.
  void take(const moved_leaves& message) {
    std::vector<double> rows(message.leaves.size() * compact.block);
    auto moves = unpack_pieces(message, m_plan.first, count(), rows.data());
    for (leaf_move& m : moves) m.to = m_plan.slots[std::size_t(m.to)];
    const auto from = apps::upload(m_device, m_main, rows);
    const auto where = apps::upload(m_device, m_main, moves);
    submit(m_main, move_leaves{from.data(), m_states[0].data(), where.data(), int(moves.size())});
  }

  void upload() {
    const std::size_t own = lane::size(count(), compact.block);
    if (!m_state.data.empty()) {  // else `next` makes the state
      array staging = m_device.allocate<double>(memory_kind::pinned, own, m_main);
      to_slots(m_plan, m_state.data.data(), staging.data());
      m_main.copy(part(m_states[0], 0, own), staging);
    }
    std::fill(m_host.begin(), m_host.end(), 0.0);
    std::copy_n(m_state.outflow.begin(), field_count, m_host.data() + outflow_at);
    // Copies only the outflow: a step writes the host's clock while this copy is in flight.
    m_main.copy(part(m_small, outflow_at, field_count), part(m_host, outflow_at, field_count));
  }

  [[nodiscard]] static double* of(array& u, int first) {
    return u.data() + index_type{first} * compact.block;
  }

  [[nodiscard]] ghost_fill ghosts_from(array& from, lane& to, int first, int n, bool energy_only) {
    const ghost_source* sources = m_tables.sources.data() + index_type{first} * direction_count;
    const double weight = m_scheme.weight();
    return {from.data(), to.u.data(), m_tables.frames.data(), sources, first,
            n,           energy_only, sweep_lanes(),          weight};
  }
  [[nodiscard]] int sweep_lanes() const { return sweep_of(m_lanes_per_vector); }

  /// Return the state before a stage and the state after it.
  [[nodiscard]] array& before(int stage) { return m_states[std::size_t(stage)]; }
  [[nodiscard]] array& after(int stage) { return m_states[stage == 1 ? 2 : 1]; }

  /// Submits ghosts and the five kernels. Where fluxes are final, the rates follow at once; the
  /// fluxes of other sub-grids are kept.
  void find_fluxes(int stage, share which) {
    const auto [begin, end] = range_of(which, m_plan.independent, count());
    m_lanes.in_batches(begin, std::min(end, m_kept), [this, stage](lane& l, int first, int n) {
      find_fluxes(l, stage, first, n, l.fluxes.data());
      find_rates(l, stage, first, n, l.fluxes.data());
    });
    m_lanes.in_batches(std::max(begin, m_kept), end, [this, stage](lane& l, int first, int n) {
      find_fluxes(l, stage, first, n, kept_fluxes(first));
    });
  }
  [[nodiscard]] double* kept_fluxes(int first) {
    return m_fluxes.data() + index_type{first - m_kept} * flux_block;
  }
  void find_fluxes(lane& l, int stage, int first, int n, double* fluxes) {
    double* speeds = m_speeds.data() + index_type{first} * speed_block;
    const stage_kernels k = make_stage(
        {l.u.data(), l.u.data(), l.pressure.data(), l.jump.data(), l.points.data(), fluxes, speeds},
        m_tables.frames.data() + first, n, m_scheme, m_lanes_per_vector);
    submit_stage(m_lanes.stream_of(l), ghosts_from(before(stage), l, first, n, false), k, m_cut,
                 m_scheme.quadrature);
    const auto faces = m_plan.fine_faces_of(first, n);
    if (faces.empty()) return;
    submit(m_lanes.stream_of(l),
           mean_fluxes{fluxes, m_means.data(),
                       m_tables.fine_faces.data() + (faces.data() - m_plan.fine_faces.data()),
                       first, int(faces.size())});
  }
  /// Submits the divergence, and the update, if the time step is determined. In the first stage it
  /// is not: rates are stored in the memory of the next state.
  void find_rates(lane& l, int stage, int first, int n, const double* fluxes) {
    starling::stream& queue = m_lanes.stream_of(l);
    const subgrid_frame* frames = m_tables.frames.data() + first;
    double* rate = stage == 0 ? of(after(stage), first) : l.rate.data();
    submit(queue, divergence{fluxes, of(before(stage), first), rate, frames, n, m_scheme.omega,
                             m_scheme.gravity});
    submit(queue,
           outflow_rate{fluxes, m_leaving.data(), frames, m_plan.first, n, m_scheme.gravity});
    if (stage > 0) update_state(queue, stage, first, n, rate);
  }
  void correct(int stage) {
    if (!m_scheme.error.fluxes_uncorrected && m_plan.corrected < count())
      submit(m_main, correct_fluxes{m_fluxes.data(), m_means.data(), m_tables.coarse_faces.data(),
                                    m_kept, int(m_tables.coarse_faces.size())});
    m_lanes.in_batches(m_kept, count(), [this, stage](lane& l, int first, int n) {
      find_rates(l, stage, first, n, kept_fluxes(first));
    });
  }

  void restrict_cells(array& u, field_set fields) {
    m_lanes.in_shares(
        int(m_plan.restrictions.size()), [&](starling::stream& queue, int first, int n) {
          submit(queue,
                 restriction{u.data(), u.data(), m_tables.restrictions.data() + first, n, fields});
        });
  }
  void prolong_cells(array& u, field_set fields, share which) {
    const auto [begin, end] =
        range_of(which, m_plan.independent_prolongations, int(m_plan.prolongations.size()));
    const level_link* links = m_tables.prolongations.data() + begin;
    m_lanes.in_shares(end - begin, [&](starling::stream& queue, int first, int n) {
      submit(queue, prolong(u, links + first, n, u, theta_of_ghosts, fields == field_set::energy));
    });
  }
  [[nodiscard]] prolongation prolong(const array& from, const level_link* links, int n, array& to,
                                     double theta, bool energy_only) const {
    return prolongation{from.data(),
                        to.data(),
                        m_tables.frames.data(),
                        m_tables.sources.data(),
                        links,
                        n,
                        theta,
                        sweep_lanes(),
                        energy_only,
                        m_scheme.weight()};
  }

  /// Submits the update of n sub-grids, floors, and the search for faults.
  void update_state(starling::stream& s, int stage, int first, int n, const double* rate) {
    double* next = of(after(stage), first);
    submit_unless_fault(s, update{next, of(before(stage), first), of(m_states[0], first), rate,
                                  small(clock_at), n, stage, sweep_lanes()});
    if (m_scheme.floors.enabled)
      submit_unless_fault(s, apply_floors{next, n, m_scheme.effective_gamma(), m_scheme.floors});
    submit_unless_fault(s,
                        find_fault{next, m_faults.data() + index_type{first} * edge * edge,
                                   m_tables.frames.data() + first, m_state.grid.cell_count(), n});
  }
  /// Submits what is left of a stage: later stages update each batch with its rates.
  void finish_stage(int stage) {
    submit(m_main,
           outflow_update{m_amount.data(), m_leaving.data(), small(clock_at), count(), stage});
    if (stage == 0) update_state(m_main, 0, 0, count(), after(0).data());
    gather_faults(stage);
  }

  template <class Kernel>
  void submit_unless_fault(starling::stream& s, const Kernel& k) {
    submit(s, unless_fault<Kernel>{{}, k, small(clock_at)});
  }

  /// Reduces the faults of a stage to the first one. After a fault `find_fault` does not run, so
  /// that later stages repeat it.
  void gather_faults(int stage) {
    m_maxima.find(m_main, m_faults.data(), index_type{count()} * edge * edge,
                  small(clock_at + clock_entry::fault + stage));
  }

  void synchronize_tracer(share which) {
    const auto [begin, end] = range_of(which, m_plan.independent, count());
    m_lanes.in_batches(begin, end, [this](lane& l, int first, int n) {
      array& u = after(last_stage);
      submit(m_lanes.stream_of(l), ghosts_from(u, l, first, n, true));
      submit_unless_fault(m_lanes.stream_of(l),
                          synchronize_tau{of(u, first), l.u.data(), n, m_scheme.effective_gamma()});
    });
  }

  void close_step() {
    submit_unless_fault(m_main,
                        end_step{m_amount.data(), small(outflow_at), small(clock_at),
                                 m_others == nullptr ? count() : 0});  // else all parts add it up
    m_main.copy(m_host, m_small);
    if (m_others != nullptr) m_main.copy(m_host_amount, m_amount);
  }

  /// Sets `m_fault` if the step found one. Called before the states are swapped.
  starling::task<> look_for_fault() {
    for (int stage = 0; stage < stage_count && !m_fault; ++stage) {
      const double code = m_host.data()[clock_at + clock_entry::fault + stage];
      if (code == 0.0) continue;
      co_await bring_back(after(stage));
      const index_type cell = find_fault::cell_of(m_state.grid.cell_count(), code);
      const index_type own = cell / cells_per_subgrid - m_plan.first;
      m_fault = fault{stage, unphysical_in(m_state.grid, m_state.data.data() + own * compact.block,
                                           cell, m_state.step, m_state.time)};
    }
  }

  starling::task<> bring_back(array& u) {
    const std::size_t own = lane::size(count(), compact.block);
    array staging = m_device.allocate<double>(memory_kind::pinned, own);
    m_main.copy(staging, part(u, 0, own));
    co_await m_main.completion();
    m_state.data.resize(own);
    from_slots(m_plan, staging.data(), m_state.data.data());
    std::copy_n(m_host.data() + outflow_at, field_count, m_state.outflow.begin());
  }

  starling::runtime& m_runtime;
  resident_options m_how;
  snapshot m_state;
  scheme m_scheme;
  other_parts* m_others;  // null: this is the whole domain
  part_plan m_plan;
  starling::device& m_device;
  int m_lanes_per_vector;
  kernel_cut m_cut;
  capture_kind m_capture;
  work_sizes m_work;
  int m_kept;  // the first slot that has fluxes in m_fluxes
  int m_batch;
  starling::stream m_main;
  device_tables m_tables;
  device_halos m_halos;
  // At the start of a step; after its first, then its last stage; after its second stage.
  std::array<array, 3> m_states;
  array m_leaving, m_amount, m_speeds, m_faults;
  array m_means;   // fluxes through faces between levels
  array m_fluxes;  // of the sub-grids from m_kept on
  max_finder m_maxima;
  array m_small;  // on the device; m_host has its copy
  array m_host;
  array m_host_amount;    // of the last step, if there are other parts
  bool m_filled = false;  // slots of other levels and parts
  bool m_outflow_pending = false;
  bool m_failed = false;
  std::optional<fault> m_fault;
  lane_set m_lanes;
  // By parity of the step and first entry; those of independent sub-grids last.
  std::array<std::array<starling::graph, 2 * step_list.size()>, 2> m_graphs;
};

}  // namespace

std::unique_ptr<part_simulation> make_resident(starling::runtime& rt, snapshot initial,
                                               const scheme& numerics, const resident_options& how,
                                               other_parts* others) {
  return std::make_unique<resident>(rt, std::move(initial), numerics, how, others);
}

}  // namespace stars
