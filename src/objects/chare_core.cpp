// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/dense_table.hpp>
#include <starling/objects/ranks.hpp>

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
  if (mine.tracked != nullptr) m_state.tracked = std::move(*mine.tracked);
  mine.local->array->note_definition(defined_at);
}

// --- migration

std::size_t worker_of_rank(chare_core& c, const rank& to) {
  const local_elements& here = *c.element_state().local;
  const object_space& space = here.array->space();
  if (to.number < 0 || to.number >= space.rank_count())
    throw usage_error("migrate_to: there is no rank " + std::to_string(to.number) + ", only " +
                      std::to_string(space.rank_count()));
  const job* const j = space.current_job();
  const std::size_t first = j == nullptr ? 0 : j->first_worker(to.number);
  const std::size_t next = j == nullptr ? space.worker_total() : j->first_worker(to.number + 1);
  return first + here.index % (next - first);
}

std::uint32_t require_destination(chare_core& c, std::size_t to) {
  const chare_core::state& s = c.element_state();
  const object_space& space = s.local->array->space();
  require_no_follower(c, "migrate_to");
  require_worker_number(to, space.worker_total());
  if (s.local->array->locate_worker(to).local->home != nullptr)
    return static_cast<std::uint32_t>(to);
  const array_base& array = *s.local->array;
  const array_base* const follower =
      array.bound() == nullptr ? nullptr : &array.bound()->following();
  const bool follower_can = follower == nullptr || follower->can_leave_ranks();
  if (array.can_leave_ranks() && follower_can) return static_cast<std::uint32_t>(to);
  const std::string which = array.can_leave_ranks()
                                ? "the class of its follower, " + follower->type() + ","
                                : "its class";
  throw usage_error("migrate_to: " + array.name_of(c) +
                    " cannot migrate to another rank: " + which +
                    " needs a public serialize(archive), "
                    "and a constructor with starling::migrated or without arguments");
}

void throw_no_worker(const char* call, const std::string& chare) {
  throw usage_error(chare + ": " + call +
                    " is for tasks and entry methods; this thread is no worker of its runtime");
}

void throw_two_locations(const std::string& chare) {
  throw archive_error("two locations of " + chare +
                      " have the same version: a hint of another rank is wrong");
}

void throw_unexpected_insertion(const std::string& chare) {
  throw archive_error("an insertion of " + chare + " that its home does not expect");
}

void throw_numbered_twice(const std::string& chare) {
  throw std::logic_error("starling: two messages to " + chare + " have the same number");
}

void throw_cannot_depart(const std::string& chare) {
  throw usage_error(chare +
                    ": before_migration must not start tasks or transfers, nor choose a worker to "
                    "which the element cannot depart now");
}

void chare_core::take_waits_from(reduction_site& home) {
  for (reduction_wait* w = home.waits().first(); w != nullptr;) {
    reduction_wait* const mine = std::exchange(w, w->next);
    if (mine->contributor != this) continue;
    home.enlist(mine->sequence,
                m_state.local->array->waiter_of(*this, home.tree(), mine->sequence));
    home.waits().withdraw(*mine);
    m_state.waits.enlist(*mine);
  }
}

void chare_core::cancel_waits() noexcept {
  if (point_wait* w = m_state.at_point) {
    static_cast<void>(w->withdraw());
    w->is_ended = true;
    resume_here(*w->waiting);
  }
  while (reduction_wait* w = m_state.waits.first()) {
    m_state.waits.withdraw(*w);
    w->result.error = std::make_exception_ptr(operation_cancelled());
    resume_here(*w->waiting);
  }
}

void require_no_follower(chare_core& c, const char* call) {
  const array_base& array = *c.element_state().local->array;
  if (!follows(array)) return;
  throw usage_error(std::string(call) + ": " + array.name_of(c) + " is bound to the array " +
                    array.bound()->leading().type() +
                    ": its element with the same index calls it, for both");
}

void bond::delay(chare_core& leader) {
  chare_core* const f = partner(leader);
  if (f == nullptr) return;
  const chare_core::state& s = leader.element_state();
  const bool waits = s.departs() && s.departs_to != s.anywhere;
  f->element_state().departs_to = waits ? s.with_leader : s.stays;
  const point_wait* const w = f->element_state().at_point;
  if (w != nullptr && w->is_released) f->resume_at_point();
}

bool chare_core::can_leave_rank() noexcept {
  if (!can_leave_rank_alone()) return false;
  bond* const b = m_state.local->array->bound();
  chare_core* const p = b == nullptr ? nullptr : b->partner(*this);
  return p == nullptr || p->can_leave_rank_alone();
}

bool chare_core::can_leave_rank_alone() noexcept {
  if (has_rank_bound_transfers(*this)) return false;
  if (!m_state.local->array->can_leave_ranks() || m_state.coroutines > 1) return false;
  if (m_state.coroutines == 0) return true;
  if (m_state.at_point == nullptr || !m_state.at_point->is_released) return false;
  const promise_base& root = root_of(*m_state.at_point->waiting);
  return root.of_entry && !root.has_caller && m_state.local->array->has_resumed();
}

bool chare_core::resumes_after_restart() const {
  const point_wait* const w = m_state.at_point;
  if (m_state.coroutines != 1 || w == nullptr || !w->is_checkpoint) return false;
  const promise_base& root = root_of(*w->waiting);
  return root.of_entry && !root.has_caller && m_state.local->array->has_resumed();
}

bool chare_core::can_depart_to(std::size_t to) {
  const bool leaves_rank = m_state.local->array->locate_worker(to).local->home == nullptr;
  return leaves_rank ? can_leave_rank() : can_depart();
}

confirmation chare_core::confirm_departure(std::size_t to) {
  array_base& array = *m_state.local->array;
  if (array.locate_worker(to).local->home != nullptr) return confirmation::given;
  confirmation all = confirm_posts(*this);
  chare_core* const p = array.bound() == nullptr ? nullptr : array.bound()->partner(*this);
  if (p == nullptr) return all;
  const confirmation its = confirm_posts(*p);
  if (its == confirmation::asked) p->m_state.departs_to = state::with_leader;
  return its == confirmation::given ? all : its;
}

void chare_core::abandon_coroutine() noexcept {
  point_wait* const w = std::exchange(m_state.at_point, nullptr);
  if (w == nullptr) return;
  m_state.has_left = true;
  callback* const end = callback_of(root_of(*w->waiting));
  end->notify(*end);
}

void chare_core::resume_at_point() noexcept {
  point_wait* const w = std::exchange(m_state.at_point, nullptr);
  if (w == nullptr) return;
  w->is_over = true;
  schedule(*w->waiting);
}

void point_wait::enlist() {
  chare_core::state& s = chare->element_state();
  if (s.at_point != nullptr)
    throw usage_error("load_balance(), checkpoint() or migration_point(): another coroutine of " +
                      s.local->array->name_of(*chare) + " is in it");
  if (!is_released) {
    s.local->at_point.push_back(this);
    slot = static_cast<std::uint32_t>(s.local->at_point.size() - 1);
  }
  s.at_point = this;
}

std::vector<point_wait*> release_round(local_elements& local, std::uint32_t round) {
  // An element that has arrived from another worker may wait in the next round already.
  std::vector<point_wait*> released(local.at_point.size());
  for (std::size_t slot = 0; slot < released.size(); ++slot) {
    point_wait*& w = local.at_point[slot];  // null: its element was destroyed
    if (w == nullptr || w->round != round) continue;
    w->is_released = true;
    std::swap(w, released[slot]);
  }
  if (std::ranges::all_of(local.at_point, [](const point_wait* w) { return w == nullptr; }))
    local.at_point.clear();
  return released;
}

bool point_wait::withdraw() noexcept {
  chare_core::state& s = chare->element_state();
  if (s.at_point != this) return false;
  s.at_point = nullptr;
  if (!is_released) s.local->at_point[slot] = nullptr;
  return true;
}

void point_wait::check() const {
  if (is_ended) throw operation_cancelled();
  if (!is_over) throw_interrupted();
}

template <class Visitor>
void chare_core::for_each_wait(Visitor visit) {
  if (m_state.at_point != nullptr && m_state.at_point->is_released)
    visit(*m_state.at_point->waiting);
  for (message_wait* w = m_state.mail.waits(); w != nullptr; w = w->next) visit(*w->waiting);
  const reduction_waits& results =
      m_state.tracked != nullptr ? m_state.waits : m_state.local->reductions->waits();
  for (reduction_wait* w = results.first(); w != nullptr; w = w->next)
    if (w->contributor == this) visit(*w->waiting);
}

bool chare_core::can_depart() {
  if (!can_depart_alone()) return false;
  bond* const b = m_state.local->array->bound();
  chare_core* const p = b == nullptr ? nullptr : b->partner(*this);
  return p == nullptr || p->can_depart_alone();
}

bool chare_core::can_depart_alone() {
  std::uint32_t can = 0;
  for_each_wait([&can](promise_base& c) { can += root_of(c).of_entry ? 1 : 0; });
  return can == m_state.coroutines && !has_bound_transfers(*this);
}

std::vector<promise_base*> chare_core::movable_coroutines() {
  std::vector<promise_base*> found;
  for_each_wait([&found](promise_base& c) {
    if (root_of(c).of_entry) found.push_back(&c);
  });
  return found;
}

void chare_core::rehome_coroutines(worker& to) {
  for_each_wait([&to](promise_base& c) { rehome(c, to); });
}

}  // namespace starling::detail
