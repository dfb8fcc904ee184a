// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/forced_migration.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/remote.hpp>

#include "number_option.hpp"

namespace starling::detail {
namespace {

constexpr option_entry entries[] = {
    {"chaos-migrate", "objects", "PERCENT", "0",
     "in chaos mode: how often elements that can migrate are made to"}};
[[gnu::init_priority(101)]] module_options registered(entries);

struct remote_stay {
  static void run(received_call& a) { a.space().forced().turn_off(); }
};

/// Returns whether an element of the array can have another worker at all.
bool may_migrate(const array_base& array) {
  if (array.space().workers().size() > 1) return true;
  const bond* const b = array.bound();
  return array.can_leave_ranks() && (b == nullptr || b->following().can_leave_ranks());
}

/// Workers, numbered among all ranks.
struct worker_range {
  std::uint32_t first;
  std::uint32_t count;
};
/// Returns those among which an element is that can depart now.
worker_range workers_for(chare_core& c, const object_space& space) {
  if (space.rank_count() > 1 && c.can_leave_rank()) return {0, std::uint32_t(space.worker_total())};
  return {std::uint32_t(space.first_worker()), std::uint32_t(space.workers().size())};
}

}  // namespace

forced_migrations::forced_migrations(const runtime& owner) {
  const auto percent = number_option<std::uint32_t>(owner.options(), "chaos-migrate", "0", 0, 100,
                                                    "is not a number from 0 to 100");
  if (owner.options().chaos) m_percent = percent;
}

void keep_elements_in_place(object_space& space) {
  space.forced().turn_off();
  // In the order of the messages by which arrays are made.
  if (job* const j = space.current_job()) j->send_to_other_ranks(make_remote<remote_stay>({}));
}

void begin_forced_migrations(chare_core& c) {
  const array_base& array = *c.element_state().local->array;
  if (follows(array) || !may_migrate(array)) return;  // a follower migrates with its leader
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
  const worker_range among = workers_for(c, space);
  if (among.count == 1) return false;
  --s.chances;
  if (space.owner().chaos(100) < space.forced().percent()) {
    const std::uint32_t here = s.local->array->worker_number(*s.local->home) - among.first;
    const std::uint32_t distance = 1 + std::uint32_t(space.owner().chaos(among.count - 1));
    s.cause = departure_cause::chaos;
    s.departs_to = among.first + (here + distance) % among.count;
    return true;
  }
  if (s.chances == 0)
    s.departs_to = s.stays;
  else if (s.tracked == nullptr)  // messages to it offer no chance
    offer_forced_migration(c);
  return false;
}

}  // namespace starling::detail
