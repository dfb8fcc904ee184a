// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/work_item.hpp>
#include <starling/objects/entry.hpp>

namespace starling {
class output_archive;
}  // namespace starling

/// Messages of one chare that wait to be awaited, and its coroutines that await messages.
namespace starling::detail {

class awaited_message;

/// Description of an entry method of a type of elements whose messages are awaited. The object's
/// address identifies both.
struct awaited_info : entry_info {
  // How a message is copied to another rank; null: the elements cannot migrate there.
  std::uint32_t (*maker)() = nullptr;  // number of the function that makes it
  void (*save)(const awaited_message& m, output_archive& ar) = nullptr;  // writes its arguments
};

/// A message to an entry method whose messages are awaited. Its queue link, no longer needed by the
/// worker, serves as its link in the mailbox.
class awaited_message : public work_item {
 public:
  awaited_message(function to_run, function to_drop, const awaited_info& what) noexcept
      : work_item(to_run, to_drop, &what.trace_name), entry(&what) {}

  const awaited_info* entry;
  std::int64_t reference = 0;  // first argument, if that is a number

  [[nodiscard]] awaited_message* next() noexcept {
    return queued().next == nullptr ? nullptr
                                    : static_cast<awaited_message*>(&work_item::of(*queued().next));
  }
  void set_next(awaited_message* m) noexcept {
    queued().next = m == nullptr ? nullptr : &m->queued();
  }
};

/// One message that a coroutine awaits, and the message that it has received.
struct condition {
  const awaited_info* entry;
  std::int64_t reference = 0;
  bool any = true;  // any reference fits
  awaited_message* message = nullptr;

  [[nodiscard]] bool fits(const awaited_message& m) const noexcept {
    return m.entry == entry && (any || m.reference == reference);
  }
};

class mailbox;

/// A coroutine that waits for all of its conditions, or for one of them. Stored in its frame.
struct message_wait : described_wait {
  std::span<condition> conditions;
  bool all = true;
  promise_base* waiting = nullptr;
  mailbox* owner = nullptr;  // mailbox that lists it
  message_wait* next = nullptr;
  void* chare = nullptr;  // the waiting chare, for `describe`
  bool is_ended = false;  // the chare is being destroyed

  /// @throws operation_cancelled, hang_error when the wait ended without messages
  void check() const;
  /// Returns a text such as `: message halo(3)`.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool withdraw() noexcept;
};

/// The messages and waits of one chare. Accessed by the chare's worker only. Messages and waits are
/// served in order of arrival: a message goes to the first wait that it completes.
class mailbox {
 public:
  mailbox() = default;
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;
  ~mailbox();

  /// Assigns messages to the conditions of `w` if all messages that `w` needs are there. Returns
  /// false when no message was taken.
  [[nodiscard]] bool take(message_wait& w) noexcept;
  /// Registers a wait that could not be completed.
  void enlist(message_wait& w) noexcept;
  /// Removes a wait. Returns false when it is not registered.
  bool withdraw(message_wait& w) noexcept;

  /// Keeps `m`. Returns the coroutine whose wait it completes, or null.
  [[nodiscard]] promise_base* deliver(awaited_message& m) noexcept;

  /// Removes a wait, marks it as ended and returns it; the caller resumes its coroutine. Null if
  /// there is no wait.
  [[nodiscard]] message_wait* end_one() noexcept;
  /// Returns the oldest wait, or null; `next` leads to the later ones.
  [[nodiscard]] message_wait* waits() const noexcept { return m_waits; }
  /// Returns the oldest message that no wait has taken, or null.
  [[nodiscard]] const awaited_message* kept() const noexcept { return m_kept; }
  /// Visits these messages, oldest first.
  template <class Visitor>
  void for_each_kept(Visitor visit) const {
    for (awaited_message* m = m_kept; m != nullptr; m = m->next()) visit(*m);
  }

 private:
  [[nodiscard]] bool take_all(message_wait& w) noexcept;
  [[nodiscard]] bool take_first(message_wait& w) noexcept;
  [[nodiscard]] awaited_message* find(const condition& c,
                                      std::span<const condition> all) const noexcept;
  void keep(awaited_message& m) noexcept;
  void unlink(awaited_message& m) noexcept;

  awaited_message* m_kept = nullptr;
  awaited_message* m_last = nullptr;
  message_wait* m_waits = nullptr;
};

}  // namespace starling::detail
