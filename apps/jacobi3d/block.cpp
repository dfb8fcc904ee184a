// SPDX-License-Identifier: Apache-2.0
#include "block.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "common/device_data.hpp"
#include "physics/initial.hpp"

namespace jacobi3d {

using starling::memory_kind;
using starling::task;

namespace {

triple to_triple(starling::index3 i) { return {i.x, i.y, i.z}; }
starling::index3 to_index(triple t) { return {t.x, t.y, t.z}; }

std::shared_ptr<stream_set> streams_for(const run_setup& setup, starling::device& where) {
  return setup.streams.empty() ? std::make_shared<stream_set>(where, setup.options)
                               : setup.streams[std::size_t(where.id().value)];
}

}  // namespace

stream_set::stream_set(starling::device& where, const settings& s) : compute(where.make_stream()) {
  constexpr auto ahead = starling::priority::high;
  if (!s.in_one_stream()) pack = where.make_stream(ahead);
  if (!s.in_one_stream() && s.streams == stream_owner::device)
    own_unpack = where.make_stream(ahead);
  if (s.exchange != exchange_kind::staged) return;
  to_host = where.make_stream(ahead);
  to_device = where.make_stream(ahead);
}

void block::make_members(starling::read_only<run_setup> setup) {
  m_setup = &*setup;
  m_device = &starling::devices(*starling::runtime::current()).here();
  m_streams = streams_for(*setup, *m_device);
  m_memory.emplace(*m_device, setup->cut, to_triple(this_index()));
  for (int n = 0; n < face_count; ++n) {
    const face f = face_of(n);
    const auto neighbour = setup->cut.neighbour(to_triple(this_index()), f);
    if (!neighbour) continue;
    m_channels[f].emplace(*this, this_array()[to_index(*neighbour)], n / 2);
    if (options().exchange == exchange_kind::staged)
      for (auto& faces : m_staging)
        faces[f] = m_device->allocate<double>(memory_kind::pinned,
                                              std::size_t(face_size(m_memory->shape(), f)));
  }
}

bool block::has_neighbours() const {
  return std::ranges::any_of(m_channels.of, [](const auto& c) { return c.has_value(); });
}

template <class Visit>
void block::for_each_face(Visit visit) {
  for (int n = 0; n < face_count; ++n)
    if (m_channels.of[n]) visit(face_of(n));
}

/// The initial state is needed in any case: ghosts at the boundary of the grid keep its values.
task<> block::fill(starling::stream& s) {
  const problem& start = m_setup->start;
  const auto tables = apps::upload(*m_device, s, start.tables());
  m_memory->fill(s, start.with(tables.data()));
  if (m_it > 0) {
    const std::vector<double> cells = std::exchange(m_stored, {});
    co_await m_memory->set_cells(*m_device, s, m_it, cells);
  } else if (options().spoilt && this_index() == starling::index3{}) {
    m_memory->spoil(s);
  }
}

task<> block::prepare(starling::read_only<run_setup> setup, starling::callback<int> done) {
  make_members(setup);
  starling::stream& s = m_streams->compute;
  co_await fill(s);
  starling::stream& packs = options().in_one_stream() ? s : m_streams->pack;
  packs.wait(s.record());
  pack_and_send(m_it);
  co_await all_streams_done();
  contribute(1, starling::reduction::sum{}, done);
}

task<> block::run(apps::run_part part, starling::callback<run_end> done) {
  m_stored = std::vector<double>();  // frees the memory
  run_end end;
  while (m_it < part.until) {
    if (options().exchange == exchange_kind::staged)
      co_await step_staged();
    else if (options().in_one_stream())
      co_await step_in_one_stream();
    else
      co_await step_direct();
    ++m_it;
    if (m_setup->progress != nullptr && this_index() == starling::index3{})
      m_setup->progress->show(m_it);
    if (!part.checks_after(m_it, options().check_every)) continue;
    end.last_change = co_await largest_change();
    if (norm_of(end.last_change) <= options().tolerance) break;
  }
  co_await all_streams_done();
  end.iterations = m_it;
  end.captures = m_captures;
  contribute(end, starling::reduction::sum{}, done);
}

task<> block::stage(starling::callback<int> done) {
  // The message of --wait work-request would else be stored in the mailbox. A restart repeats the
  // transfer, so that one message of the two would remain there.
  if (options().exchange == exchange_kind::staged) co_await transfer_done();
  m_stored = co_await m_memory->cells(*m_device, m_streams->compute, m_it);
  contribute(1, starling::reduction::sum{}, done);
}

// --- faces read from device memory

per_face<std::optional<block::incoming_face>> block::ask_for_faces(starling::stream& s) {
  // Kernels that read large faces in place delay the concurrent update of the interior.
  const std::size_t most_in_place =
      options().overlap ? channel::read_in_place : std::numeric_limits<std::size_t>::max();
  per_face<std::optional<incoming_face>> coming;
  for_each_face([&](face f) {
    coming[f].emplace(
        m_channels[f]->borrow(s, std::size_t(face_size(m_memory->shape(), f)), most_in_place));
  });
  return coming;
}

/// Posts the faces that `s` has packed.
void block::offer_faces(starling::stream& s) {
  if (!has_neighbours()) return;
  const starling::event packed = s.record();
  for_each_face([&](face f) { m_channels[f]->post(m_memory->outgoing(m_it, f), s, packed); });
}

task<> block::step_direct() {
  starling::stream& unpack = m_streams->unpack();
  offer_faces(m_streams->pack);
  auto coming = ask_for_faces(unpack);
  co_await keep_behind();
  begin_update();
  received_faces received;
  per_face<std::optional<lent_face>> lent;
  for (int n = 0; n < face_count; ++n) {
    if (!coming.of[n]) continue;
    lent.of[n].emplace(co_await std::move(*coming.of[n]));
    received.of[n] = lent.of[n]->data();
    if (options().fusion != fusion_kind::b)
      m_memory->unpack_face(unpack, m_it, face_of(n), received.of[n]);
  }
  if (options().fusion == fusion_kind::b && has_neighbours())
    m_memory->unpack_all(unpack, m_it, received);
  end_update();
  pack_and_send(m_it + 1);
}

task<> block::step_in_one_stream() {
  starling::stream& s = m_streams->compute;
  offer_faces(s);
  auto coming = ask_for_faces(s);
  co_await keep_behind();
  received_faces received;
  per_face<std::optional<lent_face>> lent;
  for (int n = 0; n < face_count; ++n) {
    if (!coming.of[n]) continue;
    lent.of[n].emplace(co_await std::move(*coming.of[n]));
    received.of[n] = lent.of[n]->data();
  }
  launch_step(s, received);
}

/// Called after the faces for which the neighbours wait have been posted. With --overlap the last
/// update of the exterior is in another stream: one more update may be in flight.
task<> block::keep_behind() {
  return m_run_ahead.keep(m_streams->compute, m_it, options().run_ahead);
}

/// Starts the update of the interior, if it need not wait for faces: after the previous iteration's
/// exterior, concurrently with this iteration's exterior.
void block::begin_update() {
  if (!options().overlap || !has_neighbours()) return;
  starling::stream& compute = m_streams->compute;
  compute.wait(m_exterior);
  m_memory->update_interior(compute, m_it);
  m_interior[m_it & 1] = compute.record();
}

/// Submits the remaining update after all faces are unpacked. Outgoing faces are overwritten two
/// iterations later. By then every neighbour has sent the faces that it computed from them, so that
/// no message is needed to free them.
void block::end_update() {
  starling::stream& compute = m_streams->compute;
  if (options().overlap && has_neighbours()) {
    starling::stream& pack = m_streams->pack;
    pack.wait(m_interior[(m_it + 1) & 1]);  // of the previous iteration
    if (m_streams->own_unpack) pack.wait(m_streams->own_unpack.record());
    m_memory->update_exterior(pack, m_it);
    m_exterior = pack.record();
    return;
  }
  if (has_neighbours()) compute.wait(m_streams->unpack().record());
  m_memory->update(compute, m_it);
  if (has_neighbours()) m_streams->pack.wait(compute.record());
}

/// Packs the outgoing faces of iteration `it`. The staged exchange copies them to the host, face by
/// face.
void block::pack_and_send(long it) {
  if (!has_neighbours()) return;
  if (options().in_one_stream()) return pack(m_streams->compute, it);
  if (options().exchange == exchange_kind::direct) return pack(m_streams->pack, it);
  for_each_face([&](face f) {
    m_memory->pack_face(m_streams->pack, it, f);
    m_streams->to_host.wait(m_streams->pack.record());
    m_streams->to_host.copy(m_staging[it & 1][f], m_memory->outgoing(it, f));
  });
  note_transfer(it);
}

void block::pack(starling::stream& s, long it) {
  if (packs_at_once())
    m_memory->pack_all(s, it);
  else
    for_each_face([&](face f) { m_memory->pack_face(s, it, f); });
}

/// Submits the kernels of a step after all faces have arrived.
void block::submit_step(starling::stream& s, const received_faces& received) {
  if (options().fusion == fusion_kind::c) return m_memory->step_fused(s, m_it, received);
  if (!has_neighbours()) return m_memory->update(s, m_it);
  if (options().fusion == fusion_kind::b)
    m_memory->unpack_all(s, m_it, received);
  else
    for_each_face([&](face f) { m_memory->unpack_face(s, m_it, f, received[f]); });
  m_memory->update(s, m_it);
  pack(s, m_it + 1);
}

/// Uses two graphs alternately, one for each array that is read.
void block::launch_step(starling::stream& s, const received_faces& received) {
  if (!options().graphs) return submit_step(s, received);
  step_graph& g = m_graphs[m_it & 1];
  const bool same = std::equal(received.of, received.of + face_count, g.received.of);
  if (g.recording.empty() || !same) {
    g = {s.capture([&] { submit_step(s, received); }), received};
    ++m_captures;
  }
  static_cast<void>(g.recording.launch(s));
}

// --- faces copied through host memory

task<> block::step_staged() {
  starling::stream& to_device = m_streams->to_device;
  starling::stream& unpack = m_streams->unpack();
  if (!has_neighbours()) co_await keep_behind();
  begin_update();
  co_await transfer_done();
  for_each_face([&](face f) { m_channels[f]->post(m_staging[m_it & 1][f].span()); });
  lent_faces& lent = m_lent[m_it & 1];
  to_device.wait(lent.unpacked);  // from two iterations ago: usually complete
  lent = {};
  auto coming = ask_for_faces(to_device);
  for (int n = 0; n < face_count; ++n) {
    if (!coming.of[n]) continue;
    lent.faces.of[n].emplace(co_await std::move(*coming.of[n]));
    unpack.wait(to_device.record());
    m_memory->unpack_face(unpack, m_it, face_of(n), lent.faces.of[n]->data());
  }
  if (has_neighbours()) lent.unpacked = unpack.record();
  end_update();
  pack_and_send(m_it + 1);
}

/// Prepares the waits that do not await the stream.
void block::note_transfer(long it) {
  m_is_transferred = false;
  if (options().wait == wait_kind::polling) m_transfer = m_streams->to_host.record();
  if (options().wait == wait_kind::work_request)
    static_cast<void>(spawn(tell_transfer(m_streams->to_host.get_future(), it)));
}

task<> block::tell_transfer(starling::future<void> done, std::int64_t it) {
  co_await std::move(done);
  this_element().invoke<&block::transferred>(it);
}

task<> block::transfer_done() {
  if (!has_neighbours() || m_is_transferred) co_return;
  switch (options().wait) {
    case wait_kind::polling:
      while (!m_transfer.is_complete()) co_await starling::yield();
      break;
    case wait_kind::work_request:
      co_await when<&block::transferred>(m_it);
      break;
    default:  // synchronous: with --completion block
      co_await m_streams->to_host.completion();
  }
  m_is_transferred = true;
}

// --- the whole block

task<> block::all_streams_done() {
  for (starling::stream* s : {&m_streams->compute, &m_streams->pack, &m_streams->to_host})
    if (*s) co_await s->completion();
}

task<pattern> block::largest_change() {
  if (options().overlap) m_streams->compute.wait(m_streams->pack.record());
  const pattern mine = co_await apps::reduced(
      *m_device, m_streams->compute,
      difference{m_memory->shape(), {m_memory->values(m_it - 1), m_memory->values(m_it)}});
  co_return co_await reduce(mine, starling::reduction::max{});
}

task<> block::examine(starling::callback<findings> to) {
  if (options().exchange == exchange_kind::staged) co_await transfer_done();  // no step awaits it
  const auto& shape = m_memory->shape();
  const problem& start = m_setup->start;
  const auto origin = m_setup->cut.origin(to_triple(this_index()));
  const auto* values = m_memory->values(m_it);
  const auto error_from = [&](const initial_values& initial) {
    return mode_error{shape, {values, initial, origin, start.amplitude(m_it)}};
  };
  const findings found =
      co_await apps::examined(*m_device, m_streams->compute, start,
                              checksum{shape, {values, m_setup->cut.grid, origin}}, error_from);
  contribute(found, starling::reduction::sum{}, to);
}

}  // namespace jacobi3d
