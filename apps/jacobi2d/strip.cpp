// SPDX-License-Identifier: Apache-2.0
#include "strip.hpp"

#include <utility>
#include <vector>

#include "common/device_data.hpp"

namespace jacobi2d {

using starling::memory_kind;
using starling::task;

void strip::make_members(starling::read_only<run_setup> setup) {
  m_setup = &*setup;
  m_device = &starling::devices(*starling::runtime::current()).here();
  m_compute = m_device->make_stream();
  m_memory.emplace(*m_device, setup->cut, this_index());
  if (is_staged()) {
    m_to_host = m_device->make_stream(starling::priority::high);
    m_to_device = m_device->make_stream(starling::priority::high);
  }
  for (const side d : sides) {
    const auto neighbour = setup->cut.neighbour(this_index(), d);
    if (!neighbour) continue;
    m_channels[d].emplace(*this, this_array()[*neighbour]);
    if (is_staged())
      for (auto& rows : m_staging)
        rows[d] = m_device->allocate<float>(memory_kind::pinned, std::size_t(setup->cut.grid.x));
  }
}

/// The initial state is needed in any case: ghosts at the boundary of the grid keep its values.
task<> strip::fill() {
  const auto tables = apps::upload(*m_device, m_compute, m_setup->start.tables());
  m_memory->fill(m_compute, m_setup->start.with(tables.data()));
  if (m_it > 0) {
    const std::vector<float> cells = std::exchange(m_stored, {});
    co_await m_memory->set_cells(*m_device, m_compute, m_it, cells);
  } else if (options().spoilt && this_index() == 0) {
    m_memory->spoil(m_compute);
  }
}

task<> strip::prepare(starling::read_only<run_setup> setup, starling::callback<int> done) {
  make_members(setup);
  co_await fill();
  if (is_staged()) start_transfer(m_it);
  co_await all_streams_done();
  contribute(1, starling::reduction::sum{}, done);
}

task<> strip::run(apps::run_part part, starling::callback<run_end> done) {
  m_stored = std::vector<float>();  // frees the memory
  run_end end;
  while (m_it < part.until) {
    if (is_staged())
      co_await step_staged();
    else
      co_await step_direct();
    ++m_it;
    if (m_setup->progress != nullptr && this_index() == 0) m_setup->progress->show(m_it);
    if (!part.checks_after(m_it, options().check_every)) continue;
    end.last_change = co_await largest_change();
    if (apps::norm_of(end.last_change) <= options().tolerance) break;
  }
  co_await all_streams_done();
  end.iterations = m_it;
  end.captures = m_captures;
  contribute(end, starling::reduction::sum{}, done);
}

task<> strip::stage(starling::callback<int> done) {
  m_stored = co_await m_memory->cells(*m_device, m_compute, m_it);
  contribute(1, starling::reduction::sum{}, done);
}

// --- rows read in place

/// No message is needed before a row is overwritten. In iteration n a strip overwrites its values
/// of iteration n - 1, which its neighbour read to compute its values of iteration n. The neighbour
/// posted these afterwards, and this strip's stream has waited for that post.
task<> strip::step_direct() {
  rows_beside beside = m_memory->ghosts(m_it);  // ghosts hold the fixed boundary
  per_side<std::optional<starling::borrowed<float>>> lent;
  const starling::event made = m_compute.record();
  for (const side d : sides)
    if (m_channels[d]) m_channels[d]->post(m_memory->own_row(m_it, d), m_compute, made);
  // After the posts, for which the neighbours may wait.
  co_await m_run_ahead.keep(m_compute, m_it, options().run_ahead);
  for (const side d : sides) {
    if (!m_channels[d]) continue;
    lent[d].emplace(co_await m_channels[d]->borrow(m_compute, m_memory->own_row(m_it, d).size()));
    beside[d] = lent[d]->data();
  }
  launch_step(beside);
}

/// Uses two graphs alternately, one for each array that is read.
void strip::launch_step(const rows_beside& beside) {
  if (!options().graphs) return m_memory->update(m_compute, m_it, beside);
  step_graph& g = m_graphs[m_it & 1];
  if (g.recording.empty() || g.beside != beside) {
    g = {m_compute.capture([&] { m_memory->update(m_compute, m_it, beside); }), beside};
    ++m_captures;
  }
  static_cast<void>(g.recording.launch(m_compute));
}

// --- rows copied through host memory

/// A received row is copied to the ghosts of the array that the update reads. They were last read
/// two iterations ago, and the transfer for which the host has waited comes after that. Staged rows
/// are overwritten two iterations later, safely for the same reason as in `step_direct`.
task<> strip::step_staged() {
  co_await m_to_host.completion();
  for (const side d : sides)
    if (m_channels[d]) m_channels[d]->post(m_staging[m_it & 1][d].span());
  for (const side d : sides)
    if (m_channels[d]) co_await m_channels[d]->receive(m_memory->ghost_row(m_it, d), m_to_device);
  m_compute.wait(m_to_device.record());
  m_memory->update(m_compute, m_it, m_memory->ghosts(m_it));
  start_transfer(m_it + 1);
}

void strip::start_transfer(long it) {
  m_to_host.wait(m_compute.record());
  for (const side d : sides)
    if (m_channels[d]) m_to_host.copy(m_staging[it & 1][d], m_memory->own_row(it, d));
}

// --- the whole strip

task<> strip::all_streams_done() {
  co_await m_compute.completion();
  if (is_staged()) co_await m_to_host.completion();
}

task<pattern> strip::largest_change() {
  const pattern mine = co_await apps::reduced(
      *m_device, m_compute,
      difference{m_memory->shape(), {m_memory->values(m_it - 1), m_memory->values(m_it)}});
  co_return co_await reduce(mine, starling::reduction::max{});
}

task<> strip::examine(starling::callback<findings> to) {
  const auto& shape = m_memory->shape();
  const problem& start = m_setup->start;
  const auto origin = m_setup->cut.origin(this_index());
  const auto* values = m_memory->values(m_it);
  const auto error_from = [&](const initial_values& initial) {
    return mode_error{shape, {values, initial, origin, start.amplitude(m_it)}};
  };
  const findings found =
      co_await apps::examined(*m_device, m_compute, start,
                              checksum{shape, {values, m_setup->cut.grid, origin}}, error_from);
  contribute(found, starling::reduction::sum{}, to);
}

}  // namespace jacobi2d
