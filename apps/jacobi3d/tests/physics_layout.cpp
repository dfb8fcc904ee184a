// SPDX-License-Identifier: Apache-2.0
// The layout of cells in memory, the division of a block, and the decomposition of the grid.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "physics_support.hpp"

namespace jacobi3d::test {
namespace {

const triple shapes[] = {{1, 1, 1}, {1, 7, 3},  {5, 1, 9},  {4, 6, 1},   {2, 2, 2},
                         {3, 3, 3}, {14, 5, 6}, {15, 4, 3}, {33, 17, 9}, {70, 37, 21}};

template <class Visit>
void for_each_cell(const box& b, Visit visit) {
  for (int z = b.begin.z; z < b.end.z; ++z)
    for (int y = b.begin.y; y < b.end.y; ++y)
      for (int x = b.begin.x; x < b.end.x; ++x) visit(triple{x, y, z});
}

TEST(block_layout, gives_every_cell_and_ghost_a_place_of_its_own) {
  for (const triple n : shapes) {
    const block_layout s(n);
    std::set<offset> places;
    for_each_cell({{-1, -1, -1}, {n.x + 1, n.y + 1, n.z + 1}}, [&](triple c) {
      const offset at = s.at(c);
      EXPECT_TRUE(at >= 0 && at < s.size());
      EXPECT_TRUE(places.insert(at).second);
    });
    EXPECT_EQ(s.at(n.x, n.y, n.z), *places.rbegin());
  }
}

TEST(block_layout, begins_each_row_at_128_bytes) {
  for (const triple n : shapes) {
    const block_layout s(n);
    for (int z = -1; z <= n.z; ++z)
      for (int y = -1; y <= n.y; ++y) EXPECT_EQ(s.at(0, y, z) % 16, 0);
  }
}

TEST(block_layout, reaches_beyond_two_to_the_power_of_31) {
  constexpr block_layout s({1536, 1536, 1536});
  static_assert(s.size() > offset{1} << 31);
  EXPECT_EQ(s.at(0, 0, 1535) - s.at(0, 0, -1), 1536 * s.plane);
  EXPECT_GT(s.at(0, 0, 1535), offset{1} << 31);
}

TEST(face, has_an_opposite_in_the_other_direction) {
  for (int i = 0; i < face_count; ++i) {
    const face f = face_of(i);
    const triple there = direction(f), back = direction(opposite(f));
    EXPECT_EQ(opposite(opposite(f)), f);
    EXPECT_EQ(back, (triple{-there.x, -there.y, -there.z}));
    EXPECT_EQ(there.x * there.x + there.y * there.y + there.z * there.z, 1);
  }
}

TEST(layer, is_the_cells_beside_a_face_or_the_ghosts_beyond_it) {
  for (const triple n : shapes) {
    const block_layout s(n);
    for (int i = 0; i < face_count; ++i) {
      const face f = face_of(i);
      const triple d = direction(f);
      for (const int beyond : {0, 1}) {
        const layer l = beyond == 1 ? layer::ghosts(s, f) : layer::own(s, f);
        std::vector<offset> found, expected;
        for (int v = 0; v < l.height; ++v)
          for (int u = 0; u < l.width; ++u) found.push_back(l.origin + u * l.step + v * l.row);
        for_each_cell(whole(s), [&](triple c) {
          if ((d.x < 0 && c.x > 0) || (d.x > 0 && c.x + 1 < n.x)) return;
          if ((d.y < 0 && c.y > 0) || (d.y > 0 && c.y + 1 < n.y)) return;
          if ((d.z < 0 && c.z > 0) || (d.z > 0 && c.z + 1 < n.z)) return;
          expected.push_back(s.at(c.x + beyond * d.x, c.y + beyond * d.y, c.z + beyond * d.z));
        });
        EXPECT_EQ(found, expected) << name_of(f);
        EXPECT_EQ(found.size(), std::size_t(face_size(s, f)));
      }
    }
  }
}

TEST(divided_cells, are_all_cells_once_and_the_interior_needs_no_neighbour) {
  for (const triple n : shapes)
    for (int faces = 0; faces < 1 << face_count; ++faces) {
      const block_layout s(n);
      per_face<bool> there;
      for (int f = 0; f < face_count; ++f) there.of[f] = (faces >> f & 1) != 0;
      const divided_cells cells(s, there);
      std::multiset<offset> found;
      const auto add = [&](triple c) { found.insert(s.at(c)); };
      for_each_cell(cells.interior, add);
      for (int f = 0; f < face_count; ++f) {
        EXPECT_TRUE(there.of[f] || cells.exterior.of[f].empty());
        for_each_cell(cells.exterior.of[f], add);
      }
      const std::set<offset> once(found.begin(), found.end());
      EXPECT_EQ(offset(found.size()), volume(n)) << n.x << ' ' << n.y << ' ' << n.z;
      EXPECT_EQ(once.size(), found.size());
      if (cells.interior.empty()) continue;
      EXPECT_EQ(cells.interior.begin.x, there[face::west] ? 1 : 0);
      EXPECT_EQ(cells.interior.end.x, there[face::east] ? n.x - 1 : n.x);
      EXPECT_EQ(cells.interior.begin.z, there[face::bottom] ? 1 : 0);
      EXPECT_EQ(cells.interior.end.y, there[face::north] ? n.y - 1 : n.y);
    }
}

TEST(tiling, covers_a_box_once) {
  for (const triple n : shapes)
    for (const tiling t : {tiling::for_many(n), tiling::for_one(n), tiling{32, 8, 5, 3}}) {
      const box all{{1, 2, 3}, {n.x + 1, n.y + 2, n.z + 3}};
      const triple tiles = t.tiles(all.extent());
      std::multiset<std::array<int, 3>> cells;
      for_each_cell({{0, 0, 0}, tiles}, [&](triple i) {
        for_each_cell(t.tile(all, i), [&](triple c) { cells.insert({c.x, c.y, c.z}); });
      });
      EXPECT_EQ(offset(cells.size()), volume(n));
      for_each_cell(all, [&](triple c) { EXPECT_EQ(cells.count({c.x, c.y, c.z}), 1u); });
    }
}

TEST(tiling, finds_work_for_many_groups_in_small_blocks_and_reads_few_planes_twice_in_large_ones) {
  const triple small{96, 96, 96};
  EXPECT_GT(volume(tiling::for_many(small).tiles(small)), 200);
  const triple large{1536, 1536, 1536};
  EXPECT_GE(tiling::for_many(large).depth, 6);
  EXPECT_LE(volume(tiling::for_one(small).tiles(small)), 8);
}

TEST(tiling, numbers_the_tiles_of_a_bundle_upwards_before_sideways) {
  const triple n{1536, 1536, 1536};
  const tiling t = tiling::for_many(n);
  const box all{{0, 0, 0}, n};
  EXPECT_EQ(t.bundle * t.height, 192);
  EXPECT_EQ(t.tile(all, triple{1, 2, 3}).begin, (triple{64, 32, 3 * t.depth}));
  EXPECT_EQ(t.tile(all, triple{0, 0, n.z / t.depth}).begin, (triple{0, 192, 0}));
}

TEST(tiling, wastes_few_threads_on_narrow_blocks) {
  EXPECT_EQ(tiling::for_many({96, 96, 96}).width, 32);
  EXPECT_EQ(tiling::for_many({192, 96, 96}).width, 64);
}

TEST(decompose, gives_each_cell_to_one_block_and_cuts_evenly) {
  for (const triple grid : {triple{8, 8, 8}, triple{17, 5, 23}, triple{100, 1, 3}})
    for (const int blocks : {1, 2, 3, 4, 6, 8, 15}) {
      const decomposition d = decompose(grid, blocks);
      ASSERT_EQ(d.count(), blocks);
      offset cells = 0;
      triple least = grid, most{};
      for (int b = 0; b < blocks; ++b) {
        const triple p = d.place(b), n = d.extent(p);
        EXPECT_EQ(d.number(p), b);
        cells += volume(n);
        least = {std::min(least.x, n.x), std::min(least.y, n.y), std::min(least.z, n.z)};
        most = {std::max(most.x, n.x), std::max(most.y, n.y), std::max(most.z, n.z)};
      }
      EXPECT_EQ(cells, volume(grid));
      EXPECT_TRUE(most.x - least.x <= 1 && most.y - least.y <= 1 && most.z - least.z <= 1);
      EXPECT_TRUE(least.x >= 1 && least.y >= 1 && least.z >= 1);
    }
}

TEST(decompose, leaves_the_least_total_surface) {
  for (const triple grid : {triple{64, 64, 64}, triple{30, 70, 20}, triple{4, 4, 300}})
    for (int blocks = 1; blocks <= 48; ++blocks) {
      offset least = -1;
      for_each_cell({{1, 1, 1}, {grid.x + 1, grid.y + 1, std::min(grid.z, blocks) + 1}},
                    [&](triple b) {
                      if (volume(b) != blocks) return;
                      const offset s = decomposition{grid, b}.surface();
                      if (least < 0 || s < least) least = s;
                    });
      if (least < 0) {
        EXPECT_THROW(static_cast<void>(decompose(grid, blocks)), std::invalid_argument) << blocks;
      } else {
        EXPECT_EQ(decompose(grid, blocks).surface(), least) << blocks;
      }
    }
}

TEST(decompose, cuts_across_z_first_then_across_y) {
  EXPECT_EQ(decompose({64, 64, 64}, 2).blocks, (triple{1, 1, 2}));
  EXPECT_EQ(decompose({64, 64, 64}, 4).blocks, (triple{1, 2, 2}));
  EXPECT_EQ(decompose({64, 64, 64}, 8).blocks, (triple{2, 2, 2}));
  EXPECT_EQ(decompose({64, 64, 64}, 16).blocks, (triple{2, 2, 4}));
  EXPECT_EQ(decompose({1, 64, 1}, 3).blocks, (triple{1, 3, 1}));
}

TEST(decompose, gives_neighbours_to_a_part_with_the_least_surface_between_parts) {
  for (const triple grid : {triple{64, 64, 64}, triple{30, 70, 20}, triple{4, 4, 300}})
    for (const int parts : {1, 2, 3, 4, 8})
      for (const int blocks : {1, 2, 4, 6, 9}) {
        const decomposition d = decompose(grid, parts, blocks);
        EXPECT_EQ(d.surface_of_parts(), decompose(grid, parts).surface());
        ASSERT_EQ(d.count(), parts * blocks);
        std::vector<std::multiset<int>> along(std::size_t(parts) * 3);
        for (int b = 0; b < d.count(); ++b) {
          const triple p = d.place(b);
          const auto part = std::size_t(d.part(p));
          ASSERT_LT(part, std::size_t(parts));
          along[part * 3].insert(p.x);
          along[part * 3 + 1].insert(p.y);
          along[part * 3 + 2].insert(p.z);
        }
        // A part is a box: the product of its extents along the axes is its number of blocks.
        for (std::size_t part = 0; part < std::size_t(parts); ++part) {
          int box = 1;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::multiset<int>& places = along[part * 3 + axis];
            ASSERT_EQ(places.size(), std::size_t(blocks));
            box *= *places.rbegin() - *places.begin() + 1;
          }
          EXPECT_EQ(box, blocks);
        }
      }
}

TEST(decompose, leaves_the_least_surface_between_blocks_of_a_part) {
  EXPECT_EQ(decompose({64, 64, 64}, 2, 2).blocks, (triple{1, 2, 2}));
  EXPECT_EQ(decompose({64, 64, 64}, 2, 4).blocks, (triple{2, 2, 2}));
  EXPECT_EQ(decompose({64, 64, 64}, 1, 8).surface(), decompose({64, 64, 64}, 8).surface());
  EXPECT_EQ(decompose({40, 8, 8}, 2, 2).blocks, (triple{4, 1, 1}));
}

TEST(decompose, takes_other_parts_where_the_best_have_no_room_for_their_blocks) {
  const decomposition d = decompose({3, 2, 1}, 2, 3);
  EXPECT_EQ(d.parts, (triple{1, 2, 1}));
  EXPECT_EQ(d.blocks, (triple{3, 2, 1}));
}

TEST(decompose, finds_the_neighbour_beyond_each_face) {
  const decomposition d = decompose({12, 12, 12}, 8);
  EXPECT_FALSE(d.neighbour({0, 0, 0}, face::west));
  EXPECT_FALSE(d.neighbour({1, 1, 1}, face::top));
  EXPECT_EQ(d.neighbour({0, 0, 0}, face::east), (triple{1, 0, 0}));
  EXPECT_EQ(d.neighbour({1, 1, 1}, face::south), (triple{1, 0, 1}));
}

TEST(decompose, names_the_grid_that_cannot_be_cut) {
  const auto refusal = [](triple grid, int parts, int blocks = 1) -> std::string {
    try {
      static_cast<void>(decompose(grid, parts, blocks));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_NE(refusal({2, 2, 2}, 9).find("cut into 9 blocks"), std::string::npos);
  EXPECT_NE(refusal({2, 2, 2}, 3, 4).find("3 parts of 4 blocks each"), std::string::npos);
  EXPECT_NE(refusal({8, 8, 8}, 11).find("smaller factors"), std::string::npos);
  EXPECT_NE(refusal({8, 0, 8}, 1).find("8 x 0 x 8"), std::string::npos);
  EXPECT_NE(refusal({8, 8, 8}, 0).find("at least 1"), std::string::npos);
}

TEST(decompose_into, keeps_the_blocks_and_cuts_them_into_equal_parts_where_it_can) {
  const triple grid{40, 40, 40}, blocks{4, 2, 6};
  for (const int parts : {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}) {
    const decomposition d = decompose_into(grid, blocks, parts);
    EXPECT_EQ(d.blocks, blocks);
    ASSERT_EQ(d.part_count(), parts);
    std::multiset<int> found;
    for (int b = 0; b < d.count(); ++b) found.insert(d.part(d.place(b)));
    for (int part = 0; part < parts; ++part)
      EXPECT_EQ(found.count(part), std::size_t(d.count() / parts));
  }
  EXPECT_EQ(decompose_into(grid, blocks, 2).parts, (triple{1, 1, 2}));
  EXPECT_EQ(decompose_into({80, 40, 40}, blocks, 2).parts, (triple{2, 1, 1}));
}

TEST(decompose_into, makes_a_single_part_where_blocks_cannot_be_divided_evenly) {
  for (const int parts : {5, 7, 32, 100})
    EXPECT_EQ(decompose_into({40, 40, 40}, {4, 2, 6}, parts).parts, (triple{1, 1, 1})) << parts;
}

TEST(decompose_into, refuses_more_blocks_than_cells_and_names_both) {
  const auto refusal = [](triple grid, triple blocks, int parts = 1) -> std::string {
    try {
      static_cast<void>(decompose_into(grid, blocks, parts));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal({8, 8, 8}, {8, 8, 8}), "none");
  EXPECT_TRUE(refusal({8, 8, 8}, {1, 9, 1}).starts_with("blocks: 1 x 9 x 1 blocks of 8 x 8 x 8"));
  EXPECT_TRUE(refusal({8, 8, 8}, {1, 1, 0}).starts_with("blocks:"));
  EXPECT_TRUE(refusal({8, 8, 8}, {-1, -1, 1}).starts_with("blocks:"));
  EXPECT_TRUE(refusal({8, 0, 8}, {1, 1, 1}).starts_with("grid:"));
  EXPECT_TRUE(refusal({8, 8, 8}, {1, 1, 1}, 0).starts_with("parts:"));
  EXPECT_TRUE(refusal({65536, 65536, 8}, {65536, 32768, 1}).starts_with("blocks:"));
  EXPECT_TRUE(refusal({1, 65536, 65536}, {1, 1, 1}).starts_with("grid:"));
}

TEST(decomposition, refuses_more_faces_than_a_message_can_number) {
  EXPECT_THROW(static_cast<void>(decompose({1, 65536, 65536}, 1)), std::invalid_argument);
  EXPECT_EQ(decompose({1, 65536, 65536}, 4).count(), 4);
}

}  // namespace
}  // namespace jacobi3d::test
