// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <starling/resident/detail/host_team.hpp>
#include <starling/resident/detail/ring.hpp>
#include <starling/resident/reduction.hpp>

namespace starling::resident::detail {

/// The reference of what a group is: one thread of the host, or several that meet, in one block or
/// more. Groups of a device have the same members.
///
/// The static members are the memory that schedulers share, for the thread with rank 0 and for who
/// receives. Messages, credits and blocks are handed over by one store with release and one load
/// with acquire, so whoever sees the first sees what was written before.
class host_group {
 public:
  host_group(host_team& team, int rank) noexcept
      : m_team(&team), m_rank(rank), m_size(team.size()) {}

  static constexpr bool is_device = false;
  /// Whether memory of all devices is mapped; else see `far_group`.
  static constexpr bool reaches_all = true;
  /// Whether there may be several blocks, each with a scheduler object of its own: then what the
  /// leader says in its own is known to all behind a `tell`.
  static constexpr bool is_wide = true;
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] int size() const noexcept { return m_size; }
  /// The first so many ranks are the leader's block.
  [[nodiscard]] int block_size() const noexcept { return m_team->block_size(); }
  void sync() const noexcept {
    if (m_size != 1) m_team->meet(m_rank);
  }
  /// A `sync` behind which `what`, a member of each block's scheduler, has the leader's value. The
  /// leader changes it again behind another `sync` only.
  template <class T>
  void tell(T& what) const noexcept {
    if (m_size != 1) m_team->tell(m_rank, what);
  }
  template <class T, class Op>
  [[nodiscard]] T reduce(T x, Op op) const {
    return m_size == 1 ? x : m_team->reduce(m_rank, x, op);
  }
  template <class T>
  [[nodiscard]] prefix_sum<T> scan(T x) const {
    return m_size == 1 ? prefix_sum<T>{T{}, x} : m_team->scan(m_rank, x);
  }

  template <class T>
  [[nodiscard]] static T load_acquire(const T* from) noexcept {
    return std::atomic_ref<T>(*const_cast<T*>(from)).load(std::memory_order_acquire);
  }
  template <class T>
  [[nodiscard]] static T load(const T* from) noexcept {
    return std::atomic_ref<T>(*const_cast<T*>(from)).load(std::memory_order_relaxed);
  }
  /// What frees something for who writes it next.
  template <class T>
  [[nodiscard]] static T load_credit(const T* from) noexcept {
    return load_acquire(from);
  }
  /// May give what was there some time ago; never what was there before one's own last store.
  template <class T>
  [[nodiscard]] static T load_stale(const T* from) noexcept {
    return load(from);
  }
  /// Such a credit.
  template <class T>
  [[nodiscard]] static T load_stale_credit(const T* from) noexcept {
    return load_credit(from);
  }
  template <class T>
  static void store_release(T* to, T value) noexcept {
    std::atomic_ref<T>(*to).store(value, std::memory_order_release);
  }
  template <class T>
  static void store(T* to, T value) noexcept {
    std::atomic_ref<T>(*to).store(value, std::memory_order_relaxed);
  }
  /// Gives what was read, and used, to who writes it next.
  template <class T>
  static void store_credit(T* to, T value) noexcept {
    store_release(to, value);
  }
  static void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    std::atomic_ref(*mask).fetch_or(bits, std::memory_order_release);
  }
  /// A release, behind a `release_data`; an acquire, before an `acquire_behind`.
  template <class T>
  static void store_fenced(T* to, T value) noexcept {
    store_release(to, value);
  }
  template <class T>
  [[nodiscard]] static T load_fenced(const T* from) noexcept {
    return load_acquire(from);
  }
  /// Relaxed: what a ticket leads to is handed over by the slot itself.
  [[nodiscard]] static std::uint32_t take_ticket(std::uint32_t* counter) noexcept {
    return std::atomic_ref(*counter).fetch_add(1, std::memory_order_relaxed);
  }
  /// The value before. What each wrote before is visible to who counts last.
  [[nodiscard]] static std::uint32_t count_up(std::uint32_t* counter) noexcept {
    return std::atomic_ref(*counter).fetch_add(1, std::memory_order_acq_rel);
  }
  /// The bits as they were; acquire, for what was written before they were set.
  static std::uint64_t clear_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    return std::atomic_ref(*mask).fetch_and(~bits, std::memory_order_acquire);
  }
  /// Between looks at what another thread is about to do.
  static void give_way() noexcept { std::this_thread::yield(); }
  [[nodiscard]] static bool set_once(std::uint32_t* flag) noexcept {
    std::uint32_t unset = 0;
    return std::atomic_ref(*flag).compare_exchange_strong(unset, 1, std::memory_order_relaxed);
  }

  static void put(slot& to, slot&, const message& m, int units, std::uint32_t sequence) noexcept {
    put_flagged<host_group>(to, m, units, sequence);
  }
  static void copy(std::byte* to, const std::byte* from, std::uint32_t bytes) noexcept {
    copy_block(to, from, bytes);
  }
  /// Whether message number `sequence` is there; gives the first of its units.
  [[nodiscard]] static bool has_come(const slot& from, std::uint32_t sequence,
                                     unit_words& first) noexcept {
    if (!has_come_flagged<host_group>(from, sequence)) return false;
    message m;
    collect_flagged<host_group>(from, m);
    first = words_of(m, 0);
    return true;
  }

  /// Whether there always is somebody who receives messages for the leader.
  static constexpr bool is_served = false;
  // --- who receives messages: one thread here, on a device the lanes of a warp, which all call
  // these
  static constexpr std::uint32_t lanes = 1;
  [[nodiscard]] static int lane() noexcept { return 0; }
  [[nodiscard]] static bool any_lane(bool of_this) noexcept { return of_this; }
  static void meet_lanes() noexcept {}
  [[nodiscard]] static std::uint32_t of_first_lane(std::uint32_t value) noexcept { return value; }
  /// Slots that all lanes together look at, and of these the lane's. In a flood more of them, but
  /// of each only the beginning.
  static constexpr std::uint32_t slots_at_once = 1;
  [[nodiscard]] static std::uint32_t which_slot(bool) noexcept { return 0; }
  /// What is there of some slots: see `look`.
  struct some_slots {
    const slot* next;
    bool is_there;

    [[nodiscard]] bool empty() const noexcept { return !is_there; }
    /// Those that are whole, at most `most`: to *place(0), *place(1) …, with what they say lies
    /// elsewhere, and note(k, ask(its first words)); ask may be given others. `in_a_row`: they
    /// follow each other, none goes before the one before it.
    template <class Ask, class Place, class Note>
    [[nodiscard]] some_taken collect(std::uint32_t most, bool, Ask ask, Place place,
                                     Note note) const noexcept {
      if (most == 0) return {};
      collect_flagged<host_group>(*next, *place(0));
      note(0, ask(words_of(*place(0), 0)));
      return {1, 0, 1};
    }
    /// Whether so many that were taken were many, and short.
    [[nodiscard]] static bool is_flood(std::uint32_t) noexcept { return false; }
  };
  /// For message number `wanted` in the lane's slot; in a flood (`is_flood` of the look before), as
  /// `which_slot` was told.
  [[nodiscard]] static some_slots look(const slot& next, std::uint32_t wanted, bool) noexcept {
    return {&next, has_come_flagged<host_group>(next, wanted)};
  }

  /// Between threads that serve one scheduler. What was only looked at, and is new, is to be loaded
  /// before it is relied on.
  [[nodiscard]] static std::uint32_t look_near(const std::uint32_t* from) noexcept {
    return load(from);
  }
  template <class T>
  [[nodiscard]] static T load_near(const T* from) noexcept {
    return load_acquire(from);
  }
  template <class T>
  static void store_near(T* to, T value) noexcept {
    store_release(to, value);
  }

  /// Before a `put` that says where data lies, behind a meeting of those who wrote it; and by who
  /// received it, before anybody reads. Nothing here, where each message is released and acquired.
  static void release_data() noexcept {}
  static void release_beside() noexcept {}
  static void acquire_data() noexcept {}
  /// The same, by who saw with `load_fenced` what was stored there.
  /// The word, of which `seen` is known, or a later one.
  [[nodiscard]] static std::uint32_t acquire_behind(const std::uint32_t*,
                                                    std::uint32_t seen) noexcept {
    return seen;
  }

  /// Returns when what was written to others is there.
  static void settle() noexcept {}
  /// Where threads run in step, those do so again behind what one of them has done by itself.
  static constexpr void converge() noexcept {}

  /// Looks at what was received while there is nothing else to do.
  static constexpr std::uint32_t looks_nearby = 1;
  /// Looks for something to do between two meetings of the group.
  static constexpr std::uint32_t looks_at_once = 1;
  /// Steps with nothing to do before scheduler 0 asks whether the others have something.
  static constexpr std::uint32_t patience = 2;

  static constexpr void prefetch(const void*) noexcept {}  // processors look ahead by themselves
  template <class T>
  static constexpr void store_kept(T* to, const T& value) noexcept {
    *to = value;
  }

  [[nodiscard]] static std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }

 private:
  host_team* m_team;
  int m_rank;
  int m_size;
};

}  // namespace starling::resident::detail
