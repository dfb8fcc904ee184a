// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/ring.hpp>

/// Schedulers that do not reach each other's memory by loads and stores: what they write there goes
/// by way of somebody else, who copies.
namespace starling::resident::detail {

/// A place in memory that is not mapped here, and whose it is. As a pointer it has a bit that none
/// has, so that whoever follows it is found out at once, and may be reckoned with as others are.
struct far_place {
  std::uint32_t owner = 0;
  std::uint64_t address = 0;  // there, of 48 bits
};
inline constexpr std::uint64_t far_mark = std::uint64_t{1} << 62;

// Templates: only these may have casts that no constant needs, and yet be called on a device.
template <class T>
[[nodiscard]] constexpr bool is_far(const T* p) noexcept {
  return (reinterpret_cast<std::uint64_t>(p) & far_mark) != 0;
}
template <class T>
[[nodiscard]] constexpr far_place far_place_of(const T* p) noexcept {
  const auto bits = reinterpret_cast<std::uint64_t>(p);
  return {static_cast<std::uint32_t>((bits & ~far_mark) >> 48),
          bits & ((std::uint64_t{1} << 48) - 1)};
}
template <class T>
[[nodiscard]] T* as_far_pointer(const far_place& p) noexcept {
  return reinterpret_cast<T*>(far_mark | std::uint64_t(p.owner) << 48 | p.address);
}

/// A group like `Base`, whose memory of other devices `Way` writes:
/// - `put` copies bytes and returns when the source may change, `get` copies from there and returns
///   when all is here;
/// - `store` writes a word that is seen whole;
/// - what is behind a `fence` is not seen before what this thread has put, stored or written to
///   its own device before it; else nothing has an order;
/// - `quiet` returns when all of that is there;
/// - `see` of a word that was stored: what was put before it can be read;
/// - `set_bits`, `clear_bits` (which returns what was there) and `set_once` are atomic among
///   themselves, so that the owner's go the same way;
/// - `own` is the place of memory that is mapped here.
///
/// Messages come in slots whose first unit says that all of it is there: 16 bytes need not arrive
/// at once.
template <class Base, class Way>
class far_group : public Base {
 public:
  using Base::Base;
  static constexpr bool reaches_all = false;

  template <class T>
  static constexpr void store(T* to, T value) noexcept {
    is_far(to) ? Way::store(far_place_of(to), value) : Base::store(to, value);
  }
  template <class T>
  static constexpr void store_release(T* to, T value) noexcept {
    if (!is_far(to)) return Base::store_release(to, value);
    release_data();
    Way::store(far_place_of(to), value);
  }
  template <class T>
  static constexpr void store_credit(T* to, T value) noexcept {
    is_far(to) ? store_release(to, value) : Base::store_credit(to, value);
  }
  template <class T>
  static constexpr void store_fenced(T* to, T value) noexcept {
    is_far(to) ? Way::store(far_place_of(to), value) : Base::store_fenced(to, value);
  }
  static constexpr void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    Way::set_bits(place_of(mask), bits);
  }
  [[nodiscard]] static constexpr std::uint64_t clear_bits(std::uint64_t* mask,
                                                          std::uint64_t bits) noexcept {
    const std::uint64_t before = Way::clear_bits(place_of(mask), bits);
    Way::see(mask);
    return before;
  }
  [[nodiscard]] static constexpr bool set_once(std::uint32_t* flag) noexcept {
    return Way::set_once(place_of(flag));
  }
  static constexpr void release_data() noexcept { Way::fence(); }
  [[nodiscard]] static constexpr std::uint32_t acquire_behind(const std::uint32_t* word,
                                                              std::uint32_t seen) noexcept {
    Way::see(word);
    Base::acquire_data();
    return seen;
  }
  /// Before others may do something else with the memory that this has written.
  static constexpr void settle() noexcept { Way::quiet(); }

  /// One thread copies between blocks, or into a channel's buffer.
  template <class Byte>
  static constexpr void copy(Byte* to, const Byte* from, std::uint32_t bytes) noexcept {
    is_far(to) ? Way::put(far_place_of(to), from, bytes) : copy_block(to, from, bytes);
  }
  /// The other way: returns when all is here.
  static constexpr void fetch(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    Way::get(to, far_place_of(from), bytes);
    Base::acquire_data();  // others have read there before
  }
  /// `image`: memory of this device, for the sender alone.
  static constexpr void put(slot& to, slot& image, const message& m, int units,
                            std::uint32_t sequence) noexcept {
    if (!is_far(&to)) return put_flagged<far_group>(to, m, units, sequence);
    put_flagged<Base>(image, m, units, sequence);
    if (units > 1)
      put_unit_bytes(to.units + 1, image.units + 1, sizeof(unit) * unsigned(units - 1));
    put_unit_bytes(to.units, image.units, 8);
    release_data();
    Way::store(far_place_of(&to.units[0].tail), image.units[0].tail);
  }

  static constexpr std::uint32_t slots_at_once = 1;
  [[nodiscard]] static constexpr std::uint32_t which_slot(bool) noexcept { return 0; }
  struct some_slots {
    const slot* next;
    bool is_there;

    [[nodiscard]] constexpr bool empty() const noexcept { return !is_there; }
    template <class Ask, class Place, class Note>
    [[nodiscard]] constexpr some_taken collect(std::uint32_t most, bool, Ask ask, Place place,
                                               Note note) const noexcept {
      if (Base::of_first_lane(most) == 0) return {};
      if (Base::lane() == 0) {
        Way::see(&next->units[0].tail);
        collect_flagged<Base>(*next, *place(0));
        note(0, ask(words_of(*place(0), 0)));
        Base::acquire_data();
      }
      return {1, 0, Base::lane() == 0 ? 1u : 0u};
    }
    [[nodiscard]] static constexpr bool is_flood(std::uint32_t) noexcept { return false; }
  };
  [[nodiscard]] static constexpr some_slots look(const slot& next, std::uint32_t wanted,
                                                 bool) noexcept {
    const bool is_there = has_come_flagged<Base>(next, wanted);
    return {&next, Base::of_first_lane(std::uint32_t(is_there)) != 0};
  }

 private:
  template <class T>
  [[nodiscard]] static constexpr far_place place_of(T* p) noexcept {
    return is_far(p) ? far_place_of(p) : Way::own(p);
  }
  template <class Unit>
  static constexpr void put_unit_bytes(Unit* to, const Unit* from, std::uint32_t bytes) noexcept {
    Way::put(far_place_of(to), reinterpret_cast<const std::byte*>(from), bytes);
  }
};

}  // namespace starling::resident::detail
