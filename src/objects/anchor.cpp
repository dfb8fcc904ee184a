// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <starling/core/detail/suspended.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/detail/balancing.hpp>
#include <starling/objects/detail/bond.hpp>

namespace starling::detail {
namespace {

std::string line_of(const promise_base& c) {
  return short_text(c.location.load(std::memory_order_relaxed));
}

/// Number of elements of a worker for which all frames are searched, in one balancing.
constexpr std::uint8_t most_searches = 16;

/// Returns the lines of the waits of the element's coroutines, without `balancing` and those in
/// `movable`.
std::string lines_of_others(chare_core& c, const promise_base* balancing,
                            const std::vector<promise_base*>& movable) {
  std::uint8_t& searches = c.element_state().local->searches;
  if (searches == most_searches) return "";
  ++searches;
  std::string lines;
  for_each_suspended_here([&](promise_base& p) {
    if (&p == balancing || std::ranges::find(movable, &p) != movable.end()) return;
    if (owner_of(root_of(p)) == &c) lines += (lines.empty() ? "" : ", ") + line_of(p);
  });
  return lines;
}

}  // namespace

std::string anchor_of(chare_core& c, bool leaves_rank) {
  const chare_core::state& s = c.element_state();
  if (leaves_rank ? has_rank_bound_transfers(c) : has_bound_transfers(c))
    return "a transfer of one of its channels has not ended";
  if (bond* const b = s.local->array->bound())
    if (chare_core* const f = b->partner(c);
        f != nullptr && !(leaves_rank ? f->can_leave_rank_alone() : f->can_depart_alone()))
      return b->following().name_of(*f) + ", which is bound to it, cannot migrate";
  if (leaves_rank && !s.local->array->can_leave_ranks())
    return "its class has no serialize, or no constructor for an element that arrives";
  promise_base& balancing = *s.at_point->waiting;
  if (s.coroutines > 1) {
    const auto movable = leaves_rank ? std::vector<promise_base*>() : c.movable_coroutines();
    const std::string lines = lines_of_others(c, &balancing, movable);
    if (!lines.empty()) return "another coroutine of it waits at " + lines;
    if (leaves_rank) return "it has another coroutine";
  }
  const promise_base& root = root_of(balancing);
  const std::string mine = "its coroutine, which waits at " + line_of(balancing) + ",";
  if (!root.of_entry) return mine + " is not that of an entry method";
  if (leaves_rank && root.has_caller) return mine + " has a caller, which awaits its result";
  if (leaves_rank && !s.local->array->has_resumed())
    return mine + " cannot continue on another rank: the class has no resumed()";
  return "it has another coroutine";
}

}  // namespace starling::detail
