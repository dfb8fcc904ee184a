// SPDX-License-Identifier: Apache-2.0
#include "block_memory.hpp"

#include "physics/initial.hpp"

namespace jacobi3d {

using starling::memory_kind;
using starling::task;

namespace {

per_face<bool> neighbours_of(const decomposition& cut, triple place) {
  per_face<bool> there;
  for (int f = 0; f < face_count; ++f) there.of[f] = cut.neighbour(place, face_of(f)).has_value();
  return there;
}

}  // namespace

block_memory::block_memory(starling::device& where, const decomposition& cut, triple place)
    : m_origin(cut.origin(place)), m_shape(cut.extent(place)),
      m_divided(m_shape, neighbours_of(cut, place)),
      m_tiles(apps::on_processor(where) ? tiling::for_one(m_shape.n)
                                        : tiling::for_many(m_shape.n)) {
  for (auto& array : m_values)
    array = where.allocate<double>(memory_kind::device, std::size_t(m_shape.size()));
  for (auto& faces : m_faces)
    for (int f = 0; f < face_count; ++f)
      if (cut.neighbour(place, face_of(f)))
        faces.of[f] = where.allocate<double>(memory_kind::device,
                                             std::size_t(face_size(m_shape, face_of(f))));
}

task<std::vector<double>> block_memory::cells(starling::device& where, starling::stream& s,
                                              long it) {
  return apps::stored_cells(where, s, m_values[std::size_t(it & 1)], rows());
}

task<> block_memory::set_cells(starling::device& where, starling::stream& s, long it,
                               const std::vector<double>& cells) {
  return apps::restore_cells(where, s, m_values[std::size_t(it & 1)], rows(), cells);
}

void block_memory::fill(starling::stream& s, const initial_values& initial) {
  for (const long it : {0, 1}) submit(s, fill_initial{m_shape, m_origin, initial, values(it)});
}

void block_memory::spoil(starling::stream& s) {
  const offset middle = m_shape.at(m_shape.n.x / 2, m_shape.n.y / 2, m_shape.n.z / 2);
  s.fill(std::span(values(0) + middle, 1), 2.0);
}

void block_memory::pack_face(starling::stream& s, long it, face f) {
  submit(s, pack{m_shape, f, values(it), outgoing(it, f).data()});
}

void block_memory::pack_all(starling::stream& s, long it) {
  submit(s, pack_faces{m_shape, values(it), outgoing_faces(it)});
}

void block_memory::unpack_face(starling::stream& s, long it, face f, const double* received) {
  submit(s, unpack{m_shape, f, values(it), received});
}

void block_memory::unpack_all(starling::stream& s, long it, const received_faces& received) {
  submit(s, unpack_faces{m_shape, values(it), received});
}

void block_memory::update(starling::stream& s, long it) {
  submit(s, jacobi3d::update{m_shape, values(it), values(it + 1), whole(m_shape), m_tiles});
}

void block_memory::update_interior(starling::stream& s, long it) {
  submit(s, jacobi3d::update{m_shape, values(it), values(it + 1), m_divided.interior, m_tiles});
}

void block_memory::update_exterior(starling::stream& s, long it) {
  submit(s, update_faces{m_shape, values(it), values(it + 1), m_divided.exterior});
}

void block_memory::step_fused(starling::stream& s, long it, const received_faces& received) {
  submit(s, fused_step{m_shape, values(it), values(it + 1), received, outgoing_faces(it + 1),
                       m_tiles});
}

sent_faces block_memory::outgoing_faces(long it) {
  sent_faces faces;
  for (int f = 0; f < face_count; ++f)
    if (has_neighbour(face_of(f))) faces.of[f] = outgoing(it, face_of(f)).data();
  return faces;
}

}  // namespace jacobi3d
