// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <starling/objects/codec.hpp>
#include <starling/objects/detail/attachment.hpp>
#include <starling/objects/detail/encoding.hpp>
#include <starling/objects/error.hpp>

/// Archives: the byte form of values, in which arguments are sent to other ranks of one program.
namespace starling {

/// A type whose values can be sent to other ranks: a type with a codec or a `serialize` (see
/// codec.hpp), an arithmetic type, an enumeration, a trivially copyable struct without pointers, or
/// a std::string, vector, array, deque, list, pair, tuple, optional, variant, (unordered) map or
/// set, unique_ptr, complex or duration of types that travel.
template <class T>
concept travels = detail::can_travel<std::remove_cv_t<T>>();

namespace detail {

inline constexpr std::uint32_t archive_format = 1;
/// Maximum depth of nested objects of user-defined classes: reading and writing recurse, and a
/// longer chain of pointers would overflow the stack.
inline constexpr int deepest_level = 400;
/// Maximum size in bytes of all nested objects together, except the outermost: fewer levels of
/// large objects would overflow the stack, too.
inline constexpr std::size_t deepest_bytes = std::size_t(1) << 20;

/// Header of packed arguments; `fingerprint` is the hash of their types.
struct archive_header {
  std::uint32_t format;
  std::uint32_t fingerprint;
};

[[noreturn]] void throw_short(std::string_view what, std::size_t needed, std::size_t at,
                              std::size_t left);
[[noreturn]] void throw_count(std::string_view what, std::uint64_t count, std::size_t each,
                              std::size_t at, std::size_t left);
[[noreturn]] void throw_invalid(std::string_view what, std::string_view why, std::size_t at,
                                std::size_t left);
[[noreturn]] void throw_unsent(std::string_view what, std::string_view why);
[[noreturn]] void throw_full(std::size_t needed, std::size_t at, std::size_t left);
[[noreturn]] void throw_too_deep(std::string_view what, int levels);
[[noreturn]] void throw_too_large(std::string_view what, std::size_t bytes);
[[noreturn]] void throw_miscounted(std::size_t missing);
[[noreturn]] void throw_foreign(archive_header found, archive_header expected,
                                std::span<const std::string_view> types);
[[noreturn]] void throw_left_over(std::size_t at, std::size_t left,
                                  std::span<const std::string_view> types);

/// Counts the nested objects that are being read or written, which bounds the use of the stack.
class archive_nesting {
 public:
  /// Enters an object of `bytes` bytes; `leave` is called with the same numbers.
  /// @throws archive_error beyond `deepest_level` or `deepest_bytes`
  void enter(std::string_view what, std::size_t bytes, int levels = 1) {
    m_level += levels;
    if (m_values++ != 0) m_bytes += bytes;
    if (m_level > deepest_level) [[unlikely]]
      throw_too_deep(what, deepest_level);
    if (m_bytes > deepest_bytes) [[unlikely]]
      throw_too_large(what, deepest_bytes);
  }
  void leave(std::size_t bytes, int levels = 1) noexcept {
    m_level -= levels;
    if (--m_values != 0) m_bytes -= bytes;
  }

 private:
  int m_level = 0;
  int m_values = 0;
  std::size_t m_bytes = 0;
};

/// Base of the archives that a type's `serialize` writes to.
template <class Self>
class archive_writer : public archive_nesting {
 public:
  static constexpr bool is_reading = false;

  template <class... T>
  Self& operator()(const T&... values) {
    must_all_travel(type_list<T...>{});
    if constexpr ((travels<T> && ...)) (save_value(self(), values), ...);
    return self();
  }
  template <class T>
  Self& operator&(const T& value) {
    return (*this)(value);
  }
  [[noreturn]] void refuse(std::string_view what, std::string_view why) const {
    throw_unsent(what, why);
  }

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace detail

/// Counts the bytes that values take. For one thread.
class counting_archive : public detail::archive_writer<counting_archive> {
 public:
  /// `attached`: receives the first large memory that can be sent without a copy; its bytes are not
  /// counted. Null: all bytes are counted.
  explicit counting_archive(detail::attachment* attached = nullptr) noexcept
      : m_attached(attached) {}

  void write(const void*, std::size_t bytes) noexcept { m_size += bytes; }
  /// Counts memory that belongs to `owner` and does not change.
  void share(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
    m_size += sizeof(detail::archive_place);
    ++m_shares;
    if (m_attached != nullptr && m_attached->owner == nullptr && owner != nullptr &&
        bytes.size() >= detail::worth_attaching)
      *m_attached = {{bytes, owner}, m_shares};
    else
      m_size += bytes.size();
  }
  [[nodiscard]] std::size_t position() const noexcept { return m_size; }

 private:
  std::size_t m_size = 0;
  std::size_t m_shares = 0;
  detail::attachment* m_attached;
};

/// Writes values into memory. For one thread. @throws archive_error when they do not fit, or cannot
/// be packed: a variant without a value, objects nested deeper than 400 levels or 1 MiB.
class output_archive : public detail::archive_writer<output_archive> {
 public:
  /// `attached`: the memory that a counting_archive has found. It is not written.
  explicit output_archive(std::span<std::byte> to,
                          const detail::attachment* attached = nullptr) noexcept
      : m_begin(to.data()), m_at(to.data()), m_end(to.data() + to.size()), m_attached(attached) {}
  /// Appends to `to`, which grows as needed: for values whose bytes are not counted first.
  explicit output_archive(std::vector<std::byte>& to) noexcept : m_grown(&to) {}

  void write(const void* from, std::size_t bytes) {
    if (bytes > left()) [[unlikely]]
      return write_beyond(from, bytes);
    if (bytes != 0) std::memcpy(m_at, from, bytes);
    m_at += bytes;
  }
  void share(std::span<const std::byte> bytes, const std::shared_ptr<const void>&) {
    const bool is_attached = m_attached != nullptr && ++m_shares == m_attached->number;
    const auto place = is_attached ? detail::archive_place::behind : detail::archive_place::here;
    write(&place, sizeof place);
    if (!is_attached)
      write(bytes.data(), bytes.size());
    else if (bytes.size() != m_attached->bytes.size())
      detail::throw_unsent("shared memory", "it is not as large as when it was counted");
  }
  /// Returns the number of bytes written; for a vector, its size.
  [[nodiscard]] std::size_t position() const noexcept {
    return m_grown != nullptr ? m_grown->size() : std::size_t(m_at - m_begin);
  }
  /// Returns the number of bytes not yet written.
  [[nodiscard]] std::size_t left() const noexcept { return std::size_t(m_end - m_at); }

 private:
  void write_beyond(const void* from, std::size_t bytes);

  std::byte* m_begin = nullptr;
  std::byte* m_at = nullptr;
  std::byte* m_end = nullptr;
  std::vector<std::byte>* m_grown = nullptr;
  const detail::attachment* m_attached = nullptr;
  std::size_t m_shares = 0;
};

/// Reads values from bytes that outlive the archive, and never beyond them. For one thread. Memory
/// is allocated in proportion to the bytes: one byte may encode an element, so the factor is the
/// size of an element and of its container's bookkeeping. The time has no linear bound: keys with
/// chosen hash collisions take a hash map time quadratic in their number. @throws archive_error
/// when too few bytes are left or they do not encode such a value; std::bad_alloc
class input_archive : public detail::archive_nesting {
 public:
  static constexpr bool is_reading = true;

  /// `lent_by`: provides an owner that keeps the bytes alive for longer.
  explicit input_archive(std::span<const std::byte> from, detail::lender lent_by = {}) noexcept
      : m_begin(from.data()), m_at(from.data()), m_end(from.data() + from.size()),
        m_granted(from.size()), m_lender(lent_by) {}

  /// Reads into existing values; their previous contents are lost, also after an error.
  template <class... T>
  input_archive& operator()(T&... values) {
    detail::must_all_travel(detail::type_list<T...>{});
    if constexpr ((travels<T> && ...)) (detail::load_value(*this, values), ...);
    return *this;
  }
  template <class T>
  input_archive& operator&(T& value) {
    return (*this)(value);
  }
  /// Reads and returns a value.
  template <class T>
  [[nodiscard]] T read() {
    detail::must_travel<T>();
    static_assert(!std::is_array_v<T>, "a function cannot return an array: read a std::array");
    if constexpr (travels<T> && !std::is_array_v<T>)
      return detail::make_value<std::remove_cv_t<T>>(*this);
  }
  /// Copies the next `bytes` bytes to `to`. `what`: their name in errors.
  void read(void* to, std::size_t bytes, std::string_view what = "bytes") {
    const std::byte* from = take(bytes, what);
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  /// Consumes the next `bytes` bytes without a copy and returns their address.
  [[nodiscard]] const std::byte* take(std::size_t bytes, std::string_view what = "bytes") {
    if (bytes > left()) [[unlikely]]
      detail::throw_short(what, bytes, position(), left());
    return std::exchange(m_at, m_at + bytes);
  }
  /// Memory written by `share`: with an owner that keeps it alive, aligned to `align`; without one
  /// (null), at any address.
  struct shared_bytes {
    const std::byte* data;
    std::shared_ptr<const void> owner;
  };
  [[nodiscard]] shared_bytes take_shared(std::size_t bytes, std::size_t align,
                                         std::string_view what) {
    auto place = detail::archive_place::here;
    read(&place, sizeof place, what);
    if (place == detail::archive_place::here) return {take(bytes, what), nullptr};
    if (place != detail::archive_place::behind) refuse(what, "a flag is neither 0 nor 1");
    return take_attached(bytes, align, what);
  }
  /// Returns all remaining bytes without a copy; they count as read.
  [[nodiscard]] std::span<const std::byte> rest() noexcept {
    return {std::exchange(m_at, m_end), m_end};
  }
  [[nodiscard]] std::size_t position() const noexcept { return std::size_t(m_at - m_begin); }
  [[nodiscard]] std::size_t left() const noexcept { return std::size_t(m_end - m_at); }
  /// Returns `left()` without the padding that aligns attached memory.
  [[nodiscard]] std::size_t left_over() const noexcept {
    return m_padding != 0 && left() < m_padding ? 0 : left();
  }

  /// Returns the number of elements, at most `count`, of `each` bytes for which memory may be
  /// reserved before they are read: for all calls together, no more than the bytes of the message.
  [[nodiscard]] std::size_t grant(std::size_t count, std::size_t each) noexcept {
    const std::size_t granted = count < m_granted / each ? count : m_granted / each;
    m_granted -= granted * each;
    return granted;
  }

  /// @throws archive_error: the value that was just read is invalid
  [[noreturn]] void refuse(std::string_view what, std::string_view why) const {
    detail::throw_invalid(what, why, position(), left());
  }
  [[noreturn]] void refuse_count(std::string_view what, std::uint64_t count,
                                 std::size_t each) const {
    detail::throw_count(what, count, each, position(), left());
  }

 private:
  shared_bytes take_attached(std::size_t bytes, std::size_t align, std::string_view what);

  const std::byte* m_begin;
  const std::byte* m_at;
  const std::byte* m_end;
  std::size_t m_granted;
  detail::lender m_lender;
  std::size_t m_padding = 0;
};

namespace detail {

/// Packs and unpacks arguments of these types.
template <class... Args>
struct arguments_pack {
  static_assert(!(std::is_array_v<Args> || ...),
                "an array is no argument, as no std::tuple of one can be unpacked: send a "
                "std::string, a std::vector or a std::array");
  static constexpr bool is_fixed =
      ((travel_kind_of<std::remove_cv_t<Args>> == travel_kind::bytes) && ...);
  static constexpr std::size_t fixed_size = (sizeof(archive_header) + ... + sizeof(Args));
  static constexpr std::array<std::string_view, sizeof...(Args)> names{type_text<Args>...};
  static constexpr archive_header header{
      archive_format, hash_types(empty_hash, type_list<std::remove_cv_t<Args>...>{})};

  static std::size_t size(const Args&... args) {
    if constexpr (is_fixed) {
      return fixed_size;
    } else {
      counting_archive ar;
      ar.write(&header, sizeof(header));
      (save_value(ar, args), ...);
      return ar.position();
    }
  }

  static std::size_t write(std::span<std::byte> to, const Args&... args) {
    if constexpr (is_fixed) {  // size known at compile time: one check for all arguments
      if (to.size() < fixed_size) throw_full(fixed_size, 0, to.size());
      to = std::span(to.data(), fixed_size);
    }
    output_archive ar(to);
    ar.write(&header, sizeof(header));
    (save_value(ar, args), ...);
    return ar.position();
  }

  static std::tuple<Args...> read(std::span<const std::byte> from) {
    if constexpr (is_fixed)
      if (from.size() == fixed_size) [[likely]]
        return read_from(std::span<const std::byte, fixed_size>(from));
    return read_from(from);
  }

 private:
  /// `Size`: known at compile time, or std::dynamic_extent.
  template <std::size_t Size>
  static std::tuple<Args...> read_from(std::span<const std::byte, Size> from) {
    input_archive ar(from);
    const auto found = make_value<archive_header>(ar);
    if (found.format != header.format || found.fingerprint != header.fingerprint) [[unlikely]]
      throw_foreign(found, header, names);
    std::tuple<Args...> args{
        make_value<std::remove_cv_t<Args>>(ar)...};  // braces evaluate from left to right
    if (ar.left() != 0) [[unlikely]]
      throw_left_over(ar.position(), ar.left(), names);
    return args;
  }
};

template <class Tuple>
struct pack_of_tuple {
  static_assert(never<Tuple>, "unpack makes a std::tuple: name it");
};
template <class... Args>
struct pack_of_tuple<std::tuple<Args...>> : arguments_pack<Args...> {
  static consteval void check() { must_all_travel(type_list<std::remove_cv_t<Args>...>{}); }
};

}  // namespace detail

/// Hash of the argument types, written in front of packed arguments: `unpack` refuses bytes with a
/// different one. Equal on all ranks of one build of a program.
template <class... Args>
inline constexpr std::uint32_t archive_fingerprint =
    detail::hash_types(detail::empty_hash, detail::type_list<std::remove_cv_t<Args>...>{});

/// Returns the number of bytes that `pack` makes of the arguments: a constant for arguments that
/// travel as bytes, else counted with a counting_archive. Errors and thread safety as for `pack`.
template <class... Args>
[[nodiscard]] std::size_t packed_size(const Args&... args) {
  detail::must_all_travel(detail::type_list<Args...>{});
  if constexpr ((travels<Args> && ...)) return detail::arguments_pack<Args...>::size(args...);
}

/// Packs the arguments at the beginning of `to` and returns the bytes written. Any thread.
/// @throws archive_error when they do not fit or a value cannot be packed
template <class... Args>
std::size_t pack_into(std::span<std::byte> to, const Args&... args) {
  detail::must_all_travel(detail::type_list<Args...>{});
  if constexpr ((travels<Args> && ...)) return detail::arguments_pack<Args...>::write(to, args...);
}

/// Returns the arguments as bytes, allocated once, for `unpack<std::tuple<Args…>>` on any rank of
/// the same build. Any thread. @throws archive_error when a value cannot be packed, or its
/// `serialize` writes fewer bytes than it has counted; std::bad_alloc
template <class... Args>
[[nodiscard]] std::vector<std::byte> pack(const Args&... args) {
  std::vector<std::byte> bytes(packed_size(args...));
  const std::size_t written = pack_into(bytes, args...);
  if (written != bytes.size()) [[unlikely]]
    detail::throw_miscounted(bytes.size() - written);
  return bytes;
}

/// Returns the arguments that `pack` was given. Any thread. @throws archive_error when the bytes
/// have a wrong format, wrong types, a wrong number or invalid values, before memory is allocated
/// out of proportion to them; std::bad_alloc; the exceptions of a type's `serialize` or codec
template <class Tuple>
[[nodiscard]] Tuple unpack(std::span<const std::byte> from) {
  detail::pack_of_tuple<Tuple>::check();
  if constexpr (travels<Tuple>) return detail::pack_of_tuple<Tuple>::read(from);
}

}  // namespace starling
