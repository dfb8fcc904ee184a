// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each deliberate error changes the result in the way that its check detects.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

double distance(const snapshot& a, const snapshot& b) {
  double worst = 0.0;
  for (std::size_t k = 0; k < a.data.size(); ++k) {
    worst = std::fmax(worst, std::fabs(a.data[k] - b.data[k]));
  }
  return worst;
}

struct case_of_error : testing::Test {
  snapshot first = make_blast(1);
  scheme good = scheme_for(first);
  snapshot right = run_steps(first, good, 5);
};

TEST_F(case_of_error, minmod_for_ppm) {
  scheme bad = good;
  bad.reconstruction = reconstruction_kind::minmod;
  EXPECT_GT(distance(right, run_steps(first, bad, 5)), 1e-3);
}

TEST_F(case_of_error, edge_terms_dropped) {
  scheme bad = good;
  bad.error.edge_terms_dropped = true;
  EXPECT_GT(distance(right, run_steps(first, bad, 5)), 1e-1);
}

TEST_F(case_of_error, one_point_quadrature_is_another_scheme_but_not_an_error) {
  scheme cheap = good;
  cheap.quadrature = quadrature_kind::centre;
  const snapshot s = run_steps(first, cheap, 5);
  EXPECT_GT(distance(right, s), 1e-4);
  EXPECT_LT(relative_drift(first, s, field::rho), 5e-15);
  EXPECT_LT(asymmetry(s), 1e-13);
}

TEST_F(case_of_error, each_ghost_direction_dropped_breaks_symmetry_or_conservation) {
  EXPECT_LT(asymmetry(right), 1e-13);
  for (int d = 0; d < direction_count; ++d) {
    scheme bad = good;
    bad.error.dropped_direction = d;
    const snapshot s = run_steps(first, bad, 5);
    EXPECT_GT(asymmetry(s), 1e-6) << "direction " << d;
  }
}

TEST_F(case_of_error, another_gamma) {
  scheme bad = good;
  bad.error.gamma = 5.0 / 3.0;
  EXPECT_GT(distance(right, run_steps(first, bad, 5)), 1e-2);
}

}  // namespace
}  // namespace stars::test
