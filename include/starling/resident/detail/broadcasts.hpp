// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// Runs messages to all elements of an array for the elements that were created on this scheduler,
/// one element in a step. To an element that has moved away it sends a message instead. Used by the
/// leader.
template <class Group>
class broadcasts {
 public:
  constexpr explicit broadcasts(scheduler_core<Group>& core) noexcept : m_core(&core) {}

  /// Returns whether a message is being run for all elements.
  [[nodiscard]] constexpr bool is_on() const noexcept { return m_message != nullptr; }
  /// Returns whether there may be arrays whose setup message has not run yet. Elements run it
  /// before any other message.
  [[nodiscard]] constexpr bool sets_up() const noexcept { return m_sets_up; }
  /// Begins to run the setup message of the next array, if that array has one.
  constexpr void begin_set_up() noexcept {
    m_sets_up = m_arrays_set_up != m_core->shared().l.arrays;
    if (!m_sets_up) return;
    const array_info& info = m_core->shared().array(m_core->device(), m_arrays_set_up++);
    if (info.has_setup == 0) return;
    cell* const c = m_core->compose();
    c->m = info.setup;
    m_core->count_sent();
    begin(c);
  }
  /// Sends the next broadcast down the tree and begins to run it here. Returns false if there is
  /// none.
  [[nodiscard]] constexpr bool begin_broadcast() noexcept {
    cell* const c = m_core->take_broadcast();
    if (c == nullptr) return false;
    m_core->shared().for_each_child(m_core->self(), [this, c](std::uint32_t child) {
      cell* const copy = m_core->compose();
      copy->m = c->m;
      m_core->send(copy, child);
    });
    begin(c);
    return true;
  }
  /// Returns the next element, with its message at the inbox position `beside`; `end_element` must
  /// follow. Returns null if the message was sent to the element: it has moved, or must wait.
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
    c->m.set(message_kind::entry, m.storage(), m.has_reference());
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
           reference_of(m) == m_core->object(m.array, m.target)->state().expected;
  }

  scheduler_core<Group>* m_core;
  cell* m_message = nullptr;      // to be run for all elements
  std::uint32_t m_slot = 0;       // slot of the next element
  std::uint32_t m_last_slot = 0;  // slot behind the last element
  std::uint32_t m_arrays_set_up = 0;
  bool m_sets_up = true;
};

}  // namespace starling::resident::detail
