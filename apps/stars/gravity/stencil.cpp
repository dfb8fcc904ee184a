// SPDX-License-Identifier: Apache-2.0
#include "gravity/stencil.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace stars {
namespace {

constexpr int floor_half(int n) { return n >> 1; }

/// Returns the partners of each group among the offsets up to `reach` on each axis for which
/// `wanted(parity, offset)` holds, in order of x, y and z.
template <class Wanted>
stencil collect(int reach, const Wanted& wanted) {
  stencil s;
  for (int g = 0; g < group_count; ++g) {
    const triple p = parity_vector(g);
    s.begin[std::size_t(g)] = int(s.partners.size());
    for (int z = -reach; z <= reach; ++z)
      for (int y = -reach; y <= reach; ++y)
        for (int x = -reach; x <= reach; ++x) {
          const triple offset{x, y, z};
          if (offset == triple{} || !wanted(p, offset)) continue;
          const triple at{p.x + x, p.y + y, p.z + z};
          s.partners.push_back(
              {small_triple(offset), std::int8_t(parity_of(at)),
               small_triple({floor_half(at.x), floor_half(at.y), floor_half(at.z)})});
        }
  }
  s.begin[group_count] = int(s.partners.size());
  for (const partner& p : s.partners)
    for (const int k : {p.shift.x, p.shift.y, p.shift.z}) s.reach = std::max(s.reach, std::abs(k));
  return s;
}

double checked(double theta) {
  if (theta >= least_theta && theta <= largest_theta) return theta;
  throw std::invalid_argument("the opening parameter theta is " + std::to_string(theta) +
                              "; it must be between " + std::to_string(least_theta) + " and " +
                              std::to_string(largest_theta));
}

}  // namespace

stencils::stencils(double opening) : theta(checked(opening)) {
  const auto near_parents = [this](const triple& parity, const triple& offset) {
    const triple parent{floor_half(parity.x + offset.x), floor_half(parity.y + offset.y),
                        floor_half(parity.z + offset.z)};
    return are_near(parent, theta);  // also if it is the same one
  };
  const auto is_near = [this](const triple& offset) { return are_near(offset, theta); };
  // Offsets to cells of a neighbouring node at most; near parents are closer.
  constexpr int reach = edge - 1;
  far = collect(reach, [&](const triple& parity, const triple& offset) {
    return near_parents(parity, offset) && !is_near(offset);
  });
  near = collect(reach, [&](const triple&, const triple& offset) { return is_near(offset); });
  all = collect(reach, near_parents);
  far_in_root =
      collect(reach, [&](const triple&, const triple& offset) { return !is_near(offset); });
  all_in_root = collect(reach, [](const triple&, const triple&) { return true; });
}

}  // namespace stars
