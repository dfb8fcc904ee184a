// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <stdexcept>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/dense_table.hpp>

namespace starling::detail {

namespace {
constinit thread_local chare_core::birth t_birth{};
}

void chare_core::announce(const birth& next) noexcept { t_birth = next; }

chare_core::birth chare_core::announced() noexcept { return std::exchange(t_birth, {}); }

chare_core::chare_core(const birth& mine, const std::source_location& defined_at) {
  if (mine.local == nullptr)
    throw usage_error(
        "a chare made by hand: create_array makes chares, so that messages find them");
  m_state.local = mine.local;
  m_state.reductions = mine.first_reduction;
  mine.local->defined_at = defined_at;
}

// --- migration

std::uint32_t require_destination(chare_core& c, std::size_t to) {
  const chare_core::state& s = c.element_state();
  const object_space& space = s.local->array->space();
  if (space.rank_count() > 1)
    throw usage_error("migrate_to: in a job of several ranks elements cannot migrate yet");
  if (s.channels != nullptr)
    throw usage_error("migrate_to: an element with channels cannot migrate yet");
  require_worker_number(to, space.worker_total());
  return static_cast<std::uint32_t>(to);
}

void throw_numbered_twice(const std::string& chare) {
  throw std::logic_error("starling: two messages to " + chare + " have the same number");
}

void throw_cannot_depart(const std::string& chare) {
  throw usage_error(chare + ": before_migration must not start tasks or make channels");
}

void throw_migrated(const char* call, const std::string& chare) {
  throw usage_error(std::string(call) + ": " + chare +
                    " has migrated: elements that migrate have no channels, and their indices are "
                    "not used again");
}

void chare_core::take_waits_from(reduction_site& home) {
  for (reduction_wait* w = home.waits().first(); w != nullptr;) {
    reduction_wait* const mine = std::exchange(w, w->next);
    if (mine->contributor != this) continue;
    home.enlist(mine->sequence, m_state.local->array->waiter_of(*this, home, mine->sequence));
    home.waits().withdraw(*mine);
    m_state.waits.enlist(*mine);
  }
}

void chare_core::cancel_waits() noexcept {
  while (reduction_wait* w = m_state.waits.first()) {
    m_state.waits.withdraw(*w);
    w->result.error = std::make_exception_ptr(operation_cancelled());
    resume_here(*w->waiting);
  }
}

template <class Visitor>
void chare_core::for_each_wait(Visitor visit) {
  for (message_wait* w = m_state.mail.waits(); w != nullptr; w = w->next) visit(*w->waiting);
  const reduction_waits& results =
      m_state.tracked != nullptr ? m_state.waits : m_state.local->reductions->waits();
  for (reduction_wait* w = results.first(); w != nullptr; w = w->next)
    if (w->contributor == this) visit(*w->waiting);
}

bool chare_core::can_depart() {
  std::uint32_t can = 0;
  for_each_wait([&can](promise_base& c) { can += root_of(c).of_entry ? 1 : 0; });
  return can == m_state.coroutines && m_state.channels == nullptr;
}

void chare_core::rehome_coroutines(worker& to) {
  for_each_wait([&to](promise_base& c) { rehome(c, to); });
}

}  // namespace starling::detail
