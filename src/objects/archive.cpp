// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/archive.hpp>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <starling/core/detail/huge_pages.hpp>

namespace starling {

namespace {

/// Makes room for `more` bytes, and for small values that may follow large ones.
void make_room(std::vector<std::byte>& bytes, std::size_t more) {
  const std::size_t needed = bytes.size() + more;
  if (needed <= bytes.capacity()) return;
  std::vector<std::byte> larger;
  larger.reserve(std::max({2 * bytes.capacity(), needed + needed / 8, std::size_t(256)}));
  detail::prefer_huge_pages(larger.data(), larger.capacity());
  larger.insert(larger.end(), bytes.begin(), bytes.end());
  bytes.swap(larger);
}

}  // namespace

void output_archive::write_beyond(const void* from, std::size_t bytes) {
  if (m_grown == nullptr) detail::throw_full(bytes, position(), left());
  const auto* first = static_cast<const std::byte*>(from);
  make_room(*m_grown, bytes);
  m_grown->insert(m_grown->end(), first, first + bytes);
}

input_archive::shared_bytes input_archive::take_attached(std::size_t bytes, std::size_t align,
                                                         std::string_view what) {
  if (m_lender.lend == nullptr || m_padding != 0) refuse(what, "no memory is attached");
  if (bytes > left()) detail::throw_short(what, bytes, position(), left());
  if (reinterpret_cast<std::uintptr_t>(m_end - bytes) % align != 0)
    refuse(what, "the attached bytes are not aligned");
  m_padding = detail::attached_align;
  m_end -= bytes;
  return {m_end, m_lender.lend(m_lender.of)};
}

namespace detail {

namespace {

std::string list_of(std::span<const std::string_view> types) {
  std::string text;
  for (const std::string_view type : types) {
    if (!text.empty()) text += ", ";
    text += type;
  }
  return "(" + text + ")";
}

constexpr std::uint32_t reversed(std::uint32_t n) {
  return n << 24 | (n & 0xff00) << 8 | (n >> 8 & 0xff00) | n >> 24;
}

std::string plural(std::size_t n) { return fmt::format("{} byte{}", n, n == 1 ? "" : "s"); }

/// Returns the end of a sentence about bytes: `1 is left`.
std::string are_left(std::size_t n) { return fmt::format("{} {} left", n, n == 1 ? "is" : "are"); }

template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw archive_error(fmt::format(text, std::forward<A>(args)...));
}

}  // namespace

void throw_short(std::string_view what, std::size_t needed, std::size_t at, std::size_t left) {
  fail("cannot unpack {}: it needs {} at byte {} of the message, where {}", what, plural(needed),
       at, are_left(left));
}

void throw_count(std::string_view what, std::uint64_t count, std::size_t each, std::size_t at,
                 std::size_t left) {
  fail(
      "cannot unpack {}: {} elements of at least {} each are announced before byte {} of the "
      "message, where {}",
      what, count, plural(each), at, are_left(left));
}

void throw_invalid(std::string_view what, std::string_view why, std::size_t at, std::size_t left) {
  fail("cannot unpack {}: {}, before byte {} of the message, of which {}", what, why, at,
       are_left(left));
}

void throw_unsent(std::string_view what, std::string_view why) {
  fail("cannot pack {}: {}", what, why);
}

void throw_full(std::size_t needed, std::size_t at, std::size_t left) {
  fail("cannot pack: the memory ends at byte {}, and {} are needed at byte {}", at + left,
       plural(needed), at);
}

void throw_too_deep(std::string_view what, int levels) {
  fail(
      "cannot pack or unpack {}: objects within objects, more than {} levels deep; send long "
      "chains as a std::vector",
      what, levels);
}

void throw_too_large(std::string_view what, std::size_t bytes) {
  fail(
      "cannot pack or unpack {}: objects within objects, of more than {} together; send long "
      "chains as a std::vector",
      what, plural(bytes));
}

void throw_miscounted(std::size_t missing) {
  fail("cannot pack: a type's serialize or codec wrote {} less than when its bytes were counted",
       plural(missing));
}

void throw_foreign(archive_header found, archive_header expected,
                   std::span<const std::string_view> types) {
  if (found.format == reversed(expected.format))
    fail("cannot unpack {}: the message comes from a machine of the other byte order",
         list_of(types));
  if (found.format != expected.format)
    fail("cannot unpack {}: the message has format {}, this program reads format {}",
         list_of(types), found.format, expected.format);
  fail(
      "cannot unpack {}, whose fingerprint is {:#010x}: the message holds other arguments, of "
      "fingerprint {:#010x}, for another method or from another build",
      list_of(types), expected.fingerprint, found.fingerprint);
}

void throw_left_over(std::size_t at, std::size_t left, std::span<const std::string_view> types) {
  fail("cannot unpack {}: they end at byte {} of the message, and {} more {} left over",
       list_of(types), at, plural(left), left == 1 ? "is" : "are");
}

}  // namespace detail
}  // namespace starling
