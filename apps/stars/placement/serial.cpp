// SPDX-License-Identifier: Apache-2.0
#include "placement/serial.hpp"

#include <algorithm>
#include <cstdio>

#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "kernel/loop.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars {
namespace {

triple global_of(const unphysical_cell& u) {
  const triple p = u.node.place;
  const int k = static_cast<int>(u.index % cells_per_subgrid);
  return {p.x * edge + k % edge, p.y * edge + k / edge % edge, p.z * edge + k / (edge * edge)};
}

std::string describe(const unphysical_cell& u) {
  const triple g = global_of(u);
  char text[256];
  std::snprintf(text, sizeof text,
                "%s = %.17g in cell (%d, %d, %d) of level %d, sub-grid %d, at step %ld, time %.17g",
                field_names[static_cast<std::size_t>(u.field)], u.value, g.x, g.y, g.z,
                u.node.level, static_cast<int>(u.index / cells_per_subgrid), u.step, u.time);
  return text;
}

}  // namespace

unphysical_cell unphysical_in(const mesh& grid, const double* subgrid, std::ptrdiff_t index,
                              long step, double time) {
  const double* cell = subgrid + index % cells_per_subgrid;
  const int wrong = cell[field::rho * compact.field] > 0.0 ? field::tau : field::rho;
  const node_key& node = grid.tree().key(static_cast<int>(index / cells_per_subgrid));
  return {node, index, step, time, wrong, cell[wrong * compact.field]};
}

unphysical_state::unphysical_state(const unphysical_cell& found)
    : std::runtime_error(describe(found)), unphysical_cell(found), cell(global_of(found)) {}

unphysical_state::unphysical_state(const snapshot& state, std::ptrdiff_t where)
    : unphysical_state(unphysical_in(state.grid,
                                     state.data.data() + where / cells_per_subgrid * compact.block,
                                     where, state.step, state.time)) {}

serial_driver::serial_driver(const snapshot& state, const scheme& options, loop_kind loops)
    : m_state(state), m_scheme(options), m_loops(loops),
      m_plan(plan_whole(state, options.error.dropped_direction)) {
  const auto n = static_cast<std::size_t>(m_plan.count);
  m_live.resize(static_cast<std::size_t>(m_plan.slot_count) * compact.block);
  to_slots(m_plan, state.data.data(), m_live.data());
  m_start.resize(n * compact.block);
  m_rate.resize(n * compact.block);
  m_leaving.resize(n * field_count);
  m_amount.resize(n * field_count);
  m_fastest.resize(n);
  m_faults.resize(n * edge * edge);
  m_means.resize(static_cast<std::size_t>(m_plan.face_rows) * face_row);
  m_corrected.resize((n - static_cast<std::size_t>(m_plan.corrected)) * flux_block);
  restrict_cells(field_set::all);
  prolong_cells(field_set::all);
}

int serial_driver::width() const {
  return m_loops == loop_kind::vectors ? static_cast<int>(host_vector::size()) : 1;
}

template <class Kernel>
void serial_driver::run(const Kernel& kernel) const {
  run_loop(kernel, m_loops == loop_kind::vectors);
}

double serial_driver::advance(double stop) {
  m_clock[clock_entry::time] = m_state.time;
  m_clock[clock_entry::stop] = stop;
  std::copy_n(m_live.begin(), m_start.size(), m_start.begin());
  for (const step_entry& entry : step_list) perform(entry);
  return m_clock[clock_entry::dt];
}

void serial_driver::perform(const step_entry& entry) {
  switch (entry.what) {
    case operation::find_fluxes:
      return find_fluxes();
    case operation::correct_fluxes:
      return correct();
    case operation::choose_time_step:
      return choose_time_step();
    case operation::update:
      return update_state(entry.stage);
    case operation::restrict_cells:
      return restrict_cells(entry.fields);
    case operation::prolong_cells:
      return prolong_cells(entry.fields);
    case operation::synchronize_tracer:
      return synchronize();
    case operation::end_step:
      return close_step();
    case operation::exchange_fluxes:
    case operation::exchange_cells:
      return;  // there are no other parts
  }
}

void serial_driver::restrict_cells(field_set fields) {
  double* u = m_live.data();
  run(restriction{u, u, m_plan.restrictions.data(), int(m_plan.restrictions.size()), fields});
}

void serial_driver::prolong_cells(field_set fields) {
  double* u = m_live.data();
  run(prolongation{u, u, m_plan.frames.data(), m_plan.sources.data(), m_plan.prolongations.data(),
                   int(m_plan.prolongations.size()), theta_of_ghosts, sweep_of(width()),
                   fields == field_set::energy, m_scheme.weight()});
}

void serial_driver::find_fluxes() {
  for (int n = 0; n < m_plan.count; ++n) {
    const bool final = n < m_plan.corrected;
    double* fluxes =
        final ? m_fluxes.data()
              : &m_corrected[static_cast<std::size_t>(n - m_plan.corrected) * flux_block];
    compute_fluxes(n, fluxes);
    const auto faces = m_plan.fine_faces_of(n, 1);
    run(mean_fluxes{fluxes, m_means.data(), faces.data(), n, int(faces.size())});
    if (final) find_rates(n, fluxes);
  }
}

void serial_driver::compute_fluxes(int n, double* fluxes) {
  run(ghosts_of(m_live.data(), m_plan.view(), n, width(), m_u.data(), false, m_scheme.weight()));
  const stage_arrays arrays{m_u.data(),      m_u.data(), m_pressure.data(), m_jump.data(),
                            m_points.data(), fluxes,     m_speeds.data()};
  const subgrid_frame* frame = &m_plan.frames[static_cast<std::size_t>(n)];
  const stage_kernels k = make_stage(arrays, frame, 1, m_scheme, width());
  run(k.pressure);
  run(k.jump);
  run(k.prepare);
  run(k.points);
  run(k.fluxes);
  run(scale_speeds{m_speeds.data(), frame, m_state.grid.dx(), 1});
  run(reduce_max{m_speeds.data(), &m_fastest[static_cast<std::size_t>(n)], speed_block, 1});
}

void serial_driver::find_rates(int n, const double* fluxes) {
  const auto k = static_cast<std::size_t>(n);
  const subgrid_frame* frame = &m_plan.frames[k];
  run(divergence{fluxes, &m_live[k * compact.block], &m_rate[k * compact.block], frame, 1,
                 m_scheme.omega, m_scheme.gravity});
  run(outflow_rate{fluxes, m_leaving.data(), frame, m_plan.first, 1, m_scheme.gravity});
}

void serial_driver::correct() {
  const auto faces = m_plan.coarse_faces;
  if (!m_scheme.error.fluxes_uncorrected)
    run(correct_fluxes{m_corrected.data(), m_means.data(), faces.data(), m_plan.corrected,
                       int(faces.size())});
  for (int n = m_plan.corrected; n < m_plan.count; ++n)
    find_rates(n, &m_corrected[static_cast<std::size_t>(n - m_plan.corrected) * flux_block]);
}

void serial_driver::choose_time_step() {
  run(time_step{m_fastest.data(), m_clock.data(), static_cast<int>(m_fastest.size()), m_scheme.cfl,
                m_state.grid.dx()});
}

void serial_driver::update_state(int stage) {
  const int count = m_plan.count;
  run(outflow_update{m_amount.data(), m_leaving.data(), m_clock.data(), count, stage});
  double* u = m_live.data();
  run(update{u, u, m_start.data(), m_rate.data(), m_clock.data(), count, stage});
  if (m_scheme.floors.enabled)
    run(apply_floors{u, count, m_scheme.effective_gamma(), m_scheme.floors});
  check();
}

void serial_driver::check() {
  const std::ptrdiff_t cells = m_state.grid.cell_count();
  run(find_fault{m_live.data(), m_faults.data(), m_plan.frames.data(), cells, m_plan.count});
  double first = 0.0;
  run(reduce_max{m_faults.data(), &first, static_cast<int>(m_faults.size()), 1});
  if (first == 0.0) return;
  from_slots(m_plan, m_live.data(), m_state.data.data());
  throw unphysical_state(m_state, find_fault::cell_of(cells, first));
}

void serial_driver::synchronize() {
  for (int n = 0; n < m_plan.count; ++n) {
    run(ghosts_of(m_live.data(), m_plan.view(), n, width(), m_egas.data(), true));
    run(synchronize_tau{&m_live[static_cast<std::size_t>(n) * compact.block], m_egas.data(), 1,
                        m_scheme.effective_gamma()});
  }
}

void serial_driver::close_step() {
  from_slots(m_plan, m_live.data(), m_state.data.data());
  run(end_step{m_amount.data(), m_state.outflow.data(), m_clock.data(), m_plan.count});
  m_state.time = m_clock[clock_entry::time];
  m_state.step += 1;
}

std::vector<double> serial_driver::fluxes_of(int subgrid) {
  std::vector<double> fluxes(flux_block);
  compute_fluxes(m_plan.slots[static_cast<std::size_t>(subgrid)], fluxes.data());
  return fluxes;
}

}  // namespace stars
