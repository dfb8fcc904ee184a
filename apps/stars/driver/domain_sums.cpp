// SPDX-License-Identifier: Apache-2.0
#include "driver/domain_sums.hpp"

#include <bit>
#include <span>

#include <fmt/format.h>

#include "mesh/layout.hpp"

namespace stars {
namespace {

std::span<const double> field_of(const snapshot& own, int leaf, int f) {
  return std::span(own.data).subspan(own.index(leaf, f, {}), cells_per_subgrid);
}

int leaves_in(const snapshot& own) { return int(own.data.size() / compact.block); }

}  // namespace

void domain_sums::add(const snapshot& own, int first, double gravity) {
  for (int n = 0; n < leaves_in(own); ++n) {
    const int level = own.grid.tree().key(first + n).level;
    const double cells = std::ldexp(1.0, 3 * (own.grid.level() - level));
    for (const double egas : field_of(own, n, field::egas)) energy.add(cells * egas);
    const auto rho = field_of(own, n, field::rho);
    for (const double v : rho) mass.add(cells * v);
    const subgrid_frame at = own.grid.frame_of(first + n, own.boundary);
    double moment = 0.0;
    for (int c = 0; c < cells_per_subgrid; ++c)
      moment += rho[std::size_t(c)] * ((2 * (c / (edge * edge)) + 1 + at.lower[2]) * at.half_dx);
    potential += gravity * moment * (at.dx() * at.dx() * at.dx());
  }
}

void state_record::add(const snapshot& own, int first, const problem& flow) {
  sums.add(own, first, flow.gravity);
  error.add(flow, own, first);
  // Byte by byte, as a multiplication carries upwards only.
  for (const double x : own.data)
    for (auto bits = std::bit_cast<std::uint64_t>(x), k = std::uint64_t{0}; k < 8; ++k, bits >>= 8)
      fnv1a = (fnv1a ^ (bits & 0xffu)) * 0x100000001b3u;
}

std::string state_record::digest() const { return fmt::format("{:016x}", fnv1a); }

}  // namespace stars
