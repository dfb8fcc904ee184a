// SPDX-License-Identifier: Apache-2.0
#include "driver/moved_leaves.hpp"

#include <algorithm>
#include <stdexcept>

#include "mesh/layout.hpp"
#include "transfer/octant_cells.hpp"

namespace stars {
namespace {

constexpr std::size_t octant_block = std::size_t{field_count} * cells_per_octant;

/// Calls `f(offset in the sub-grid, offset in the octant)` for each row of an octant's cells.
template <class F>
void for_each_row(int octant, F f) {
  const triple first = coarse_cell(octant, 0);
  std::size_t at = 0;
  for (int field = 0; field < field_count; ++field)
    for (int z = 0; z < octant_edge; ++z)
      for (int y = 0; y < octant_edge; ++y, at += octant_edge)
        f(std::size_t(compact_at(0, field, first.x, first.y + y, first.z + z)), at);
}

int part_of(std::span<const int> first, int leaf) {
  return int(std::upper_bound(first.begin(), first.end(), leaf) - first.begin()) - 1;
}

}  // namespace

leaf_sender::leaf_sender(const regrid_plan& plan, std::span<const int> now,
                         std::span<const int> next, int leaves, int number)
    : m_pieces(next.size()) {
  const auto p = std::size_t(number);
  const int begin = now[p], end = p + 1 < now.size() ? now[p + 1] : leaves;
  const auto is_own = [&](int leaf) { return leaf >= begin && leaf < end; };
  const auto add = [&](const piece& one) {
    m_pieces[std::size_t(part_of(next, one.leaf))].push_back(one);
  };
  for (const auto& [from, to] : plan.copies)
    if (is_own(from)) add({to, -1, from - begin, -1});
  int row = 0;
  for (level_link link : plan.restrictions) {
    if (!is_own(link.fine)) continue;
    add({link.coarse, link.octant, -1, row++});
    link.fine -= begin;
    m_restrictions.push_back(link);
  }
  for (level_link link : plan.prolongations) {
    if (!is_own(link.coarse)) continue;
    add({link.fine, -1, -1, row++});
    link.coarse -= begin;
    m_prolongations.push_back(link);
  }
}

moved_leaves leaf_sender::message(int part, std::size_t begin, std::size_t most,
                                  std::span<const double> own, std::span<const double> made) const {
  moved_leaves all;
  const std::span<const piece> pieces(m_pieces[std::size_t(part)]);
  for (const piece& one : pieces.subspan(begin, std::min(most, pieces.size() - begin))) {
    all.leaves.push_back(one.leaf);
    all.octants.push_back(std::int8_t(one.octant));
    const auto block =
        (one.own >= 0 ? own : made)
            .subspan(std::size_t(std::max(one.own, one.row)) * compact.block, compact.block);
    if (one.octant < 0) {
      all.data.insert(all.data.end(), block.begin(), block.end());
      continue;
    }
    const std::size_t end = all.data.size();
    all.data.resize(end + octant_block);
    for_each_row(one.octant, [&](std::size_t from, std::size_t to) {
      std::copy_n(&block[from], octant_edge, &all.data[end + to]);
    });
  }
  return all;
}

std::size_t pieces_of(const regrid_plan& plan, int first, int end) {
  const auto count = [&](const auto& list, auto leaf) {
    return std::size_t(std::count_if(list.begin(), list.end(), [&](const auto& one) {
      return one.*leaf >= first && one.*leaf < end;
    }));
  };
  return count(plan.copies, &regrid_plan::copy::to) +
         count(plan.restrictions, &level_link::coarse) +
         count(plan.prolongations, &level_link::fine);
}

void receive_leaves(const moved_leaves& message, int first, std::vector<double>& state) {
  const auto refuse = [] { throw std::invalid_argument("moved leaves: not those of this part"); };
  if (message.leaves.size() != message.octants.size()) refuse();
  std::size_t at = 0;
  for (std::size_t k = 0; k < message.leaves.size(); ++k) {
    const int octant = message.octants[k];
    const std::size_t size = octant < 0 ? std::size_t(compact.block) : octant_block;
    const auto leaf = std::size_t(message.leaves[k] - first);
    if (message.leaves[k] < first || leaf >= state.size() / compact.block || octant >= 8 ||
        at + size > message.data.size())
      refuse();
    const double* from = &message.data[at];
    double* to = &state[leaf * compact.block];
    if (octant < 0) {
      std::copy_n(from, size, to);
    } else {
      for_each_row(octant, [&](std::size_t in_leaf, std::size_t in_octant) {
        std::copy_n(from + in_octant, octant_edge, to + in_leaf);
      });
    }
    at += size;
  }
}

}  // namespace stars
