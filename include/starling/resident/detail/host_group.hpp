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

/// The reference implementation of a group: one host thread, or several that synchronize with each
/// other, in one or more blocks. Groups of a device have the same members.
///
/// The static members access the memory that schedulers share; the leader and the receiver call
/// them. Messages, credits and payload blocks are handed over by one release store and one acquire
/// load: a thread that sees the stored value sees all that was written before it.
class host_group {
 public:
  host_group(host_team& team, int rank) noexcept
      : m_team(&team), m_rank(rank), m_size(team.size()) {}

  static constexpr bool is_device = false;
  /// Whether memory of all devices is mapped; otherwise see `far_group`.
  static constexpr bool reaches_all = true;
  /// Whether there may be several blocks, each with its own scheduler object; `tell` then copies
  /// values that the leader sets in its object to the remaining objects.
  static constexpr bool is_wide = true;
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] int size() const noexcept { return m_size; }
  /// Returns the threads of a block; the first ranks are the leader's block.
  [[nodiscard]] int block_size() const noexcept { return m_team->block_size(); }
  void sync() const noexcept {
    if (m_size != 1) m_team->sync(m_rank);
  }
  /// Synchronizes the group and copies the leader's value of `what`, a member of each block's
  /// scheduler object, to all blocks. The leader may change it only after another `sync`.
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
  /// Loads a flow-control credit.
  template <class T>
  [[nodiscard]] static T load_credit(const T* from) noexcept {
    return load_acquire(from);
  }
  /// Loads a value that may be out of date, but is not older than this thread's last store to it.
  template <class T>
  [[nodiscard]] static T load_stale(const T* from) noexcept {
    return load(from);
  }
  /// Loads a flow-control credit that may be out of date.
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
  /// Stores a flow-control credit: the memory was read, and its next writer may overwrite it.
  template <class T>
  static void store_credit(T* to, T value) noexcept {
    store_release(to, value);
  }
  static void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    std::atomic_ref(*mask).fetch_or(bits, std::memory_order_release);
  }
  /// A release store after `release_data`, and an acquire load before `acquire_behind`. On a device
  /// both are relaxed, because the fences order them.
  template <class T>
  static void store_fenced(T* to, T value) noexcept {
    store_release(to, value);
  }
  template <class T>
  [[nodiscard]] static T load_fenced(const T* from) noexcept {
    return load_acquire(from);
  }
  /// Relaxed: the data behind a ticket is published by the ring slot itself.
  [[nodiscard]] static std::uint32_t take_ticket(std::uint32_t* counter) noexcept {
    return std::atomic_ref(*counter).fetch_add(1, std::memory_order_relaxed);
  }
  /// Returns the previous value. The last thread to count sees the earlier writes of all of them.
  [[nodiscard]] static std::uint32_t count_up(std::uint32_t* counter) noexcept {
    return std::atomic_ref(*counter).fetch_add(1, std::memory_order_acq_rel);
  }
  /// Returns the previous bits. Acquire: sees the writes made before the bits were set.
  static std::uint64_t clear_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    return std::atomic_ref(*mask).fetch_and(~bits, std::memory_order_acquire);
  }
  /// Yields the core between polls of a value that another thread is about to store.
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
  /// Returns whether message `sequence` is there; if so, sets `first` to its first unit.
  [[nodiscard]] static bool has_come(const slot& from, std::uint32_t sequence,
                                     unit_words& first) noexcept {
    if (!has_come_flagged<host_group>(from, sequence)) return false;
    message m;
    collect_flagged<host_group>(from, m);
    first = words_of(m, 0);
    return true;
  }

  /// Whether a scheduler always has a receiver that is not its leader.
  static constexpr bool is_served = false;
  // --- the receiver: one thread on the host, the lanes of a warp on a device; all lanes call these
  static constexpr std::uint32_t lanes = 1;
  [[nodiscard]] static int lane() noexcept { return 0; }
  [[nodiscard]] static bool any_lane(bool of_this) noexcept { return of_this; }
  static void sync_lanes() noexcept {}
  [[nodiscard]] static std::uint32_t of_first_lane(std::uint32_t value) noexcept { return value; }
  /// The number of slots that all lanes poll at once, and the calling lane's slot among them: the
  /// host has one lane. The argument: whether all lanes poll one ring and its last poll took many
  /// short messages (`is_flood`).
  static constexpr std::uint32_t slots_at_once = 1;
  [[nodiscard]] static std::uint32_t which_slot(bool) noexcept { return 0; }
  /// The result of a poll of several slots: see `look`.
  struct some_slots {
    const slot* next;
    bool is_there;

    [[nodiscard]] bool empty() const noexcept { return !is_there; }
    /// Takes complete messages, at most `most`, with the data that they refer to: stores them to
    /// *target(0), *target(1) …, and calls note(k, ask(first words)). `ask` may also be called for
    /// slots that are not taken. `in_a_row`: the slots follow each other in one ring; then no
    /// message is taken before its predecessor.
    template <class Ask, class Target, class Note>
    [[nodiscard]] some_taken collect(std::uint32_t most, bool, Ask ask, Target target,
                                     Note note) const noexcept {
      if (most == 0) return {};
      collect_flagged<host_group>(*next, *target(0));
      note(0, ask(words_of(*target(0), 0)));
      return {1, 0, 1};
    }
    /// Returns whether this poll took many messages, all short. The argument: the number of
    /// messages taken.
    [[nodiscard]] static bool is_flood(std::uint32_t) noexcept { return false; }
  };
  /// Polls for message `wanted` in the calling lane's slot. The last argument: as for `which_slot`.
  [[nodiscard]] static some_slots look(const slot& next, std::uint32_t wanted, bool) noexcept {
    return {&next, has_come_flagged<host_group>(next, wanted)};
  }

  /// Access to memory of the threads that serve one scheduler. A new value that `look_near` returns
  /// must be loaded by `load_near` before it is relied on.
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

  /// Fences for data outside a message: before the `put` that refers to it, after the writing
  /// threads have synchronized; and by the receiver, before any thread reads the data. Empty here,
  /// where each message is released and acquired.
  static void release_data() noexcept {}
  static void release_beside() noexcept {}
  static void acquire_data() noexcept {}
  /// The acquire fence after a `load_fenced` of `word` that returned `seen`. Returns `seen` or a
  /// later value of the word.
  [[nodiscard]] static std::uint32_t acquire_behind(const std::uint32_t*,
                                                    std::uint32_t seen) noexcept {
    return seen;
  }

  /// Returns when writes to other devices are complete.
  static void settle() noexcept {}
  /// Makes the threads of a warp run in step again after code that only one of them ran.
  static constexpr void converge() noexcept {}

  /// Polls of the inbox while there is no other work.
  static constexpr std::uint32_t looks_nearby = 1;
  /// Steps of a search for work between two synchronizations of the group.
  static constexpr std::uint32_t looks_at_once = 1;
  /// Idle steps of scheduler 0 before it starts a wave of quiescence detection.
  static constexpr std::uint32_t patience = 2;

  static constexpr void prefetch(const void*) noexcept {}  // processors prefetch by themselves
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
