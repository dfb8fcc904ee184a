// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include <starling/resident/detail/ring.hpp>

/// Access of CUDA threads to the memory that schedulers share.
namespace starling::resident::cuda {

/// The common base of CUDA groups: access to memory of all devices and of the host. It has the same
/// members as `detail::host_group`, which describes them. They are called by one thread, except
/// `look`, `collect` and their helpers, which all lanes of the receiver warp call together.
///
/// Relaxed accesses have no `memory` clobber (except `set_once`), so that the compiler may keep
/// members of a scheduler in registers across them. Other memory is ordered by the fences and by
/// acquire and release accesses.
class device_memory {
 public:
  static constexpr bool is_device = true;
  static constexpr bool reaches_all = true;
  /// Number of threads of the service warps, which follow the group's in a block: first the host
  /// watcher, then the receiver. In this order the receiver and the leader do not share a warp
  /// scheduler of the multiprocessor if the group has 128 threads in a block.
  static constexpr int service_threads = 64;
  static constexpr bool is_served = true;

  __device__ static std::uint32_t load_acquire(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
  }
  __device__ static std::uint64_t load_acquire(const std::uint64_t* from) noexcept {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
  }
  __device__ static std::uint32_t load(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
  }
  __device__ static std::uint64_t load(const std::uint64_t* from) noexcept {
    std::uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
  }
  /// Relaxed, because an acquire would invalidate the L1 cache. The stores that need the credit
  /// depend on a branch on its value and so cannot precede the load.
  __device__ static std::uint32_t load_credit(const std::uint32_t* from) noexcept {
    return load(from);
  }
  /// Relaxed at block scope: may return a value from the multiprocessor's L1 cache.
  __device__ static std::uint32_t load_stale(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.relaxed.cta.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
  }
  __device__ static std::uint32_t load_stale_credit(const std::uint32_t* from) noexcept {
    return load_stale(from);
  }
  __device__ static std::uint64_t load_stale(const std::uint64_t* from) noexcept {
    std::uint64_t value;
    asm volatile("ld.relaxed.cta.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
  }
  __device__ static void store_release(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  __device__ static void store_release(std::uint64_t* to, std::uint64_t value) noexcept {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  }
  __device__ static void store(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  __device__ static void store(std::uint64_t* to, std::uint64_t value) noexcept {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  }
  /// Relaxed at device scope: the senders are on one device and the counter is in its memory.
  [[nodiscard]] __device__ static std::uint32_t take_ticket(std::uint32_t* counter) noexcept {
    std::uint32_t ticket;
    asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(counter));
    return ticket;
  }
  [[nodiscard]] __device__ static std::uint32_t count_up(std::uint32_t* counter) noexcept {
    std::uint32_t before;
    asm volatile("atom.acq_rel.sys.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
  }
  /// Relaxed: the values read from the freed memory have been used, so those loads are complete.
  __device__ static void store_credit(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  __device__ static void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    asm volatile("red.relaxed.sys.or.b64 [%0], %1;" ::"l"(mask), "l"(bits) : "memory");
  }
  /// Relaxed: a fence (`release_data` or `release_beside`) precedes it.
  __device__ static void store_fenced(std::uint32_t* to, std::uint32_t value) noexcept {
    store(to, value);
  }
  __device__ static std::uint32_t load_fenced(const std::uint32_t* from) noexcept {
    return load(from);
  }
  __device__ static std::uint64_t clear_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    std::uint64_t before;
    asm volatile("atom.acquire.sys.and.b64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(mask), "l"(~bits)
                 : "memory");
    return before;
  }
  [[nodiscard]] __device__ static bool set_once(std::uint32_t* flag) noexcept {
    std::uint32_t before;
    asm volatile("atom.relaxed.sys.cas.b32 %0, [%1], 0, 1;" : "=r"(before) : "l"(flag) : "memory");
    return before == 0;
  }

  /// Writes each unit by one store of 16 bytes, which is visible as a whole or not at all. Each
  /// unit has the sequence number, so no order between them is needed.
  __device__ static void put(detail::slot& to, detail::slot&, const detail::message& m, int units,
                             std::uint32_t sequence) noexcept {
    for (int u = 0; u < units; ++u) {
      const detail::unit_words words = detail::words_of(m, u);
      const std::uint64_t low = std::uint64_t(words.word[1]) << 32 | words.word[0];
      store_unit(to.units[u], low, detail::tail_of(words.word[2], sequence));
    }
  }
  __device__ static void copy(std::byte* to, const std::byte* from, std::uint32_t bytes) noexcept {
    detail::copy_block(to, from, bytes);
  }
  [[nodiscard]] __device__ static bool has_come(const detail::slot& from, std::uint32_t sequence,
                                                detail::unit_words& first) noexcept {
    return load_unit(from.units[0], first) == sequence;
  }
  static constexpr std::uint32_t lanes = 32;
  [[nodiscard]] __device__ static int lane() noexcept { return int(threadIdx.x % 32); }
  [[nodiscard]] __device__ static bool any_lane(bool of_this) noexcept {
    return __any_sync(~0u, of_this) != 0;
  }
  __device__ static void sync_lanes() noexcept { __syncwarp(); }
  [[nodiscard]] __device__ static std::uint32_t of_first_lane(std::uint32_t value) noexcept {
    return __shfl_sync(~0u, value, 0);
  }
  /// Eight lanes read one slot, each of them one unit (16 bytes: 12 of the message and its sequence
  /// number), so that a warp reads four slots at once. In a flood of short messages, each lane
  /// reads the first unit of one of 32 slots, which holds a whole short message; the poll takes no
  /// message from the first longer one on.
  static constexpr std::uint32_t slots_at_once = 4;
  [[nodiscard]] __device__ static std::uint32_t which_slot(bool is_flood) noexcept {
    return std::uint32_t(lane() >> (is_flood ? 0 : 3));
  }
  /// The unit that the calling lane has loaded. A message that has arrived only in part is not
  /// taken, but read again later.
  struct some_slots {
    const detail::unit* from;
    detail::unit_words words;
    std::uint32_t sequence, wanted;
    int shift;  // each slot is read by 1 << shift lanes

    /// Called late, so that further loads can be issued before the load of `sequence` completes.
    [[nodiscard]] __device__ bool is_there() const noexcept { return sequence == wanted; }
    [[nodiscard]] __device__ bool empty() const noexcept {
      return __any_sync(~0u, (lane() & ((1 << shift) - 1)) == 0 && is_there()) == 0;
    }
    template <class Ask, class Target, class Note>
    [[nodiscard]] __device__ detail::some_taken collect(std::uint32_t most, bool in_a_row, Ask ask,
                                                        Target target, Note note) const noexcept {
      const auto answer = ask(words);  // overlaps with outstanding loads
      const int u = lane() & ((1 << shift) - 1);
      const detail::unit_words first = {{0, __shfl_sync(~0u, words.word[1], lane() - u), 0}};
      const int units = detail::units_of(first);
      const bool is_needed = u == 0 || u < units;
      const bool is_more = shift == 0 && units != 1;
      const unsigned whole = whole_slots((is_needed && !is_there()) || is_more, in_a_row);
      const auto number = std::uint32_t(__popc(whole & ((1u << (lane() - u)) - 1)));
      // Lanes may have read different values of `most`: lane 0 decides.
      const std::uint32_t count = min(std::uint32_t(__popc(whole)), __shfl_sync(~0u, most, 0));
      const bool is_taken = (whole >> (lane() - u) & 1) != 0 && number < count;
      if (is_taken && is_needed) {
        const auto storage =
            detail::payload_storage(first.word[1] >> (24 + detail::storage_shift) & 7);
        // Loads the unit again with acquire, for the data that was written before it.
        const bool acquires = u == 0 && detail::is_elsewhere(storage);
        detail::set_words(*target(number), u, acquires ? acquire_unit(*from) : words);
        if (u == 0) note(number, answer);
      }
      return {count, std::uint32_t(__ffs(int(whole)) - 1) >> shift, is_taken && u == 0 ? 1u : 0u};
    }
    /// Returns a bit for the first lane of each slot whose message is complete; with `in_a_row`
    /// only for the slots before the first incomplete message.
    [[nodiscard]] __device__ unsigned whole_slots(bool is_missing, bool in_a_row) const noexcept {
      unsigned missing = __ballot_sync(~0u, is_missing);
      const unsigned firsts = shift == 0 ? ~0u : 0x01010101u;
      if (shift != 0) {  // combines the eight lanes of a slot
        missing |= missing >> 4;
        missing |= missing >> 2;
        missing |= missing >> 1;
      }
      missing &= firsts;
      return (in_a_row ? (missing & (0u - missing)) - 1 : ~missing) & firsts;
    }
    /// Returns whether the `count` messages taken are at least four, of one unit each.
    [[nodiscard]] __device__ bool is_flood(std::uint32_t count) const noexcept {
      if (count < 4) return false;
      return shift == 0 || __any_sync(~0u, lane() % 8 == 0 && detail::units_of(words) != 1) == 0;
    }
  };
  [[nodiscard]] __device__ static some_slots look(const detail::slot& next, std::uint32_t wanted,
                                                  bool is_flood) noexcept {
    some_slots found;
    found.shift = is_flood ? 0 : 3;
    found.from = &next.units[lane() & ((1 << found.shift) - 1)];
    found.wanted = wanted;
    found.sequence = load_unit(*found.from, found.words);
    return found;
  }

  [[nodiscard]] __device__ static std::uint32_t look_near(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(near(from)));
    return value;
  }
  __device__ static std::uint32_t load_near(const std::uint32_t* from) noexcept {
    std::uint32_t value;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(value) : "r"(near(from)) : "memory");
    return value;
  }
  __device__ static void store_near(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(near(to)), "r"(value) : "memory");
  }

  /// Cheaper than `__threadfence_system`, which is sequentially consistent.
  __device__ static void release_data() noexcept {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
  /// At device scope: for schedulers of this device.
  __device__ static void release_beside() noexcept {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
  __device__ static void acquire_data() noexcept { release_data(); }
  /// Acquires by a load, which takes a quarter of a fence's time. The caller must use the result:
  /// the assembler removes unused loads, including acquire loads.
  [[nodiscard]] __device__ static std::uint32_t acquire_behind(const std::uint32_t* word,
                                                               std::uint32_t) noexcept {
    return load_acquire(word);
  }

  __device__ static void prefetch(const void* from) noexcept {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
  }
  /// Stores with the L2 policy `evict_last` if T has 16 bytes.
  template <class T>
  __device__ static void store_kept(T* to, const T& value) noexcept {
    if constexpr (sizeof(T) == 16 && alignof(T) == 16) {
      const auto words = *reinterpret_cast<const uint4*>(&value);
      asm volatile(
          "{\n .reg .b64 kept;\n createpolicy.fractional.L2::evict_last.b64 kept, 1.0;\n"
          " st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, kept;\n}" ::"l"(to),
          "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
          : "memory");
    } else {
      *to = value;
    }
  }

  __device__ static void settle() noexcept {}
  __device__ static void converge() noexcept { __syncwarp(); }

  __device__ static void give_way() noexcept { __nanosleep(20); }

  static constexpr std::uint32_t looks_nearby = 128;  // polls, which take 3 µs
  static constexpr std::uint32_t looks_at_once = 16;
  static constexpr std::uint32_t patience = 32;  // idle steps, which take tens of microseconds

  [[nodiscard]] __device__ static std::uint64_t now_ns() noexcept {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  }

 private:
  /// Returns the shared-memory address of a member of the scheduler.
  [[nodiscard]] __device__ static unsigned near(const void* what) noexcept {
    return static_cast<unsigned>(__cvta_generic_to_shared(what));
  }
  __device__ static void store_unit(detail::unit& to, std::uint64_t low,
                                    std::uint64_t tail) noexcept {
    asm volatile(
        "{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\t"
        "st.relaxed.sys.global.b128 [%0], both;\n\t}" ::"l"(&to),
        "l"(low), "l"(tail));
  }
  /// Loads a complete unit again with acquire: earlier writes of its sender are visible afterwards.
  /// The result must be used, as for `acquire_behind`.
  [[nodiscard]] __device__ static detail::unit_words acquire_unit(
      const detail::unit& from) noexcept {
    std::uint64_t low, tail;
    asm volatile(
        "{\n\t.reg .b128 both;\n\tld.acquire.sys.global.b128 both, [%2];\n\t"
        "mov.b128 {%0, %1}, both;\n\t}"
        : "=l"(low), "=l"(tail)
        : "l"(&from)
        : "memory");
    return words_of(low, tail);
  }
  [[nodiscard]] __device__ static detail::unit_words words_of(std::uint64_t low,
                                                              std::uint64_t tail) noexcept {
    return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
             static_cast<std::uint32_t>(tail)}};
  }
  /// Loads a unit and returns its sequence number. Relaxed.
  [[nodiscard]] __device__ static std::uint32_t load_unit(const detail::unit& from,
                                                          detail::unit_words& words) noexcept {
    std::uint64_t low, tail;
    asm volatile(
        "{\n\t.reg .b128 both;\n\tld.relaxed.sys.global.b128 both, [%2];\n\t"
        "mov.b128 {%0, %1}, both;\n\t}"
        : "=l"(low), "=l"(tail)
        : "l"(&from));
    words = words_of(low, tail);
    return static_cast<std::uint32_t>(tail >> 32);
  }
};

}  // namespace starling::resident::cuda
