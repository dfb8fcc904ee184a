// SPDX-License-Identifier: Apache-2.0
#include "gravity/tables.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace stars {

gravity_tables::gravity_tables(const octree& tree, double xscale, double theta)
    : m_leaves(tree.leaf_count()), m_interior(tree.node_count() - tree.leaf_count()) {
  if (tree.is_periodic())
    throw std::invalid_argument(
        "self-gravity is computed for isolated domains; choose a boundary that is not periodic");
  if (!(xscale > 0.0 && xscale < std::numeric_limits<double>::infinity()))
    throw std::invalid_argument("the domain of gravity has half the edge " +
                                std::to_string(xscale) + "; it must be positive and finite");
  const stencils s(theta);
  const stencil& all = m_interior == 0 ? s.all_in_root : s.all;
  m_far = store(s.far);
  m_far_in_root = store(s.far_in_root);
  m_near = store(s.near);
  m_all = store(all);
  std::vector<pair_potential> pairs;
  for (const partner& p : all.partners) pairs.emplace_back(p.offset);
  m_pairs = store(pairs);
  store_nodes(tree, xscale);
}

template <class T>
gravity_tables::table gravity_tables::store(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignment);
  const table t{m_bytes.size(), int(values.size())};
  const std::size_t size = values.size() * sizeof(T);
  m_bytes.resize(t.begin + (size + alignment - 1) / alignment * alignment);
  if (size > 0) std::memcpy(m_bytes.data() + t.begin, values.data(), size);
  return t;
}

gravity_tables::stencil_table gravity_tables::store(const stencil& s) {
  std::vector<int> distances;
  for (const partner& p : s.partners) distances.push_back(group_cube{s.reach}.distance(p));
  return {store(s.partners), store(distances), s.reach, s.begin};
}

void gravity_tables::store_nodes(const octree& tree, double xscale) {
  std::vector<int> surroundings, parents, octants, children;
  std::vector<double> cell_sizes;
  std::vector<std::vector<int>> levels;
  for (int n = 0; n < tree.node_count(); ++n) {
    const node_key& key = tree.key(n);
    parents.push_back(tree.parent(n));
    octants.push_back(key.octant());
    cell_sizes.push_back(2.0 * (xscale / (edge << key.level)));
    for (int v = 0; v < surrounding_count; ++v) {
      const auto other = key.neighbour(surrounding_vector(v), false);
      surroundings.push_back(other ? tree.find(*other) : -1);
    }
    if (tree.is_leaf(n)) continue;
    children.insert(children.end(), tree.children(n).begin(), tree.children(n).end());
    levels.resize(std::max(levels.size(), std::size_t(key.level) + 1));
    levels[std::size_t(key.level)].push_back(n);
  }
  m_surroundings = store(surroundings);
  m_parents = store(parents);
  m_octants = store(octants);
  m_children = store(children);
  m_cell_sizes = store(cell_sizes);
  for (const std::vector<int>& nodes : levels) m_levels.push_back(store(nodes));
  store_seams(surroundings, parents);
}

void gravity_tables::store_seams(const std::vector<int>& surroundings,
                                 const std::vector<int>& parents) {
  const auto any_around = [&](int node, const auto& wanted) {
    const auto first = surroundings.begin() + std::ptrdiff_t{node} * surrounding_count;
    return std::any_of(first, first + surrounding_count, wanted);
  };
  std::vector<int> finer, coarser;
  for (int n = 0; n < m_leaves; ++n) {
    if (any_around(n, [this](int other) { return other >= m_leaves; })) finer.push_back(n);
    const int parent = parents[std::size_t(n)];
    if (parent < 0) continue;
    if (any_around(parent, [this](int other) { return other >= 0 && other < m_leaves; }))
      coarser.push_back(n);
  }
  m_beside_finer = store(finer);
  m_beside_coarser = store(coarser);
}

gravity_plan gravity_tables::plan(const std::byte* copy) const {
  const auto ints = [copy](const table& t) { return reinterpret_cast<const int*>(copy + t.begin); };
  const auto list = [&](const table& t) { return node_list{ints(t), t.count}; };
  const auto view = [&](const stencil_table& t) {
    stencil_view v{
        reinterpret_cast<const partner*>(copy + t.partners.begin), ints(t.distances), t.reach, {}};
    std::copy(t.begin.begin(), t.begin.end(), v.begin);
    return v;
  };
  gravity_plan p{{ints(m_surroundings), ints(m_parents), ints(m_octants), ints(m_children),
                  reinterpret_cast<const double*>(copy + m_cell_sizes.begin), m_leaves},
                 view(m_far),
                 view(m_far_in_root),
                 view(m_near),
                 view(m_all),
                 reinterpret_cast<const pair_potential*>(copy + m_pairs.begin),
                 {},
                 list(m_beside_finer),
                 list(m_beside_coarser)};
  for (const table& t : m_levels) p.interior.push_back(list(t));
  return p;
}

}  // namespace stars
