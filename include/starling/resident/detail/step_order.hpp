// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/cells.hpp>

namespace starling::resident::detail {

/// The work of a step, as the leader decides it.
enum class work : std::uint8_t {
  none,   ///< no work was found
  some,   ///< the leader alone had work
  entry,  ///< the group runs an entry method
  over
};

/// The leader's order to its group for a step. In a group of one block, all threads access the
/// scheduler's memory and read there which message is run, and its element.
template <class Group>
class step_order {
 public:
  constexpr void say(work what, const message&, chare*) noexcept { m_what = what; }
  /// Publishes the order to all threads until the next `sync`. All threads call it.
  constexpr void spread(Group& group) noexcept { group.sync(); }
  [[nodiscard]] constexpr work what() const noexcept { return m_what; }
  /// Returns the message that all threads read, in place of the leader's `run`.
  [[nodiscard]] constexpr const message& text(const message& run) const noexcept { return run; }
  [[nodiscard]] constexpr chare* object(chare* of_leader) const noexcept { return of_leader; }

 private:
  work m_what = work::none;
};

/// As above, for a group of several blocks. Each block has a separate scheduler object, to which
/// the order is copied with the message.
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

/// The threads of a group that reach the memory of its leader's scheduler object: the first block.
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
