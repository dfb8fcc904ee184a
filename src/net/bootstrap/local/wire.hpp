// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <starling/core/error.hpp>

/// Protocol between `starling launch` and its ranks over a Unix-domain socket. Both ends are on one
/// host, so integers are in the host's byte order.
///
/// A message is a header and a body:
///
///     u32 magic | u16 version | u16 kind | u32 length of the body
///
/// A rank begins with `hello`; the launcher closes a connection that begins with other bytes.
namespace starling::detail::wire {

inline constexpr std::uint32_t magic = 0x314c5453;  // "STL1"
inline constexpr std::uint16_t version = 1;
inline constexpr std::size_t header_size = 12;
inline constexpr std::size_t gather_limit = std::size_t{1} << 20;
inline constexpr std::size_t text_limit = std::size_t{1} << 16;
inline constexpr int rank_limit = 1024;

using secret = std::array<unsigned char, 16>;

enum class kind : std::uint16_t {
  hello = 1,     // to the launcher: the secret, u32 rank, u32 size
  welcome = 2,   // to the rank: empty
  gather = 3,    // to the launcher: u32 round, bytes
  gathered = 4,  // to the rank: u32 round, then for each rank u32 length, bytes
  missing = 5,   // to the launcher: empty; asks for a `failure` that names the missing ranks
  abort = 6,     // to the launcher: u32 exit code, text
  failure = 7,   // to the rank: text; the last message
};

/// Error for bytes that are not a message of this protocol, or a message not allowed at this point.
class bad_message : public error {
 public:
  using error::error;
};

struct message {
  kind what;
  std::string body;
};

/// Function that returns the largest allowed size of a body of a kind, or no value if the kind is
/// not allowed at this point.
using bounds = std::function<std::optional<std::size_t>(kind)>;
[[nodiscard]] std::optional<std::size_t> first_to_launcher(kind what);
[[nodiscard]] std::optional<std::size_t> then_to_launcher(kind what);
[[nodiscard]] bounds to_rank(int size);

/// Returns header and body.
[[nodiscard]] std::string frame(kind what, std::string_view body);

/// Parser of received bytes into messages. It checks a header before the body has arrived, so that
/// it never stores more than one message of the allowed length for a sender.
class reader {
 public:
  void put(const char* bytes, std::size_t count) { m_bytes.append(bytes, count); }
  /// Returns the next message, or no value if it is incomplete. @throws bad_message
  [[nodiscard]] std::optional<message> next(const bounds& allowed);
  /// Returns whether part of a message has been received.
  [[nodiscard]] bool in_the_middle() const noexcept { return !m_bytes.empty(); }

 private:
  std::string m_bytes;
};

/// Appends an integer to a body.
void put_u32(std::string& body, std::uint32_t value);

/// Reader of the fields of a body. @throws bad_message when it ends too early
class cursor {
 public:
  explicit cursor(std::string_view body) : m_rest(body) {}
  [[nodiscard]] std::uint32_t u32();
  [[nodiscard]] std::string_view bytes(std::size_t count);
  [[nodiscard]] std::string_view rest() const noexcept { return m_rest; }

 private:
  std::string_view m_rest;
};

[[nodiscard]] std::string pack_gathered(std::uint32_t round, const std::vector<std::string>& all);
/// Returns the contributions, by rank. @throws bad_message, also when `body` is of another round
[[nodiscard]] std::vector<std::string> unpack_gathered(std::string_view body, std::uint32_t round,
                                                       int size);

/// Returns 32 hexadecimal digits, as in STARLING_LAUNCH_SECRET.
[[nodiscard]] std::string to_hex(const secret& value);
[[nodiscard]] std::optional<secret> from_hex(std::string_view text);

}  // namespace starling::detail::wire
