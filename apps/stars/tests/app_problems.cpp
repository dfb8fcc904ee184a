// SPDX-License-Identifier: Apache-2.0
// The choice of a problem by name, and what restart files say of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include <starling/core/error.hpp>

#include "driver/problem_choice.hpp"
#include "driver/setup.hpp"
#include "problems/problems.hpp"

namespace stars::test {
namespace {

TEST(problem_choice, each_problem_is_made_under_its_name_with_defaults) {
  for (const problem_choice& c : problem_choices()) {
    settings s;
    s.problem = c.name;
    s.level = 1;
    const auto flow = make_problem(s);
    EXPECT_EQ(flow->name, c.name);
    EXPECT_EQ(flow->xscale, 1.0);
  }
}

TEST(problem_choice, each_option_of_a_problem_has_a_value) {
  settings s;
  std::set<std::string> known;
  for_each_option(s, [&](const char* name, const auto&) { known.insert(name); });
  std::set<std::string> used;
  for (const problem_choice& c : problem_choices()) used.insert(c.options.begin(), c.options.end());
  EXPECT_EQ(known, used);
}

TEST(problem_choice, an_option_of_another_problem_changes_nothing) {
  settings s;
  s.problem = "vortex";
  const double centre[3] = {0.1, 0.2, 0.3};
  const double rho = make_problem(s)->gas(centre, 0.1).rho;
  s.energy = 7.0;
  EXPECT_EQ(make_problem(s)->gas(centre, 0.1).rho, rho);
  s.strength = 1.0;
  EXPECT_NE(make_problem(s)->gas(centre, 0.1).rho, rho);
}

TEST(problem_choice, a_missing_name_is_reported_with_the_names) {
  try {
    static_cast<void>(choice_of("supernova"));
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("'supernova' is not one of blast, sod"),
              std::string::npos);
  }
}

TEST(problem_choice, an_impossible_value_is_reported_with_its_option) {
  settings s;
  s.problem = "vortex";
  s.radius = 0.4;
  try {
    static_cast<void>(make_problem(s));
    FAIL();
  } catch (const starling::option_error& e) {
    EXPECT_EQ(std::string(e.what()).rfind("--radius must not be above", 0), 0u) << e.what();
  }
}

TEST(problem_choice, refinement_rules_of_an_expression_replace_those_of_the_problem) {
  settings s;
  s.refine = "value(rho) > 2 and difference(sx) > 0.5";
  const auto flow = make_problem(s);
  ASSERT_EQ(flow->rules.size(), 2u);
  EXPECT_EQ(flow->rules[1].field, int{field::sx});
  EXPECT_TRUE(flow->rules[1].joined);
  s.refine = "value(rho)";
  try {
    static_cast<void>(make_problem(s));
    FAIL();
  } catch (const starling::option_error& e) {
    EXPECT_EQ(std::string(e.what()), "--refine: at position 11: the end, expected '>' or '<'");
  }
}

/// Returns the settings of a run that has written the restart file of its first state.
settings written(settings s, const std::filesystem::path& file, const std::string& problem) {
  restart content{begin_run(s, 1).header, {}};
  content.scheme = restart_parameters(s);
  const mesh& grid = content.state.grid;
  content.state.data = first_data(s, grid, 0, grid.subgrid_count());
  content.state.problem = problem;
  write_restart(file, content);
  settings next;
  next.restart_from = file.string();
  return next;
}

TEST(problem_choice, a_restart_takes_the_options_of_the_problem_from_the_file) {
  if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  const auto file = std::filesystem::path(testing::TempDir()) / "app_problems.h5";
  settings s;
  s.problem = "vortex";
  s.level = 0;
  s.strength = 3.0;
  s.azimuth = 20.0;
  settings next = written(s, file, "vortex");
  static_cast<void>(begin_run(next, 1));
  EXPECT_EQ(next.problem, "vortex");
  EXPECT_EQ(next.strength, 3.0);
  EXPECT_EQ(next.azimuth, 20.0);
  EXPECT_EQ(next.radius, 0.2);
  settings other;
  other.restart_from = file.string();
  other.strength = 4.0;
  other.given = {"strength"};
  EXPECT_THROW(static_cast<void>(begin_run(other, 1)), starling::option_error);
  std::filesystem::remove(file);
}

TEST(problem_choice, a_restart_of_an_unknown_problem_is_refused) {
  if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  const auto file = std::filesystem::path(testing::TempDir()) / "app_unknown.h5";
  settings s;
  s.level = 0;
  settings next = written(s, file, "supernova");
  try {
    static_cast<void>(begin_run(next, 1));
    FAIL();
  } catch (const starling::option_error& e) {
    EXPECT_NE(std::string(e.what()).find("'supernova' is not one of"), std::string::npos)
        << e.what();
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace stars::test
