// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Values among bytes, loaded and stored as whole words: nvcc 13.0 compiles a `memcpy` from a
/// member of bytes to one load for each byte, whatever alignment it is given.
namespace starling::resident::detail {

/// A value that may share its memory with objects of other types.
template <class T>
struct [[gnu::may_alias]] placed {
  T value;
};

/// Returns the value at `at`, which must be aligned for T.
template <class T, class Byte>
[[nodiscard]] constexpr T load_as(const Byte* at) noexcept {
  return reinterpret_cast<const placed<T>*>(at)->value;
}
template <class T, class Byte>
constexpr void store_as(Byte* at, const T& value) noexcept {
  reinterpret_cast<placed<T>*>(at)->value = value;
}

/// The 16 bytes that devices load or store at once.
struct alignas(16) quad {
  std::uint32_t word[4];
};

/// Copies between payload blocks, which have room for whole quads.
template <class Byte>
constexpr void copy_block(Byte* to, const Byte* from, std::uint32_t bytes) noexcept {
  for (std::uint32_t i = 0; i < bytes; i += sizeof(quad)) store_as(to + i, load_as<quad>(from + i));
}

/// Copies `Count` quads, `step` elements apart. All loads are issued before the first store,
/// because memory is slow and the compiler must assume that a store changes the next quad to load.
template <std::uint32_t Count, class To, class From>
constexpr void move_quads(To* to, const From* from, std::uint32_t step) noexcept {
  quad some[Count];
  for (std::uint32_t k = 0; k < Count; ++k) some[k] = load_as<quad>(from + k * step);
  for (std::uint32_t k = 0; k < Count; ++k) store_as(to + k * step, some[k]);
}

/// Copies `count` quads with all threads of a group.
template <class Group, class To, class From>
constexpr void copy_quads(const Group& group, To* to, const From* from,
                          std::uint32_t count) noexcept {
  constexpr std::uint32_t in_quad = sizeof(quad) / sizeof(To);
  const auto step = std::uint32_t(group.size());
  // As in `for_each` of contexts, the last threads copy the most. For a thread whose rank is not
  // below the size (see `near_threads`), `i` wraps around to a large number, so the thread copies
  // nothing.
  std::uint32_t i = step - 1 - std::uint32_t(group.rank());
  if (i >= count) return;
  for (; i + 3 * step < count; i += 4 * step)
    move_quads<4>(to + i * in_quad, from + i * in_quad, step * in_quad);
  if (i + step < count) {
    move_quads<2>(to + i * in_quad, from + i * in_quad, step * in_quad);
    i += 2 * step;
  }
  if (i < count) move_quads<1>(to + i * in_quad, from + i * in_quad, step * in_quad);
}

/// Copies with all threads of a group; does not synchronize them.
template <class Group, class T>
constexpr void copy_by_all(const Group& group, T* to, std::span<const T> from) noexcept {
  std::uint32_t done = 0;
  if constexpr (sizeof(quad) % sizeof(T) == 0) {
    const auto addresses =
        reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from.data());
    constexpr std::uint32_t in_quad = sizeof(quad) / sizeof(T);
    const auto quads = addresses % sizeof(quad) == 0 ? std::uint32_t(from.size() / in_quad) : 0u;
    copy_quads(group, to, from.data(), quads);
    done = quads * in_quad;
  }
  group.for_each(std::uint32_t(from.size()) - done,
                 [&](std::uint32_t i) { to[done + i] = from[done + i]; });
}

}  // namespace starling::resident::detail
