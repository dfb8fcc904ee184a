// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "problems/refinement_rule.hpp"

namespace stars {

/// Most tests that an expression may have after its parentheses have been multiplied out.
inline constexpr std::size_t most_refinement_rules = 64;

/// Reads the rules from an expression:
///
///     expression = term { "or" term }
///     term       = factor { "and" factor }
///     factor     = "(" expression ")" | measure "(" field ")" ( ">" | "<" ) number
///     measure    = "value" | "difference" | "relative_difference"
///
/// where a field is one of `field_names`. "and" binds more strongly than "or". The result is a sum
/// of products: a rule with `joined` belongs to the product of the rule before it.
/// \throws std::invalid_argument whose text begins with "refine" and has the position (from 1), the
/// text there and what is accepted instead
[[nodiscard]] std::vector<refinement_rule> parse_refinement(std::string_view text);

}  // namespace stars
