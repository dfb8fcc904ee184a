// SPDX-License-Identifier: Apache-2.0
#include "strip_memory.hpp"

#include "physics/initial.hpp"

namespace jacobi2d {

using starling::task;

strip_memory::strip_memory(starling::device& where, const decomposition& cut, int strip)
    : m_origin(cut.origin(strip)), m_shape(cut.cells(strip)),
      m_tiles(apps::on_processor(where) ? tiling::for_one(m_shape.n)
                                        : tiling::for_many(m_shape.n)) {
  for (auto& array : m_values)
    array = where.allocate<float>(starling::memory_kind::device, std::size_t(m_shape.size()));
}

task<std::vector<float>> strip_memory::cells(starling::device& where, starling::stream& s,
                                             long it) {
  return apps::stored_cells(where, s, m_values[std::size_t(it & 1)], rows());
}

task<> strip_memory::set_cells(starling::device& where, starling::stream& s, long it,
                               const std::vector<float>& cells) {
  return apps::restore_cells(where, s, m_values[std::size_t(it & 1)], rows(), cells);
}

void strip_memory::fill(starling::stream& s, const initial_values& initial) {
  for (const long it : {0, 1}) submit(s, fill_initial{m_shape, m_origin, initial, values(it)});
}

void strip_memory::spoil(starling::stream& s) {
  s.fill(std::span(values(0) + m_shape.at(m_shape.n.x / 2, m_shape.n.y / 2), 1), 64.0F);
}

void strip_memory::update(starling::stream& s, long it, const rows_beside& beside) {
  submit(s, jacobi2d::update{{m_shape, values(it), values(it + 1), beside}, m_tiles});
}

}  // namespace jacobi2d
