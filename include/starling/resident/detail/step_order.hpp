// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/cells.hpp>

namespace starling::resident::detail {

/// What is done in a step, said by the leader.
enum class work : std::uint8_t {
  none,   ///< there was nothing to do
  some,   ///< the leader had something to do
  entry,  ///< the group runs an entry method
  over
};

/// What the leader orders its group to do in a step. All threads reach the scheduler's memory, and
/// read there which message is run, and its element.
template <class Group>
class step_order {
 public:
  constexpr void say(work what, const message&, chare*) noexcept { m_what = what; }
  /// All threads call it; behind it each knows what was said, until the next `sync`.
  constexpr void spread(Group& group) noexcept { group.sync(); }
  [[nodiscard]] constexpr work what() const noexcept { return m_what; }
  /// Of what the leader has, what all have.
  [[nodiscard]] constexpr const message& text(const message& run) const noexcept { return run; }
  [[nodiscard]] constexpr chare* object(chare* of_leader) const noexcept { return of_leader; }

 private:
  work m_what = work::none;
};

/// The same where a group has several blocks, of which each reads in a scheduler of its own: what
/// is said is copied there, with the message.
template <class Group>
requires(Group::is_wide) class step_order<Group> {
 public:
  constexpr void say(work what, const message& run, chare* object) noexcept {
    m_said.what = what;
    if (what != work::entry) return;
    m_said.object = object;
    copy_used(m_said.text, run);
  }
  constexpr void spread(Group& group) noexcept { group.tell(m_said); }
  [[nodiscard]] constexpr work what() const noexcept { return m_said.what; }
  [[nodiscard]] constexpr const message& text(const message&) const noexcept { return m_said.text; }
  [[nodiscard]] constexpr chare* object(chare*) const noexcept { return m_said.object; }

 private:
  struct order {
    message text;
    chare* object = nullptr;
    work what = work::none;
  };
  order m_said;
};

/// Threads of a group that reach the memory of its leader's scheduler: of several blocks the first.
template <class Group>
class near_threads {
 public:
  constexpr explicit near_threads(const Group& group) noexcept : m_group(&group) {}
  [[nodiscard]] constexpr int rank() const noexcept { return m_group->rank(); }
  [[nodiscard]] constexpr int size() const noexcept { return m_group->block_size(); }
  template <class F>
  constexpr void for_each(std::uint32_t n, F&& f) const {
    if (rank() >= size()) return;
    for (auto i = std::uint32_t(rank()); i < n; i += std::uint32_t(size())) f(i);
  }

 private:
  const Group* m_group;
};

}  // namespace starling::resident::detail
