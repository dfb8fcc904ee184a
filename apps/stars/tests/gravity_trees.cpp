// SPDX-License-Identifier: Apache-2.0
// What the fast method conserves on trees with several levels, and its bits in vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include <starling/device.hpp>

#include "kernel/loop.hpp"
#include "tests/gravity_support.hpp"

namespace stars::test {
namespace {

struct gravity_case {
  std::uint64_t seed;
  double theta;
  int deepest = 3;  ///< level of the tree at most
};
std::ostream& operator<<(std::ostream& out, const gravity_case& c) {
  return out << "tree " << c.seed << ", theta " << c.theta;
}

/// Returns densities of any sign, as rates of change are.
std::vector<double> signed_density(const octree& tree, std::uint64_t seed) {
  std::vector<double> a = random_density(tree, seed);
  generator random(seed);
  for (double& rho : a) rho *= random() < 0.5 ? -1.0 : 1.0;
  return a;
}

class gravity_on_trees : public testing::TestWithParam<gravity_case> {
 protected:
  [[nodiscard]] force_balance balance(bool corrects) const {
    return balance_of(m_masses, solved(m_tree, m_density, {GetParam().theta, corrects}));
  }
  octree m_tree = random_tree(GetParam().seed, boundary_kind::outflow, GetParam().deepest);
  std::vector<double> m_density = random_density(m_tree, GetParam().seed);
  std::vector<point_mass> m_masses = point_masses(m_tree, 1.0, m_density);
};

TEST_P(gravity_on_trees, exerts_no_force_and_no_torque_on_the_whole) {
  const force_balance b = balance(true);
  EXPECT_LT(b.force, 1e-14);
  EXPECT_LT(b.torque, 1e-14);
}

TEST_P(gravity_on_trees, exerts_a_torque_without_correction) {
  const force_balance b = balance(false);
  EXPECT_LT(b.force, 1e-14);
  if (m_tree.leaf_count() > 1)
    EXPECT_GT(b.torque, 1e-7);
  else
    EXPECT_LT(b.torque, 1e-14);  // no far cells
}

TEST_P(gravity_on_trees, has_errors_within_the_limits_of_theta) {
  const gravity_errors e =
      errors_of(m_masses, solved(m_tree, m_density, {GetParam().theta, true}), 100);
  const bool coarse = GetParam().theta > 0.4;
  EXPECT_LT(e.acceleration, coarse ? 2e-2 : 6e-3);
  EXPECT_LT(e.potential, coarse ? 2e-4 : 4e-5);
}

/// What conserves energy: the operator from densities to potentials is symmetric.
TEST_P(gravity_on_trees, has_a_symmetric_operator) {
  std::vector<double> first = results_for(m_tree), again = first, third = first;
  serial_gravity solver(m_tree, 1.0, {GetParam().theta, true});
  solver.solve({m_density.data(), cells_per_subgrid}, first);
  const std::vector<double> a = signed_density(m_tree, 77), b = signed_density(m_tree, 78);
  solver.solve_again({a.data(), cells_per_subgrid}, again);
  solver.solve_again({b.data(), cells_per_subgrid}, third);
  compensated_sum difference, scale;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double volume = m_masses[n].mass / m_density[n];
    const double left = b[n] * attraction_of(again, n).potential,
                 right = a[n] * attraction_of(third, n).potential;
    difference.add(volume * (left - right));
    scale.add(volume * (std::abs(left) + std::abs(right)));
  }
  EXPECT_LT(std::abs(difference.value()), 1e-14 * scale.value());
}

/// The same density has the same potential but for rounding: first moments about its own centre of
/// mass are 0.
TEST_P(gravity_on_trees, has_the_same_potential_when_it_is_solved_again) {
  std::vector<double> first = results_for(m_tree), again = first;
  serial_gravity solver(m_tree, 1.0, {GetParam().theta, false});
  const density_view density{m_density.data(), cells_per_subgrid};
  solver.solve(density, first);
  solver.solve_again(density, again);
  for (std::size_t n = 0; n < m_density.size(); ++n) {
    ASSERT_NEAR(attraction_of(again, n).potential, attraction_of(first, n).potential,
                1e-13 * std::abs(attraction_of(first, n).potential));
  }
}

/// A solve of a density and one of a rate of change, and the results of both.
struct two_densities {
  const octree& tree;
  const std::vector<double>&density, &rate;
  gravity_options options;

  template <gravity_form Form, class Submit>
  std::vector<double> solve(const gravity_target& target, const Submit& submit) const {
    const gravity_tables tables(tree, 1.0, options.theta);
    gravity_memory<std::vector<double>> memory(
        {tables.leaf_count(), tables.interior_count()},
        [](std::size_t size) { return std::vector<double>(size); });
    std::vector<double> results = results_for(tree);
    std::vector<double> all;
    for (const auto& [of, centres] :
         {std::pair(&density, centres_kind::found), std::pair(&rate, centres_kind::kept)}) {
      submit_solve<Form>(tables.plan(), memory.arrays(results.data()),
                         {of->data(), cells_per_subgrid}, centres, options.corrects_torque, target,
                         submit);
      all.insert(all.end(), results.begin(), results.end());
    }
    return all;
  }
  [[nodiscard]] std::vector<double> plain() const {
    return solve<gravity_form::plain>({}, [](const auto& kernel) { run_loop(kernel, false); });
  }
  template <int Width>
  [[nodiscard]] std::vector<double> swept() const {
    using V = vector_of<Width>;
    return solve<gravity_form::swept>({Width, 0}, []<class Kernel>(const Kernel& kernel) {
      if constexpr (requires { kernel.sweep; })
        for (int z = 0; z < kernel.count; ++z) kernel.template lanes<V>(loop_index{0, 0, z});
      else
        run_loop(kernel);
    });
  }
  /// Groups of one thread, which take what they have not written in their scratch memory for NaN.
  [[nodiscard]] std::vector<double> grouped(std::size_t scratch_bytes, int& groups) const {
    const auto submit = [&groups]<class Kernel>(const Kernel& kernel) {
      if constexpr (requires { Kernel::scratch_bytes; }) {
        const extent r = kernel.range();
        std::vector<double> scratch(Kernel::scratch_bytes / sizeof(double));
        for (int n = 0; n < r.x * r.y * r.z; ++n) {
          std::fill(scratch.begin(), scratch.end(), std::nan(""));
          starling::host_group g(scratch.data(), Kernel::scratch_bytes);
          kernel(g, loop_index{n % r.x, n / r.x % r.y, n / (r.x * r.y)});
          ++groups;
        }
      } else {
        run_loop(kernel, false);
      }
    };
    return solve<gravity_form::grouped>({1, scratch_bytes}, submit);
  }
};

/// On small trees, as these vectors are slow on most processors.
class gravity_forms : public testing::TestWithParam<gravity_case> {};

TEST_P(gravity_forms, have_the_same_bits) {
  const auto [seed, theta, deepest] = GetParam();
  const octree tree = random_tree(seed, boundary_kind::outflow, deepest);
  const std::vector<double> density = random_density(tree, seed);
  std::vector<double> rate = signed_density(tree, 99);
  for (std::size_t n = 0; n < rate.size(); n += 3) rate[n] = 0.0;
  for (const bool corrects : {true, false}) {
    const two_densities of{tree, density, rate, {theta, corrects}};
    const std::vector<double> expected = of.plain();
    if (theta > 0.4) {
      EXPECT_TRUE(same_bits(of.swept<2>(), expected));
      EXPECT_TRUE(same_bits(of.swept<4>(), expected));
    }
    EXPECT_TRUE(same_bits(of.swept<8>(), expected));
    int groups = 0;
    EXPECT_TRUE(same_bits(of.grouped(std::size_t{1} << 20, groups), expected));
    EXPECT_EQ(groups > 0, tree.leaf_count() > 1);
    // Groups with too little memory for their kernels: the plain form.
    groups = 0;
    EXPECT_TRUE(same_bits(of.grouped(1000, groups), expected));
    EXPECT_EQ(groups, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(random, gravity_forms,
                         testing::Values(gravity_case{3, 0.5, 2}, gravity_case{6, 0.5, 2},
                                         gravity_case{6, 0.34, 2},
                                         gravity_case{6, least_theta, 2}));

/// Returns how often each cell of a leaf, or a cell that contains it, is a partner of a cell.
/// `leaf_of` and `place` name the receiver.
std::vector<int> visits(const octree& tree, const gravity_plan& plan, int leaf, int place) {
  std::vector<int> count(cell_count(tree), 0);
  const gravity_view& view = plan.tree;
  const auto visit = [&](auto& self, int node, int at) -> void {
    if (view.is_leaf(node)) {
      ++count[std::size_t(node) * cells_per_subgrid + std::size_t(at)];
      return;
    }
    const auto [octant, in_group] = children_of(at);
    for (int g = 0; g < group_count; ++g)
      self(self, view.child(node, octant), g * cells_per_group + in_group);
  };
  const auto visit_all = [&](const stencil_view& list, int node, int at, const auto& wanted) {
    const int group = at / cells_per_group;
    for (int n = list.begin[group]; n < list.begin[group + 1]; ++n) {
      const node_cell c =
          view.find(node, position_in_group(at % cells_per_group), list.partners[n]);
      if (c.node >= 0 && wanted(c.node)) visit(visit, c.node, c.place);
    }
  };
  const auto is_leaf = [&](int node) { return view.is_leaf(node); };
  const auto is_interior = [&](int node) { return !view.is_leaf(node); };
  visit_all(plan.all, leaf, place, is_leaf);
  visit_all(plan.far, leaf, place, is_interior);
  visit_all(plan.near, leaf, place, is_interior);
  for (int node = leaf, at = place, level = 0; view.parents[node] >= 0; ++level) {
    at = place_of_parent({view.octants[node], at % cells_per_group});
    node = view.parents[node];
    if (level == 0) visit_all(plan.near, node, at, is_leaf);
    visit_all(view.parents[node] < 0 ? plan.far_in_root : plan.far, node, at,
              [](int) { return true; });
  }
  return count;
}

/// Each pair is computed on one level, by one kernel.
TEST_P(gravity_on_trees, has_each_other_cell_once_for_each_cell) {
  const gravity_tables tables(m_tree, 1.0, GetParam().theta);
  const gravity_plan plan = tables.plan();
  generator random(GetParam().seed);
  for (int sample = 0; sample < 60; ++sample) {
    const int leaf = int(random() * m_tree.leaf_count());
    const int place = int(random() * cells_per_subgrid);
    const std::vector<int> count = visits(m_tree, plan, leaf, place);
    for (std::size_t n = 0; n < count.size(); ++n) {
      const bool self = n == std::size_t(leaf) * cells_per_subgrid + std::size_t(place);
      ASSERT_EQ(count[n], self ? 0 : 1) << "cell " << n << " for " << leaf << ", " << place;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(random, gravity_on_trees,
                         testing::Values(gravity_case{3, 0.5}, gravity_case{2, least_theta, 2},
                                         gravity_case{4, 0.5}, gravity_case{1, 0.34},
                                         gravity_case{7, 0.34}));

}  // namespace
}  // namespace stars::test
