// SPDX-License-Identifier: Apache-2.0
// Refinement rules: what they measure, how they are combined, and the expressions for them.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "driver/regrid.hpp"
#include "problems/problems.hpp"
#include "problems/refinement_expression.hpp"
#include "problems/test_one.hpp"

namespace stars::test {
namespace {

using rules_type = std::vector<refinement_rule>;

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_refinement(text));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no error";
}

TEST(refinement_expression, names_measure_field_and_threshold) {
  EXPECT_EQ(parse_refinement("difference(rho) > 0.1"),
            (rules_type{{field::rho, refinement_measure::difference, 0.1}}));
  EXPECT_EQ(parse_refinement(" relative_difference ( species4 )>2e-3 "),
            (rules_type{{field::species + 4, refinement_measure::relative_difference, 2e-3}}));
  EXPECT_EQ(parse_refinement("value(sx) < -1.5"),
            (rules_type{{field::sx, refinement_measure::value, -1.5, true}}));
}

TEST(refinement_expression, binds_and_more_strongly_than_or) {
  const refinement_rule a{field::rho, refinement_measure::value, 1.0},
      b{field::egas, refinement_measure::value, 2.0}, c{field::tau, refinement_measure::value, 3.0};
  const auto joined = [](refinement_rule r) {
    r.joined = true;
    return r;
  };
  const std::string ta = "value(rho) > 1", tb = "value(egas) > 2", tc = "value(tau) > 3";
  EXPECT_EQ(parse_refinement(ta + " or " + tb + " and " + tc), (rules_type{a, b, joined(c)}));
  EXPECT_EQ(parse_refinement(ta + " and " + tb + " or " + tc), (rules_type{a, joined(b), c}));
  EXPECT_EQ(parse_refinement("(" + ta + " or " + tb + ") and " + tc),
            (rules_type{a, joined(c), b, joined(c)}));
  EXPECT_EQ(parse_refinement("((" + ta + "))"), (rules_type{a}));
}

TEST(refinement_expression, errors_name_the_position_and_what_is_accepted) {
  const struct {
    const char *text, *error;
  } cases[] = {
      {"", "position 1: the end, expected value, difference, relative_difference or '('"},
      {"size(rho) > 1", "position 1: 'size', expected value, difference"},
      {"value rho > 1", "position 7: 'rho', expected '(' and a field"},
      {"value(mass) > 1", "position 7: 'mass', expected a field: rho, egas, tau, pot, sx"},
      {"value(rho > 1", "position 11: '>', expected ')'"},
      {"value(rho) = 1", "position 12: '=', expected '>' or '<'"},
      {"value(rho) >= 1", "position 13: '=', expected a number"},
      {"value(rho) > x", "position 14: 'x', expected a number"},
      {"value(rho) > nan", "position 14: 'nan', expected a number"},
      {"value(rho) > 1e999", "position 14: '1e999', expected a number"},
      {"value(rho) > 1.5.2", "position 14: '1.5.2', expected a number"},
      {"value(rho) >", "position 13: the end, expected a number"},
      {"value(rho) > 1 xor value(tau) > 1", "position 16: 'xor', expected 'and', 'or' or the end"},
      {"value(rho) > 1 or", "position 18: the end, expected value"},
      {"(value(rho) > 1", "position 16: the end, expected 'and', 'or' or ')'"},
      {"value(rho) > 1)", "position 15: ')', expected 'and', 'or' or the end"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_of(c.text).rfind("refine: at " + std::string(c.error), 0), 0u)
        << "'" << c.text << "': " << error_of(c.text);
}

TEST(refinement_expression, is_limited_in_size) {
  std::string many = "value(rho) > 1";
  for (int k = 1; k < 64; ++k) many += " or value(rho) > 1";
  EXPECT_EQ(parse_refinement(many).size(), 64u);
  EXPECT_NE(error_of(many + " or value(rho) > 1").find("more than 64 tests"), std::string::npos);
  const std::string either = "(value(rho) > 1 or value(tau) > 1)";
  std::string product = either;
  for (int k = 1; k < 40; ++k) product += " and " + either;
  EXPECT_NE(error_of(product).find("more than 64 tests"), std::string::npos);
  EXPECT_NE(error_of(std::string(100000, '(')).find("too many parentheses"), std::string::npos);
}

/// A sub-grid with ghosts in which a field grows along x.
std::vector<double> slope(int f, double base, double step) {
  std::vector<double> u(std::size_t(ghosted.block), 1.0);
  for (int k = 0; k < ghosted_cells; ++k)
    u[std::size_t(f * ghosted_cells + k)] = base + step * (k % ghosted_edge);
  return u;
}

bool refined(const char* text, const std::vector<double>& u) {
  const rules_type rules = parse_refinement(text);
  return test_one(u.data(), rules).has(leaf_flags::in_band);
}

TEST(refinement_rules, measure_values_and_differences) {
  const auto u = slope(field::egas, 10.0, 0.5);  // 10.5 … 16 in the cells that are tested
  EXPECT_TRUE(refined("difference(egas) > 0.49", u));
  EXPECT_FALSE(refined("difference(egas) > 0.51", u));
  EXPECT_TRUE(refined("difference(egas) < 0.51", u));
  EXPECT_FALSE(refined("difference(egas) < 0.49", u));
  EXPECT_TRUE(refined("relative_difference(egas) > 0.047", u));  // 0.5 / 10.5
  EXPECT_FALSE(refined("relative_difference(egas) > 0.048", u));
  EXPECT_TRUE(refined("value(egas) > 15.9", u));
  EXPECT_FALSE(refined("value(egas) > 16", u));
  EXPECT_TRUE(refined("value(egas) < 10.6", u));
  EXPECT_FALSE(refined("value(egas) < 10.5", u));
}

TEST(refinement_rules, a_group_applies_if_all_of_it_applies_in_one_cell) {
  const auto u = slope(field::egas, 10.0, 0.5);
  EXPECT_TRUE(refined("value(egas) > 12 and value(egas) < 13", u));
  EXPECT_FALSE(refined("value(egas) > 13 and value(egas) < 12", u));
  EXPECT_FALSE(refined("value(egas) > 13 and value(rho) > 2", u));
  EXPECT_TRUE(refined("value(egas) > 13 and value(rho) > 2 or value(tau) > 0.5", u));
  EXPECT_FALSE(refined("value(rho) > 2 and (value(egas) > 13 or value(tau) > 0.5)", u));
}

TEST(refinement_rules, of_an_expression_refine_as_those_of_the_problem) {
  const auto flow = blast_problem(2), other = blast_problem(2);
  other->rules = parse_refinement("difference(rho) > 0.1 or difference(tau) > 0.1");
  EXPECT_EQ(other->rules, flow->rules);
  const auto leaves = [](const problem& p) {
    return initial_state(p, {0, 2}).grid.subgrid_count();
  };
  EXPECT_EQ(leaves(*other), leaves(*flow));
  other->rules = parse_refinement("difference(rho) > 0.1 and difference(tau) > 0.1");
  EXPECT_LT(leaves(*other), leaves(*flow)) << "the density is uniform at the start";
}

}  // namespace
}  // namespace stars::test
