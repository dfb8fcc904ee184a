// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernel/loop.hpp"
#include "tests/physics_support.hpp"
#include "transfer/ghosts.hpp"

namespace stars::test {
namespace {

TEST(mesh, has_26_distinct_directions_with_opposites) {
  std::set<std::array<int, 3>> seen;
  for (int d = 0; d < direction_count; ++d) {
    const triple v = direction_vector(d), w = direction_vector(opposite(d));
    EXPECT_EQ(direction_index(v), d);
    EXPECT_EQ(v, (triple{-w.x, -w.y, -w.z}));
    EXPECT_NE(v, triple{});
    seen.insert({v.x, v.y, v.z});
  }
  EXPECT_EQ(seen.size(), 26u);
}

TEST(mesh, coordinates_are_centred_and_agree_between_subgrids) {
  const mesh m{3, 0.7};
  EXPECT_DOUBLE_EQ(m.centre(0), -0.7 + 0.5 * m.dx());
  for (int i = 0; i < m.cells_per_edge(); ++i) {
    EXPECT_EQ(m.centre(i), -m.centre(m.cells_per_edge() - 1 - i));
  }
}

/// The fields of each cell identify the cell: ghosts must have the values of the periodic image.
TEST(ghosts, come_from_the_right_neighbour_in_every_direction) {
  snapshot s = make_linear_wave(1);
  const int n = s.grid.cells_per_edge();
  for (int id = 0; id < s.grid.subgrid_count(); ++id) {
    const triple p = s.grid.tree().key(id).place;
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / (edge * edge)};
      for (int f = 0; f < field_count; ++f) {
        s.data[s.index(id, f, c)] =
            1.0 + f + 100.0 * ((p.x * 8 + c.x) + n * ((p.y * 8 + c.y) + n * (p.z * 8 + c.z)));
      }
      for (const int f : {0, 1, 2, 3}) s.data[s.index(id, f + field::sx, c)] = 0.0;
    }
  }
  const part_plan tables = tables_of(s);
  std::vector<double> u(ghosted.block);
  for (int id = 0; id < s.grid.subgrid_count(); ++id) {
    const triple p = s.grid.tree().key(id).place;
    run_loop(ghosts_of(s.data.data(), tables.view(), id, 1, u.data()));
    for (int z = -3; z < 11; ++z) {
      for (int y = -3; y < 11; ++y) {
        for (int x = -3; x < 11; ++x) {
          const triple g{(p.x * 8 + x + n) % n, (p.y * 8 + y + n) % n, (p.z * 8 + z + n) % n};
          for (const int f : {0, 1, 2, 3, 10, 14}) {
            ASSERT_EQ(u[static_cast<std::size_t>(ghosted_at(0, f, x, y, z))], s.at(f, g))
                << x << ' ' << y << ' ' << z;
          }
        }
      }
    }
  }
}

/// Returns the sub-grids with their ghosts, filled by vectors of `Width` lanes.
template <int Width>
std::vector<double> swept_by(const snapshot& s, const part_plan& tables) {
  const int count = s.grid.subgrid_count();
  std::vector<double> to(static_cast<std::size_t>(count) * ghosted.block);
  const ghost_fill fill = ghosts_of_all(s, tables, to.data(), Width);
  for (int n = 0; n < count; ++n) fill.lanes<vector_of<Width>>(loop_index{0, 0, n});
  return to;
}

/// All sub-grids at once and one by one, cell by cell and in rows, give the same bits.
TEST(ghosts, are_the_same_in_rows_and_cell_by_cell_for_each_kind_of_boundary) {
  constexpr int lanes = static_cast<int>(host_vector::size());
  for (const auto kind :
       {boundary_kind::outflow, boundary_kind::reflecting, boundary_kind::periodic}) {
    const snapshot s = turbulent(1, kind, 7);
    const int count = s.grid.subgrid_count();
    std::vector<double> all(static_cast<std::size_t>(count) * ghosted.block), one(ghosted.block),
        energy(ghosted.field);
    std::vector<double> swept(all.size());
    const part_plan tables = tables_of(s);
    run_loop(ghosts_of_all(s, tables, all.data()));
    run_loop(ghosts_of_all(s, tables, swept.data(), lanes));
    EXPECT_TRUE(same_bits(all, swept));
    EXPECT_TRUE(same_bits(all, swept_by<2>(s, tables)));
    EXPECT_TRUE(same_bits(all, swept_by<4>(s, tables)));
    EXPECT_TRUE(same_bits(all, swept_by<8>(s, tables)));
    for (int id = 0; id < count; ++id) {
      const double* expected = &all[static_cast<std::size_t>(id) * ghosted.block];
      for (const int width : {1, lanes}) {
        run_loop(ghosts_of(s.data.data(), tables.view(), id, width, one.data()));
        EXPECT_TRUE(std::equal(one.begin(), one.end(), expected));
        run_loop(ghosts_of(s.data.data(), tables.view(), id, width, energy.data(), true));
        EXPECT_TRUE(std::equal(energy.begin(), energy.end(),
                               expected + index_type{field::egas} * ghosted.field));
      }
    }
  }
}

TEST(ghosts, outflow_clips_inward_momentum_and_keeps_internal_energy_and_spin) {
  double u[field_count] = {2.0, 5.0, 1.0, 0.0, 3.0, -1.0, 0.5, 0.1, 0.2, 0.3, 2.0};
  const double before = u[field::egas] - 0.5 * (9.0 + 1.0 + 0.25) / 2.0;
  const double from[3] = {0.1, 0.2, 0.3}, to[3] = {-0.1, 0.2, 0.3};
  const boundary_transform lower{{-1, 0, 0},
                                 {axis_rule::zero_gradient, axis_rule::inside, axis_rule::inside}};
  lower(u, from, to);
  EXPECT_EQ(u[field::sx], 0.0);
  EXPECT_EQ(u[field::sy], -1.0);
  EXPECT_NEAR(u[field::egas] - 0.5 * (1.0 + 0.25) / 2.0, before, 1e-15);
  const double spin_z = 0.3 - (0.1 * -1.0 - 0.2 * 3.0);
  EXPECT_NEAR(u[field::lz] - (to[0] * u[field::sy] - to[1] * u[field::sx]), spin_z, 1e-15);
}

TEST(ghosts, outflow_leaves_outward_momentum_alone) {
  double u[field_count] = {2.0, 5.0, 1.0, 0.0, -3.0, -1.0, 0.5, 0.0, 0.0, 0.0, 2.0};
  const double from[3] = {}, to[3] = {};
  boundary_transform{{-1, 0, 0}, {axis_rule::zero_gradient, axis_rule::inside, axis_rule::inside}}(
      u, from, to);
  EXPECT_EQ(u[field::sx], -3.0);
  EXPECT_EQ(u[field::egas], 5.0);
}

TEST(ghosts, a_wall_mirrors_the_normal_momentum) {
  double u[field_count] = {2.0, 5.0, 1.0, 0.0, 3.0, -1.0, 0.5, 0.0, 0.0, 0.0, 2.0};
  const double from[3] = {}, to[3] = {};
  boundary_transform{{-1, 0, 0}, {axis_rule::mirror, axis_rule::inside, axis_rule::inside}}(u, from,
                                                                                            to);
  EXPECT_EQ(u[field::sx], -3.0);
  EXPECT_EQ(u[field::sy], -1.0);
  EXPECT_EQ(u[field::egas], 5.0);
}

}  // namespace
}  // namespace stars::test
