// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/forced_migration.hpp>

#include "number_option.hpp"

namespace starling::detail {
namespace {

constexpr option_entry entries[] = {
    {"chaos-migrate", "objects", "PERCENT", "0",
     "in chaos mode: how often elements that can migrate are made to"}};
[[gnu::init_priority(101)]] module_options registered(entries);

}  // namespace

forced_migrations::forced_migrations(const runtime& owner) {
  const auto percent = number_option<std::uint32_t>(owner.options(), "chaos-migrate", "0", 0, 100,
                                                    "is not a number from 0 to 100");
  if (owner.options().chaos) m_percent = percent;
}

void begin_forced_migrations(chare_core& c) {
  if (follows(*c.element_state().local->array)) return;  // migrates with its leader
  c.element_state().chances = forced_migrations::chances;
  offer_forced_migration(c);
}

void offer_forced_migration(chare_core& c) {
  chare_core::state& s = c.element_state();
  if (s.chances == 0 || (s.departs() && s.departs_to != s.anywhere)) return;
  s.departs_to = s.anywhere;
  s.local->array->request_departure(c);
}

bool draw_destination(chare_core& c) {
  chare_core::state& s = c.element_state();
  if (!c.can_depart()) return false;
  object_space& space = s.local->array->space();
  --s.chances;
  if (space.owner().chaos(100) < space.forced().percent()) {
    const std::uint32_t others = std::uint32_t(space.workers().size()) - 1;
    s.cause = departure_cause::chaos;
    s.departs_to = (s.local->index + 1 + space.owner().chaos(others)) % (others + 1);
    return true;
  }
  if (s.chances == 0)
    s.departs_to = s.stays;
  else if (s.tracked == nullptr)  // messages to it offer no chance
    offer_forced_migration(c);
  return false;
}

}  // namespace starling::detail
