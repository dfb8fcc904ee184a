// SPDX-License-Identifier: Apache-2.0
#include "driver/moved_leaves.hpp"

#include <algorithm>

#include "mesh/part_cuts.hpp"
#include "transfer/moves.hpp"

namespace stars {

leaf_sender::leaf_sender(const regrid_plan& plan, std::span<const int> now,
                         std::span<const int> next, int number)
    : m_pieces(next.size()) {
  const auto p = std::size_t(number);
  int rows = 0;
  // Returns the list for a piece of this part, and the number of its leaf of the next tree there.
  const auto place = [&](int from, int leaf, int octant) -> std::pair<leaf_moves*, int> {
    if (part_of(now, from) != number) return {nullptr, 0};
    const int to = part_of(next, leaf);
    if (to == number) return {&m_kept, leaf - next[p]};
    m_pieces[std::size_t(to)].push_back({leaf, octant, rows});
    return {&m_sent, rows++};
  };
  for (const auto& [from, to] : plan.copies)
    if (const auto [list, leaf] = place(from, to, -1); list != nullptr)
      list->copies.push_back({from - now[p], leaf, -1});
  for (level_link link : plan.restrictions)
    if (const auto [list, leaf] = place(link.fine, link.coarse, link.octant); list != nullptr) {
      link.fine -= now[p];
      link.coarse = leaf;
      list->restrictions.push_back(link);
    }
  for (level_link link : plan.prolongations)
    if (const auto [list, leaf] = place(link.coarse, link.fine, -1); list != nullptr) {
      link.coarse -= now[p];
      link.fine = leaf;
      list->prolongations.push_back(link);
    }
}

moved_leaves leaf_sender::message(int part, std::size_t begin, std::size_t most,
                                  std::span<const double> rows) const {
  moved_leaves all;
  const std::span<const piece> pieces(m_pieces[std::size_t(part)]);
  for (const piece& one : pieces.subspan(begin, std::min(most, pieces.size() - begin))) {
    all.leaves.push_back(one.leaf);
    all.octants.push_back(std::int8_t(one.octant));
    append_piece(all.data, &rows[std::size_t(one.row) * compact.block], one.octant);
  }
  return all;
}

std::size_t pieces_from_others(const regrid_plan& plan, std::span<const int> now,
                               std::span<const int> next, int number) {
  std::size_t count = 0;
  const auto add = [&](int from, int to) {
    count += part_of(next, to) == number && part_of(now, from) != number;
  };
  for (const auto& [from, to] : plan.copies) add(from, to);
  for (const level_link& l : plan.restrictions) add(l.fine, l.coarse);
  for (const level_link& l : plan.prolongations) add(l.coarse, l.fine);
  return count;
}

}  // namespace stars
