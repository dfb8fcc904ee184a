// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <starling/resident/detail/session.hpp>

/// What host tasks and elements refer to, checked against what a program has.
namespace starling::resident::detail {

/// @throws usage_error naming what was asked for and what there is, where `arrays` of the program
/// have none of that number, type and size
void require_array(const program_description& program, const std::vector<array_request>& arrays,
                   const array_reference& to);
/// The same, and an element of that index.
void require_element(const program_description& program, const std::vector<array_request>& arrays,
                     const array_reference& to, std::uint32_t index);

/// The mailboxes of a program, with values that no task has received yet. Not thread-safe.
class mailbox_table {
 public:
  /// Adds a mailbox for values of so many bytes and gives its number.
  std::uint32_t add(std::size_t bytes);
  /// @throws usage_error where no mailbox of that number has values of so many bytes
  void require(std::uint32_t number, std::size_t bytes) const;
  /// Keeps a message that has come for a mailbox, or notes that no mailbox can hold it.
  void put(const message& m);
  /// The oldest value of a mailbox that there is. False: there is none.
  [[nodiscard]] bool take(std::uint32_t number, message& into) noexcept;
  [[nodiscard]] bool has_value(std::uint32_t number) const noexcept;
  /// Whether a message has come that no mailbox can hold.
  [[nodiscard]] bool has_stray() const noexcept { return m_stray.has_value(); }
  [[nodiscard]] std::string text_of_stray() const;

 private:
  struct mailbox_state {
    std::size_t bytes = 0;  // of a value
    std::deque<message> held{};
  };
  std::deque<mailbox_state> m_all;
  std::optional<message_head> m_stray;
};

}  // namespace starling::resident::detail
