// SPDX-License-Identifier: Apache-2.0
#include "wire.hpp"

#include <cstring>

#include <fmt/ranges.h>

namespace starling::detail::wire {

std::optional<std::size_t> first_to_launcher(kind what) {
  if (what == kind::hello) return sizeof(secret) + 8;
  return std::nullopt;
}

std::optional<std::size_t> then_to_launcher(kind what) {
  switch (what) {
    case kind::gather:
      return 4 + gather_limit;
    case kind::missing:
      return 0;
    case kind::abort:
      return 4 + text_limit;
    default:
      return std::nullopt;
  }
}

bounds to_rank(int size) {
  return [size](kind what) -> std::optional<std::size_t> {
    switch (what) {
      case kind::welcome:
        return 0;
      case kind::gathered:
        return 4 + static_cast<std::size_t>(size) * (4 + gather_limit);
      case kind::failure:
        return text_limit;
      default:
        return std::nullopt;
    }
  };
}

std::string frame(kind what, std::string_view body) {
  std::string bytes;
  bytes.reserve(header_size + body.size());
  put_u32(bytes, magic);
  put_u32(bytes, version | static_cast<std::uint32_t>(what) << 16);
  put_u32(bytes, static_cast<std::uint32_t>(body.size()));
  bytes += body;
  return bytes;
}

std::optional<message> reader::next(const bounds& allowed) {
  if (m_bytes.size() < header_size) return std::nullopt;
  cursor header(m_bytes);
  if (header.u32() != magic) throw bad_message("it does not begin as a message");
  const std::uint32_t both = header.u32();
  const std::uint32_t length = header.u32();
  if ((both & 0xffff) != version) {
    throw bad_message(fmt::format("version {} of the protocol, not {}", both & 0xffff, version));
  }
  const kind what{static_cast<std::uint16_t>(both >> 16)};
  const std::optional<std::size_t> limit = allowed(what);
  if (!limit) throw bad_message(fmt::format("kind {} is not allowed here", both >> 16));
  if (length > *limit) {
    throw bad_message(fmt::format("{} bytes of kind {}, at most {}", length, both >> 16, *limit));
  }
  if (m_bytes.size() < header_size + length) return std::nullopt;
  message whole{what, m_bytes.substr(header_size, length)};
  m_bytes.erase(0, header_size + length);
  return whole;
}

void put_u32(std::string& body, std::uint32_t value) {
  body.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t cursor::u32() {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes(4).data(), 4);
  return value;
}

std::string_view cursor::bytes(std::size_t count) {
  if (count > m_rest.size()) throw bad_message("it ends too early");
  const std::string_view taken = m_rest.substr(0, count);
  m_rest.remove_prefix(count);
  return taken;
}

std::string pack_gathered(std::uint32_t round, const std::vector<std::string>& all) {
  std::string body;
  put_u32(body, round);
  for (const std::string& one : all) {
    put_u32(body, static_cast<std::uint32_t>(one.size()));
    body += one;
  }
  return body;
}

std::vector<std::string> unpack_gathered(std::string_view body, std::uint32_t round, int size) {
  cursor from(body);
  const std::uint32_t theirs = from.u32();
  if (theirs != round) throw bad_message(fmt::format("round {}, not {}", theirs, round));
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    const std::uint32_t length = from.u32();
    all.emplace_back(from.bytes(length));
  }
  if (!from.rest().empty()) throw bad_message("bytes are left over at its end");
  return all;
}

std::string to_hex(const secret& value) { return fmt::format("{:02x}", fmt::join(value, "")); }

std::optional<secret> from_hex(std::string_view text) {
  secret value{};
  if (text.size() != 2 * value.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    value[i / 2] = static_cast<unsigned char>(value[i / 2] << 4 | digit);
  }
  return value;
}

}  // namespace starling::detail::wire
