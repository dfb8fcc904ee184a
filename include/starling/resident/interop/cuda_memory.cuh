// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <cuda_runtime.h>

#include <starling/resident/detail/ring.hpp>

/// How CUDA threads reach the memory that schedulers share.
namespace starling::resident::cuda {

/// What groups of CUDA threads have in common: memory of all devices and of the host. The same
/// members as `detail::host_group`. One thread calls them, but for what all lanes of the warp that
/// receives call together: `look`, `collect` and what these need.
///
/// What is relaxed says nothing to the compiler of other memory, so that it may keep what it knows
/// of a scheduler: other memory is ordered by the fences and by what acquires and releases.
class device_memory {
 public:
  static constexpr bool is_device = true;
  static constexpr bool reaches_all = true;
  /// Threads of a block behind those of the group: a warp that watches the host, and one that
  /// receives messages. In this order, so that in blocks of 128 that one does not share the
  /// leader's part of the multiprocessor.
  static constexpr int serving = 64;
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
  /// No acquire, after which the caches would be empty: stores wait for the branch that depends on
  /// this.
  __device__ static std::uint32_t load_credit(const std::uint32_t* from) noexcept {
    return load(from);
  }
  /// From the multiprocessor's own cache, if it is there.
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
  /// Taken by senders of one device, from its own memory.
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
  /// Relaxed: what was read, and used, is not read later.
  __device__ static void store_credit(std::uint32_t* to, std::uint32_t value) noexcept {
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
  }
  __device__ static void set_credit_bits(std::uint64_t* mask, std::uint64_t bits) noexcept {
    asm volatile("red.relaxed.sys.or.b64 [%0], %1;" ::"l"(mask), "l"(bits) : "memory");
  }
  /// Relaxed: the fence was there.
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

  /// Each unit is one store of 16 bytes, which is seen whole or not at all, so that no order
  /// between them is needed.
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
  __device__ static void meet_lanes() noexcept { __syncwarp(); }
  [[nodiscard]] __device__ static std::uint32_t of_first_lane(std::uint32_t value) noexcept {
    return __shfl_sync(~0u, value, 0);
  }
  /// Eight lanes read a slot, four slots at once; or where many short messages come, each lane the
  /// first unit of one, which is all of it: one that is longer ends what is taken.
  static constexpr std::uint32_t slots_at_once = 4;
  [[nodiscard]] __device__ static std::uint32_t which_slot(bool is_flood) noexcept {
    return std::uint32_t(lane() >> (is_flood ? 0 : 3));
  }
  /// Waits for nothing: a message that is there in part is read again later.
  struct some_slots {
    const detail::unit* from;
    detail::unit_words words;
    std::uint32_t sequence, wanted;
    int shift;  // each slot is read by 1 << shift lanes

    /// Asked late, so that others may be asked for before this has come.
    [[nodiscard]] __device__ bool is_there() const noexcept { return sequence == wanted; }
    [[nodiscard]] __device__ bool empty() const noexcept {
      return __any_sync(~0u, (lane() & ((1 << shift) - 1)) == 0 && is_there()) == 0;
    }
    template <class Ask, class Place, class Note>
    [[nodiscard]] __device__ detail::some_taken collect(std::uint32_t most, bool in_a_row, Ask ask,
                                                        Place place, Note note) const noexcept {
      const auto answer = ask(words);  // while others are waited for
      const int u = lane() & ((1 << shift) - 1);
      const detail::unit_words first = {{0, __shfl_sync(~0u, words.word[1], lane() - u), 0}};
      const int units = detail::units_of(first);
      const bool is_needed = u == 0 || u < units;
      const bool is_more = shift == 0 && units != 1;
      const unsigned whole = whole_slots((is_needed && !is_there()) || is_more, in_a_row);
      const auto number = std::uint32_t(__popc(whole & ((1u << (lane() - u)) - 1)));
      // What each has read of `most` may differ.
      const std::uint32_t count = min(std::uint32_t(__popc(whole)), __shfl_sync(~0u, most, 0));
      const bool is_taken = (whole >> (lane() - u) & 1) != 0 && number < count;
      if (is_taken && is_needed) {
        const auto where = detail::payload_place(first.word[1] >> (24 + detail::place_shift) & 7);
        // Once more, to see what was written before it.
        const bool acquires = u == 0 && detail::is_elsewhere(where);
        detail::set_words(*place(number), u, acquires ? acquire_unit(*from) : words);
        if (u == 0) note(number, answer);
      }
      return {count, std::uint32_t(__ffs(int(whole)) - 1) >> shift, is_taken && u == 0 ? 1u : 0u};
    }
    /// A bit for the first lane of each slot that is there as a whole.
    [[nodiscard]] __device__ unsigned whole_slots(bool is_missing, bool in_a_row) const noexcept {
      unsigned missing = __ballot_sync(~0u, is_missing);
      const unsigned firsts = shift == 0 ? ~0u : 0x01010101u;
      if (shift != 0) {  // any of eight
        missing |= missing >> 4;
        missing |= missing >> 2;
        missing |= missing >> 1;
      }
      missing &= firsts;
      return (in_a_row ? (missing & (0u - missing)) - 1 : ~missing) & firsts;
    }
    /// Whether `count` messages, which were taken, were many and short.
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

  /// Not `__threadfence_system`, which is sequentially consistent.
  __device__ static void release_data() noexcept {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
  /// For schedulers of this device.
  __device__ static void release_beside() noexcept {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
  __device__ static void acquire_data() noexcept { release_data(); }
  /// By a load, which takes a quarter of a fence's time. What it gives must be used: the assembler
  /// leaves out loads that nobody uses, also those that acquire.
  [[nodiscard]] __device__ static std::uint32_t acquire_behind(const std::uint32_t* word,
                                                               std::uint32_t) noexcept {
    return load_acquire(word);
  }

  __device__ static void prefetch(const void* from) noexcept {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
  }
  /// Evicted last by the cache of second level.
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

  static constexpr std::uint32_t looks_nearby = 128;  // 3 µs
  static constexpr std::uint32_t looks_at_once = 16;
  static constexpr std::uint32_t patience = 32;  // tens of microseconds

  [[nodiscard]] __device__ static std::uint64_t now_ns() noexcept {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  }

 private:
  /// Of what lies in the scheduler: the block's shared memory.
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
  /// One that has come: what its sender wrote before is seen. Must be used, as `acquire_behind`.
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
  /// Its sequence number.
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
