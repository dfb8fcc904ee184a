// SPDX-License-Identifier: Apache-2.0
// Shapes, strips and tiles.
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jacobi2d::test {
namespace {

TEST(strip_layout, begins_each_row_at_a_line) {
  for (const int x : {1, 30, 31, 32, 8192}) {
    const strip_layout s({x, 5});
    for (int y = -1; y <= 5; ++y) EXPECT_EQ(s.at(0, y) % strip_layout::line, 0) << x << ", " << y;
  }
}

TEST(strip_layout, gives_each_cell_and_ghost_a_place_of_its_own) {
  const strip_layout s({31, 4});
  std::set<offset> places;
  for (int y = -1; y <= 4; ++y)
    for (int x = -1; x <= 31; ++x) {
      EXPECT_GE(s.at(x, y), 0);
      EXPECT_LT(s.at(x, y), s.size());
      places.insert(s.at(x, y));
    }
  EXPECT_EQ(places.size(), 33u * 6u);
}

TEST(tiling, covers_each_cell_once) {
  for (const extent n :
       {extent{1, 1}, extent{3, 100}, extent{1025, 67}, extent{40000, 5}, extent{255, 4097}})
    for (const tiling cut : {tiling::for_one(n), tiling::for_many(n), tiling::for_many(n, 1)}) {
      std::vector<int> seen(std::size_t(n.x) * std::size_t(n.y), 0);
      const apps::triple all = cut.tiles(n);
      for (int j = 0; j < all.y; ++j)
        for (int i = 0; i < all.x; ++i) {
          const tile t = cut(n, apps::triple{i, j, 0});
          EXPECT_EQ(t.x % 4, 0);
          for (int y = t.y; y < t.end_y; ++y)
            for (int x = t.x; x < t.end_x; ++x)
              ++seen[std::size_t(x) + std::size_t(n.x) * std::size_t(y)];
        }
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int k) { return k == 1; }));
    }
}

TEST(decompose, makes_strips_that_differ_by_one_row_at_most) {
  for (const int strips : {1, 2, 5, 7, 23}) {
    const decomposition d = decompose({6, 23}, strips);
    int row = 0;
    for (int i = 0; i < strips; ++i) {
      EXPECT_EQ(d.origin(i), row);
      EXPECT_GE(d.cells(i).y, 23 / strips);
      EXPECT_LE(d.cells(i).y, 23 / strips + 1);
      EXPECT_EQ(d.cells(i).x, 6);
      row += d.cells(i).y;
    }
    EXPECT_EQ(row, 23);
  }
}

TEST(decompose, finds_the_neighbour_beyond_each_side) {
  const decomposition d = decompose({6, 23}, 3);
  EXPECT_FALSE(d.neighbour(0, side::south));
  EXPECT_EQ(d.neighbour(0, side::north), 1);
  EXPECT_EQ(d.neighbour(2, side::south), 1);
  EXPECT_FALSE(d.neighbour(2, side::north));
}

TEST(decompose, names_the_grid_that_cannot_be_cut) {
  const auto refusal = [](extent grid, int strips) -> std::string {
    try {
      static_cast<void>(decompose(grid, strips));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_NE(refusal({8, 4}, 5).find("4 rows cannot be cut into 5 strips"), std::string::npos);
  EXPECT_NE(refusal({8, 0}, 1).find("8 x 0"), std::string::npos);
  EXPECT_NE(refusal({8, 8}, 0).find("at least 1"), std::string::npos);
}

}  // namespace
}  // namespace jacobi2d::test
