// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// Messages to all elements of an array: goes through those that were born on a scheduler, one in a
/// step. Those that have moved get a message. The leader uses it.
template <class Group>
class everywhere {
 public:
  constexpr explicit everywhere(scheduler_core<Group>& core) noexcept : m_core(&core) {}

  /// Whether it goes through elements.
  [[nodiscard]] constexpr bool is_on() const noexcept { return m_message != nullptr; }
  /// Whether there may be arrays whose elements have not run yet what they run first, which they do
  /// before any message is taken.
  [[nodiscard]] constexpr bool sets_up() const noexcept { return m_sets_up; }
  /// Goes through the next one of these, if it has any.
  constexpr void begin_set_up() noexcept {
    m_sets_up = m_arrays_set_up != m_core->where().l.arrays;
    if (!m_sets_up) return;
    const array_info& info = m_core->where().array(m_core->device(), m_arrays_set_up++);
    if (info.has_setup == 0) return;
    cell* const c = m_core->compose();
    c->m = info.setup;
    m_core->count_sent();
    begin(c);
  }
  /// Sends what was broadcast down the tree, and begins with it here. False: there is nothing.
  [[nodiscard]] constexpr bool begin_broadcast() noexcept {
    cell* const c = m_core->take_broadcast();
    if (c == nullptr) return false;
    m_core->where().for_each_child(m_core->self(), [this, c](std::uint32_t child) {
      cell* const copy = m_core->compose();
      copy->m = c->m;
      m_core->send(copy, child);
    });
    begin(c);
    return true;
  }
  /// The next element, with its message beside those of the inbox; behind it `end_element` is
  /// called. Null: it gets a message of its own, which is kept or follows.
  [[nodiscard]] constexpr chare* next() noexcept {
    message& m = m_message->m;
    m.target = m_slot++;
    const std::uint32_t home = m_core->home_of(m);
    if (home == m_core->self() && is_its_turn(m)) {
      copy_used(m_core->in.text(m_core->in.beside), m);
      return m_core->object(m.array, m.target);
    }
    cell* const c = m_core->compose();
    c->m = m;
    c->m.set(message_kind::entry, m.place(), m.has_reference());
    m_core->send(c, home);
    end_element();
    return nullptr;
  }
  constexpr void end_element() noexcept {
    if (m_slot == m_last_slot) end();
  }

 private:
  constexpr void begin(cell* c) noexcept {
    m_message = c;
    m_slot = m_core->array(c->m.array).first;
    m_last_slot = m_core->array(c->m.array).end;
    end_element();
  }
  constexpr void end() noexcept {
    m_core->end_message(m_message->m);
    m_core->cells.give_back(m_message);
    m_message = nullptr;
  }
  [[nodiscard]] constexpr bool is_its_turn(const message& m) const noexcept {
    return !m.has_reference() ||
           reference_of(m) == m_core->object(m.array, m.target)->native().expected;
  }

  scheduler_core<Group>* m_core;
  cell* m_message = nullptr;  // that is run for all elements
  std::uint32_t m_slot = 0;   // the next one of these
  std::uint32_t m_last_slot = 0;
  std::uint32_t m_arrays_set_up = 0;
  bool m_sets_up = true;
};

}  // namespace starling::resident::detail
