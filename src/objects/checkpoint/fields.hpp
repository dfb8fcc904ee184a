// SPDX-License-Identifier: Apache-2.0
// Numbers and byte strings in headers, indices and manifests, in the byte order of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "objects/checkpoint/checkpoint_error.hpp"

namespace starling::detail {

[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class field_writer {
 public:
  template <class Number>
  void put(Number n) {
    static_assert(std::is_integral_v<Number>);
    append(std::as_bytes(std::span(&n, 1)));
  }
  /// Appends the length, 64 bits, and the bytes.
  void put_bytes(std::span<const std::byte> bytes) {
    put(std::uint64_t{bytes.size()});
    append(bytes);
  }
  void put_text(std::string_view text) { put_bytes(bytes_of(text)); }
  void append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    // Not `insert`, for which GCC 12 falsely reports an overflow.
    const std::size_t at = m_bytes.size();
    m_bytes.resize(at + bytes.size());
    std::memcpy(m_bytes.data() + at, bytes.data(), bytes.size());
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return m_bytes; }

 private:
  std::vector<std::byte> m_bytes;
};

/// Reads fields of bytes that may be damaged; `name` is the file in messages.
/// All functions @throw checkpoint_error (`damaged`) where fewer bytes remain.
class field_reader {
 public:
  field_reader(std::span<const std::byte> bytes, const std::string& name)
      : m_rest(bytes), m_name(&name) {}

  template <class Number>
  [[nodiscard]] Number get() {
    static_assert(std::is_integral_v<Number>);
    Number n;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  /// Returns a view of the bytes behind their length.
  [[nodiscard]] std::span<const std::byte> get_bytes() { return take(get<std::uint64_t>()); }
  [[nodiscard]] std::string get_text() { return std::string(text_of(get_bytes())); }
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t count) {
    if (count > m_rest.size())
      refuse(checkpoint_fault::damaged, *m_name, "a field is longer than the bytes that remain");
    const auto taken = m_rest.first(std::size_t(count));
    m_rest = m_rest.subspan(std::size_t(count));
    return taken;
  }
  [[nodiscard]] std::uint64_t remaining() const { return m_rest.size(); }

 private:
  std::span<const std::byte> m_rest;
  const std::string* m_name;
};

}  // namespace starling::detail
