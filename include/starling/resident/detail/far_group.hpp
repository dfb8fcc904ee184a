// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/bytes.hpp>
#include <starling/resident/detail/ring.hpp>

/// Groups that cannot load from and store to the memory of other devices. A `Way`, such as NVSHMEM,
/// copies the data.
namespace starling::resident::detail {

/// An address in memory of another device that is not mapped here. As a pointer it has a bit that
/// no valid address has, so a dereference faults at once; pointer arithmetic works as usual.
struct far_address {
  std::uint32_t owner = 0;    // PE of NVSHMEM; on the host the device
  std::uint64_t address = 0;  // in the form that `Way` takes, 48 bits
};
inline constexpr std::uint64_t far_mark = std::uint64_t{1} << 62;

// Templates, as all `constexpr` functions with a `reinterpret_cast` must be; `constexpr` makes them
// callable on a device.
template <class T>
[[nodiscard]] constexpr bool is_far(const T* p) noexcept {
  return (reinterpret_cast<std::uint64_t>(p) & far_mark) != 0;
}
template <class T>
[[nodiscard]] constexpr far_address far_address_of(const T* p) noexcept {
  const auto bits = reinterpret_cast<std::uint64_t>(p);
  return {static_cast<std::uint32_t>((bits & ~far_mark) >> 48),
          bits & ((std::uint64_t{1} << 48) - 1)};
}
template <class T>
[[nodiscard]] T* as_far_pointer(const far_address& p) noexcept {
  return reinterpret_cast<T*>(far_mark | std::uint64_t(p.owner) << 48 | p.address);
}

/// A group like `Base`, which accesses memory of other devices by `Way`:
/// - `put` copies bytes and returns when the source may change; `get` copies from there and returns
///   when all bytes are here;
/// - `store` writes a word that is never seen in part;
/// - `fence` orders: operations after it are not visible before the puts, stores and writes to its
///   own device that this thread made before it. Without a fence there is no order;
/// - `quiet` returns when all earlier operations are complete;
/// - `see` of a stored word makes the data readable that was put before it;
/// - `set_bits`, `clear_bits` (returns the previous bits) and `set_once` are atomic only with
///   respect to each other, so the owner of the memory uses them as well;
/// - `own` returns the address of memory that is mapped here.
///
/// Messages are written to slots whose first unit shows that the whole message is there, because 16
/// bytes need not arrive at once.
template <class Base, class Way>
class far_group : public Base {
 public:
  using Base::Base;
  static constexpr bool reaches_all = false;

  template <class T>
  static constexpr void store(T* to, T value) noexcept {
    is_far(to) ? Way::store(far_address_of(to), value) : Base::store(to, value);
  }
  template <class T>
  static constexpr void store_release(T* to, T value) noexcept {
    if (!is_far(to)) return Base::store_release(to, value);
    release_data();
    Way::store(far_address_of(to), value);
  }
  template <class T>
  static constexpr void store_credit(T* to, T value) noexcept {
    is_far(to) ? store_release(to, value) : Base::store_credit(to, value);
  }
  template <class T>
  static constexpr void store_fenced(T* to, T value) noexcept {
    is_far(to) ? Way::store(far_address_of(to), value) : Base::store_fenced(to, value);
  }
  static constexpr void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    Way::set_bits(address_of(mask), bits);
  }
  [[nodiscard]] static constexpr std::uint64_t clear_bits(std::uint64_t* mask,
                                                          std::uint64_t bits) noexcept {
    const std::uint64_t before = Way::clear_bits(address_of(mask), bits);
    Way::see(mask);
    return before;
  }
  [[nodiscard]] static constexpr bool set_once(std::uint32_t* flag) noexcept {
    return Way::set_once(address_of(flag));
  }
  static constexpr void release_data() noexcept { Way::fence(); }
  [[nodiscard]] static constexpr std::uint32_t acquire_behind(const std::uint32_t* word,
                                                              std::uint32_t seen) noexcept {
    Way::see(word);
    Base::acquire_data();
    return seen;
  }
  /// Returns when all writes are complete, so that the memory may be used for another purpose.
  static constexpr void settle() noexcept { Way::quiet(); }

  /// Copies between payload blocks, or into a channel's buffer. Called by one thread.
  template <class Byte>
  static constexpr void copy(Byte* to, const Byte* from, std::uint32_t bytes) noexcept {
    is_far(to) ? Way::put(far_address_of(to), from, bytes) : copy_block(to, from, bytes);
  }
  /// Copies from memory of another device. Returns when all bytes have arrived.
  static constexpr void fetch(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    Way::get(to, far_address_of(from), bytes);
    Base::acquire_data();  // threads may have older data of `to` in a cache
  }
  /// Writes a message to a slot. `image` is memory of this device that only this sender uses.
  static constexpr void put(slot& to, slot& image, const message& m, int units,
                            std::uint32_t sequence) noexcept {
    if (!is_far(&to)) return put_flagged<far_group>(to, m, units, sequence);
    put_flagged<Base>(image, m, units, sequence);
    if (units > 1)
      put_unit_bytes(to.units + 1, image.units + 1, sizeof(unit) * unsigned(units - 1));
    put_unit_bytes(to.units, image.units, 8);
    release_data();
    Way::store(far_address_of(&to.units[0].tail), image.units[0].tail);
  }

  static constexpr std::uint32_t slots_at_once = 1;
  [[nodiscard]] static constexpr std::uint32_t which_slot(bool) noexcept { return 0; }
  struct some_slots {
    const slot* next;
    bool is_there;

    [[nodiscard]] constexpr bool empty() const noexcept { return !is_there; }
    template <class Ask, class Target, class Note>
    [[nodiscard]] constexpr some_taken collect(std::uint32_t most, bool, Ask ask, Target target,
                                               Note note) const noexcept {
      if (Base::of_first_lane(most) == 0) return {};
      if (Base::lane() == 0) {
        Way::see(&next->units[0].tail);
        collect_flagged<Base>(*next, *target(0));
        note(0, ask(words_of(*target(0), 0)));
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
  [[nodiscard]] static constexpr far_address address_of(T* p) noexcept {
    return is_far(p) ? far_address_of(p) : Way::own(p);
  }
  template <class Unit>
  static constexpr void put_unit_bytes(Unit* to, const Unit* from, std::uint32_t bytes) noexcept {
    Way::put(far_address_of(to), reinterpret_cast<const std::byte*>(from), bytes);
  }
};

}  // namespace starling::resident::detail
