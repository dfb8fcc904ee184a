// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <starling/resident/detail/session.hpp>

/// Checks of references to arrays, elements and host mailboxes against those of a program.
namespace starling::resident::detail {

/// Checks a reference to an array and, if there is an index, to its element. @throws usage_error,
/// naming the requested and the existing arrays or elements, if `arrays` of the program has none
/// with that number, type, size and index
void require_array(const program_description& program, const std::vector<array_request>& arrays,
                   const array_reference& to, std::optional<std::uint32_t> index);

/// The host mailboxes of a program with their values not received yet. Not thread-safe.
class host_mailbox_table {
 public:
  /// Adds a host mailbox for values of `bytes` bytes and returns its number.
  std::uint32_t add(std::size_t bytes);
  /// Checks a host mailbox. @throws usage_error if there is none with that number and size of
  /// values
  void require(std::uint32_t number, std::size_t bytes) const;
  /// Stores a received message in its host mailbox, or records it as stray if no host mailbox
  /// matches.
  void put(const message& m);
  /// Moves the oldest value of an existing host mailbox to `into`. False: it is empty.
  [[nodiscard]] bool take(std::uint32_t number, message& into) noexcept;
  [[nodiscard]] bool has_value(std::uint32_t number) const noexcept;
  /// Returns whether a message was received that matches no host mailbox.
  [[nodiscard]] bool has_stray() const noexcept { return m_stray.has_value(); }
  [[nodiscard]] std::string text_of_stray() const;

 private:
  struct host_mailbox_state {
    std::size_t bytes = 0;  // of a value
    std::deque<message> held{};
  };
  std::deque<host_mailbox_state> m_all;
  std::optional<message_head> m_stray;
};

}  // namespace starling::resident::detail
