// SPDX-License-Identifier: Apache-2.0
// A run in which the tree changes after each step. The serial driver computes what is expected.
#pragma once

#include <utility>
#include <vector>

#include <starling/core.hpp>

#include "driver/adaptive.hpp"
#include "driver/regrid.hpp"
#include "tests/app_support.hpp"

namespace stars::test {

/// Each step is followed by a regrid with rules of its own, and a last step by none.
struct changing_run {
  snapshot first;
  std::vector<std::vector<refinement_rule>> rules;
  level_limits limits;
  snapshot last;    ///< by the serial driver
  int refined = 0;  ///< regrids after which there are more leaves
  int coarsened = 0;
};

/// Returns a run in which the refined region moves. The tree has 8 leaves at first, then 99 on
/// three levels, then 57 on two.
inline const changing_run& changing_trees() {
  static const changing_run made = [] {
    const auto above = [](int f) {
      return std::vector<refinement_rule>{{f, refinement_measure::value, 0.9}};
    };
    const auto periodic = boundary_kind::periodic;
    changing_run run{initial_state(bulge(periodic), octree::uniform(1, periodic)),
                     {above(field::lz), above(field::lz), above(field::ly), above(field::lx)},
                     {1, 3},
                     {}};
    const scheme numerics = scheme_for(run.first);
    run.last = run.first;
    for (const auto& rules : run.rules) {
      const int before = run.last.grid.subgrid_count();
      run.last = serial(run.last, numerics, 1);
      regrid(run.last, rules, run.limits, numerics.weight());
      run.refined += run.last.grid.subgrid_count() > before;
      run.coarsened += run.last.grid.subgrid_count() < before;
    }
    run.last = serial(run.last, numerics, 1);
    return run;
  }();
  return made;
}

/// Does the same with a simulation that has begun with the first state.
inline starling::task<> follow(adaptive_simulation& sim, const changing_run& run) {
  for (const auto& rules : run.rules) {
    co_await sim.step(no_limit);
    co_await sim.finish();
    co_await sim.regrid(rules, run.limits);
  }
  co_await sim.step(no_limit);
  co_await sim.finish();
}

}  // namespace stars::test
