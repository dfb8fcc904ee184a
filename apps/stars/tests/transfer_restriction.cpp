// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hydro/gas.hpp"
#include "tests/transfer_support.hpp"

namespace stars::test {
namespace {

/// A snapshot of the fine level, in the fine slots of the links.
void set_fine(two_levels& t, const snapshot& fine) {
  const std::size_t count = t.coarse.data.size();
  ASSERT_EQ(fine.data.size(), t.state.size() - count);
  std::copy(fine.data.begin(), fine.data.end(),
            t.state.begin() + static_cast<std::ptrdiff_t>(count));
}

/// Fails if a child is taken twice, from another place or from another octant.
TEST(restriction, gives_the_mean_of_eight_children) {
  two_levels t(turbulent(1, boundary_kind::periodic, 31));
  const snapshot fine = turbulent(2, boundary_kind::periodic, 32);
  set_fine(t, fine);  // sub-grid 8n + octant of the fine level is octant of sub-grid n
  t.restrict_all();
  t.for_cells([&](const level_link& link, int k) {
    const triple p = place_of(link.coarse), c = coarse_cell(link.octant, k);
    for (int f = 0; f < field_count; ++f) {
      long double sum = 0.0L;
      for (int child = 0; child < octant_count; ++child) {
        const triple o = place_of(child);
        sum += fine.at(f, {2 * (p.x * edge + c.x) + o.x, 2 * (p.y * edge + c.y) + o.y,
                           2 * (p.z * edge + c.z) + o.z});
      }
      const double mean = static_cast<double>(sum / 8.0L);
      ASSERT_NEAR(t.parent(link, k, f), mean, 4.0 * ulp(1.0)) << "field " << f;
    }
  });
}

/// Fails if a field is averaged as a value per mass.
TEST(restriction, conserves_all_fields_and_no_internal_energy_is_lost) {
  two_levels t(turbulent(1, boundary_kind::periodic, 33));
  const snapshot fine = turbulent(2, boundary_kind::periodic, 34);
  set_fine(t, fine);
  t.restrict_all();
  snapshot coarse = t.coarse;
  std::copy_n(t.state.begin(), coarse.data.size(), coarse.data.begin());
  for (int f = 0; f < field_count; ++f) {
    const auto before = static_cast<double>(total(fine, f));
    EXPECT_NEAR(static_cast<double>(total(coarse, f)), before, 1e-14) << "field " << f;
  }
  for_each_cell(coarse, [&](auto u, const auto&) {
    const double kinetic = kinetic_energy(u(field::rho), u(field::sx), u(field::sy), u(field::sz));
    ASSERT_GT(u(field::egas), kinetic + 0.5);  // the least internal energy of a fine cell
  });
}

/// Fails if the mean adds the children in the order of their numbers.
TEST(restriction, after_prolongation_gives_the_coarse_state) {
  for (const auto kind : boundaries) {
    two_levels t(turbulent(1, kind, 35));
    t.prolong();
    t.restrict_all();
    t.for_cells([&](const level_link& link, int k) {
      const triple c = coarse_cell(link.octant, k);
      for (int f = 0; f < field_count; ++f) {
        const double before = t.coarse.data[t.coarse.index(link.coarse, f, c)];
        const bool rounded = f >= field::pot && f < field::species;
        ASSERT_NEAR(t.parent(link, k, f), before, rounded ? 2.0 * ulp(1.0) : 0.0) << f;
      }
    });
  }
}

/// Fails if a mask is shifted or ignored.
TEST(restriction, writes_needed_cells_only) {
  two_levels t(turbulent(1, boundary_kind::periodic, 36));
  set_fine(t, turbulent(2, boundary_kind::periodic, 37));
  for (std::size_t n = 0; n < t.links.size(); ++n) t.links[n].cells = some_cells(n);
  t.restrict_all();
  t.for_cells([&](const level_link& link, int k) {
    const double before =
        t.coarse.data[t.coarse.index(link.coarse, 0, coarse_cell(link.octant, k))];
    ASSERT_EQ(t.parent(link, k, 0) != before, link.cells.contains(k));
  });
}

TEST(restriction, passes_nan_to_the_parent) {
  double u[octant_count] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (double& child : u) {
    child = std::nan("");
    EXPECT_TRUE(std::isnan(mean_of_children(u)));
    child = 1.0;
  }
  EXPECT_EQ(mean_of_children(u), 1.0);
}

}  // namespace
}  // namespace stars::test
