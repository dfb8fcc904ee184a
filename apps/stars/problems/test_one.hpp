// SPDX-License-Identifier: Apache-2.0
/// \file
/// The refinement test of a leaf on the host.
#pragma once

#include <span>

#include "kernel/loop.hpp"
#include "problems/test_leaves.hpp"

namespace stars {

/// Tests one leaf, [15][14][14][14] with ghosts, on the calling thread.
inline leaf_flags test_one(const double* u, std::span<const refinement_rule> rules) {
  tested_rows found;
  leaf_flags flags;
  run_loop(test_leaves{u, rules.data(), &found, int(rules.size()), 1});
  run_loop(summarize_tests{&found, &flags, 1});
  return flags;
}

}  // namespace stars
