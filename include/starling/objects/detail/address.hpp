// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <source_location>

#include <starling/objects/detail/array_of.hpp>

namespace starling::detail {

/// What a message does whose element does not exist, in an array that takes insertions.
enum class if_missing : std::uint8_t {
  ends,   ///< Message::miss
  waits,  ///< waits for the insertion
  makes   ///< the same; makes the element in an array that makes elements on demand
};

template <class T>
struct message_functions;

/// The element to which a message is sent.
template <class T>
struct address {
  using key = typename array_of<T>::key;
  local_elements* local;  // of the element's home, or of the worker that runs the message
  key to;

  [[nodiscard]] array_of<T>& array() const noexcept { return array_of<T>::of(*local); }
  [[nodiscard]] T* find() const { return array().find(*local, to); }
  /// Returns the element that receives a message; null if the element does not exist, has migrated,
  /// the run has ended, or loads are measured.
  [[nodiscard]] T* receiver() const { return local->array->is_ordinary() ? find() : nullptr; }
  /// Returns whether the element has migrated. On its home.
  [[nodiscard]] bool is_tracked() const {
    return local->has_tracked() && array().is_tracked(*local, to);
  }
  /// Reports an error of an entry method that no waiter receives.
  void fail(const entry_info& entry, const std::exception_ptr& cause,
            const std::source_location& awaited_last = {}) const noexcept {
    or_end_run(*local->home,
               [&] { local->array->fail(array().name_of(to), entry, cause, awaited_last); });
  }
  [[nodiscard]] std::exception_ptr missing(const entry_info& entry) const {
    return array_base::missing(array().name_of(to), entry);
  }
  /// Keeps a message whose element does not exist yet, or makes the element and processes the
  /// message. Returns false when the element will not be made. This address may be part of `m`.
  [[nodiscard]] bool hold_or_make(work_item& m,
                                  if_missing what = if_missing::makes) const noexcept {
    if (local->array->is_closed() || !local->may_get_elements()) return false;
    if (!local->is_made) {
      local->early.push(m.queued());
      return true;
    }
    if (array().makes_on_demand()) {
      if (what != if_missing::makes) return false;
      make_for(m);
    } else {
      keep(m);
    }
    return true;
  }
  /// Handles a message, of the type with these functions, that has not found a receiver on its
  /// home: delivers it after all if loads are measured, passes it on if the element has migrated.
  [[gnu::noinline]] void not_there(work_item& m, const message_functions<T>& of) const noexcept;
  /// Handles a message to an element that does not exist: as hold_or_make, else reports the error
  /// by `by.fail` and discards the message.
  template <class By>
  void miss(work_item& m, const entry_info& entry, By& by,
            if_missing what = if_missing::makes) const noexcept {
    if (hold_or_make(m, what)) return;
    if (!local->array->is_closed()) by.fail(entry, missing(entry));
    m.discard();
  }

 private:
  void keep(work_item& m) const noexcept {
    worker& home = *local->home;  // this address may end with the message
    try {
      array().keep_early(*local, to, m);
    } catch (...) {
      m.discard();
      end_run(home, std::current_exception());
    }
  }
  /// Makes the element and processes its first message. An exception of its constructor ends the
  /// run; the message stays unanswered then.
  [[gnu::noinline]] void make_for(work_item& m) const noexcept {
    try {
      array().make_on_demand(*local, to);
    } catch (...) {
      fail(constructor_info, std::current_exception());
      return keep(m);
    }
    perform(m);
  }
};

}  // namespace starling::detail
