// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/settings.hpp"
#include "problems/problem.hpp"

namespace stars {

/// A problem that a user can choose by its name.
struct problem_choice {
  const char* name;
  std::vector<const char*> options;  ///< its own options; all of them are in `for_each_option`
  /// Replaces the value 0 of options, which stands for the default of the problem.
  void (*resolve)(settings&);
  /// \throws std::invalid_argument whose text begins with the option of an impossible value
  std::unique_ptr<problem> (*make)(const settings& resolved);

  [[nodiscard]] bool has(const std::string& option) const;
};

[[nodiscard]] std::span<const problem_choice> problem_choices();

/// Returns the choice with a name.
/// \throws std::invalid_argument that lists the names if there is none
[[nodiscard]] const problem_choice& choice_of(const std::string& name);

/// Calls `visit(name, value)` for the value of each option of a problem.
template <class Settings, class Visit>
void for_each_option(Settings& s, Visit visit) {
  visit("energy", s.energy);
  visit("radius", s.radius);
  visit("polar", s.polar);
  visit("azimuth", s.azimuth);
  visit("amplitude", s.amplitude);
  visit("axis", s.axis);
  visit("speed", s.speed);
  visit("strength", s.strength);
  visit("width", s.width);
}

}  // namespace stars
