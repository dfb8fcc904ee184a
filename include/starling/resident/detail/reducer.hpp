// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <starling/resident/detail/scheduler_core.hpp>
#include <starling/resident/reduction.hpp>

namespace starling::resident::detail {

/// The kind of destination of a reduction's result.
enum class goal_kind : std::uint8_t { element, broadcast, host };

/// The beginning of a contribution's arguments; the values follow it.
struct contribution_head {
  std::uint32_t generation = 0;  // number of the reduction among those of its array, from 0
  std::uint32_t index = 0;       // of the element, or the host mailbox, that gets the result
  std::uint8_t goal_array = 0;
  goal_kind goal = goal_kind::element;
  scalar type = scalar::none;
  reduction::operation how = reduction::sum;
  std::uint8_t size = 0;  // bytes of the value; 0: a barrier
  std::uint8_t spare[3] = {};
};
static_assert(sizeof(contribution_head) == 16);

/// The properties that all contributions to one reduction must share, as one word for failures.
struct contribution_sign {
  std::uint32_t index = 0;
  std::uint8_t entry = 0;
  std::uint8_t goal = 0;   // array of the destination, and the destination's kind times 16
  std::uint8_t value = 0;  // type of the value, and the operation times 16
  std::uint8_t array = 0;  // array of the contributing elements

  [[nodiscard]] static constexpr contribution_sign of(const message& m) noexcept {
    const auto head = read_at<contribution_head>(m, 0);
    return {head.index, m.entry, std::uint8_t(head.goal_array | int(head.goal) << 4),
            std::uint8_t(int(head.type) | int(head.how) << 4), m.array};
  }
};
static_assert(sizeof(contribution_sign) == 8 && max_arrays <= 16);

/// Combines the contributions of a scheduler's elements and of the schedulers below it. An element
/// counts on the scheduler where it was created, so the number of contributions to wait for does
/// not change when elements move.
template <class Group>
class reducer {
 public:
  constexpr explicit reducer(scheduler_core<Group>& core) noexcept : m_core(&core) {}

  /// Takes a contribution now, or when there is room for it.
  constexpr void take(const incoming& next) noexcept {
    if (!add(*next.text)) return m_core->cells.append(m_too_early, m_core->keep(next));  // is done
    m_core->release(next);
    if (!std::exchange(m_has_ended, false)) return;
    while (!m_too_early.empty()) m_core->send(m_core->cells.pop(m_too_early), m_core->self());
  }

 private:
  struct partial {
    std::uint32_t have = 0;
    message sum;
  };

  /// Adds a contribution. Returns false if too many reductions of the array are in progress.
  [[nodiscard]] constexpr bool add(const message& m) noexcept {
    const auto head = read_at<contribution_head>(m, 0);
    if (head.generation - m_ended[m.array] >= reductions_at_once) return false;
    partial& p = m_partials[m.array][head.generation % reductions_at_once];
    if (p.have == 0) {
      p.sum = m;
    } else if (is_alike(p.sum, m)) {
      constexpr std::size_t at = sizeof(contribution_head);
      combine(head.type, head.how, p.sum.arguments + at, m.arguments + at);
    } else {  // no result is passed on
      m_core->fail(failure::contributions, sign_of(p.sum), sign_of(m));
      return true;
    }
    ++p.have;
    pass_on_whole(m.array, expected(m.array));
    return true;
  }
  /// Returns whether two contributions have the same type, operation and goal. Called for each
  /// contribution, so it has no branches, and most loads are in flight at once.
  [[nodiscard]] static constexpr bool is_alike(const message& a, const message& b) noexcept {
    constexpr std::size_t index = offsetof(contribution_head, index);
    constexpr std::size_t rest = offsetof(contribution_head, goal_array);
    static_assert(rest + sizeof(std::uint64_t) == sizeof(contribution_head));
    return ((read_at<std::uint64_t>(a, rest) ^ read_at<std::uint64_t>(b, rest)) |
            (read_at<std::uint32_t>(a, index) ^ read_at<std::uint32_t>(b, index)) |
            std::uint32_t(a.entry ^ b.entry)) == 0;
  }
  [[nodiscard]] static constexpr std::uint64_t sign_of(const message& m) noexcept {
    return std::bit_cast<std::uint64_t>(contribution_sign::of(m));
  }
  [[nodiscard]] constexpr std::uint32_t expected(std::uint32_t array) const noexcept {
    const array_info& info = m_core->shared().array(m_core->device(), array);
    return m_core->shared().template at<std::uint32_t>(m_core->device(),
                                                       info.expected)[m_core->self()];
  }
  /// Passes on complete results in the order of the reductions: a delayed contribution may arrive
  /// after contributions to a later reduction.
  constexpr void pass_on_whole(std::uint32_t array, std::uint32_t wanted) noexcept {
    std::uint32_t& ended = m_ended[array];
    for (;;) {
      partial& p = m_partials[array][ended % reductions_at_once];
      if (p.have < wanted) return;
      p.have = 0;
      ++ended;
      m_has_ended = true;
      pass_on(p.sum);
    }
  }
  constexpr void pass_on(const message& sum) noexcept {
    cell* const c = m_core->compose();
    message& result = c->m;
    if (m_core->self() != 0) {
      result = sum;
      return m_core->send(c, parent_of(m_core->self()));
    }
    const auto head = read_at<contribution_head>(sum, 0);
    result.array = head.goal_array;
    result.entry = sum.entry;
    result.target = head.index;
    result.bytes = head.size;
    for (int k = 0; k < result.bytes; ++k)
      result.arguments[k] = sum.arguments[sizeof(contribution_head) + k];
    result.set(head.goal == goal_kind::broadcast ? message_kind::broadcast : message_kind::entry);
    m_core->send(c, destination_of(head.goal, result));
  }

  /// Returns the scheduler, or the host, that a result is sent to.
  [[nodiscard]] constexpr std::uint32_t destination_of(goal_kind goal,
                                                       message& result) const noexcept {
    if (goal == goal_kind::element) return m_core->resolve(result);
    return goal == goal_kind::broadcast ? 0 : m_core->shared().l.all_schedulers();
  }

  scheduler_core<Group>* m_core;
  partial m_partials[max_arrays][reductions_at_once];
  std::uint32_t m_ended[max_arrays] = {};
  cell_list m_too_early;  // contributions to reductions that cannot begin yet
  bool m_has_ended = false;
};

}  // namespace starling::resident::detail
