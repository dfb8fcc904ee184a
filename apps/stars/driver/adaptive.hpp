// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <starling/core.hpp>

#include "driver/settings.hpp"
#include "mesh/adapt.hpp"
#include "placement/simulation.hpp"
#include "problems/refinement_rule.hpp"

namespace stars {

/// A simulation whose mesh can follow the flow.
class adaptive_simulation : public simulation {
 public:
  /// Tests all leaves by the rules, and continues on the tree that follows from the tests, if it is
  /// another one. Returns whether it is. Called after `finish`.
  virtual starling::task<bool> regrid(std::vector<refinement_rule> rules, level_limits limits) = 0;

  /// Returns the present mesh.
  [[nodiscard]] virtual const mesh& grid() const = 0;
};

/// Makes the simulation that the settings choose, of the whole domain on this rank.
/// @throws starling::out_of_memory
[[nodiscard]] std::unique_ptr<adaptive_simulation> make_on_one_rank(starling::runtime& rt,
                                                                    snapshot first,
                                                                    const settings& s);

/// Makes the simulation of a part, or of the whole domain.
[[nodiscard]] std::unique_ptr<part_simulation> make_part(starling::runtime& rt, snapshot own,
                                                         const scheme& numerics, residency place,
                                                         const staged_options& staged,
                                                         const resident_options& resident,
                                                         other_parts* others = nullptr);

}  // namespace stars
