// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/detail/message.hpp>

/// The memory that the schedulers of a resident program share: one slab per device, with the same
/// layout on all devices, and pinned memory of the host.
namespace starling::resident::detail {

inline constexpr std::uint32_t max_devices = 8;
inline constexpr std::uint32_t max_arrays = 16;
inline constexpr std::uint32_t reductions_at_once = 4;  // of an array, in progress
inline constexpr std::uint32_t tree_width = 8;
inline constexpr std::uint32_t most_channels = 64;       // receiving ends of a scheduler
inline constexpr std::uint32_t most_private_rings = 8;   // into a scheduler, and out of a scheduler
inline constexpr std::uint32_t most_private_slots = 32;  // of each private ring

/// Bytes of a device's cache line, to which every object in a slab is aligned.
inline constexpr std::uint64_t line_bytes = 128;
[[nodiscard]] constexpr std::uint64_t whole_lines(std::uint64_t bytes) noexcept {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

/// Returns the parent in the tree of broadcasts, reductions and waves; not for 0, the root.
[[nodiscard]] constexpr std::uint32_t parent_of(std::uint32_t scheduler) noexcept {
  return (scheduler - 1) / tree_width;
}

/// The senders' state of a ring, in the memory of the senders' device.
struct alignas(128) outgoing_ring {
  std::uint32_t ticket = 0;  // number of the next message: fetch-and-add by senders
  // Number of messages taken: stored by the receiving scheduler at intervals.
  std::uint32_t taken = 0;
  std::uint64_t padding[7] = {};
  // Set bits: free; the receiving scheduler sets bits, senders clear them.
  std::uint64_t free_blocks = 0;
};
static_assert(sizeof(outgoing_ring) == 128);

/// The state of a scheduler that other schedulers and the host access, in its device's memory.
struct alignas(128) scheduler_line {
  // Number of sends on each channel of this scheduler so far: stored by the sending scheduler after
  // the data.
  std::uint32_t arrived[most_channels] = {};
  // 1: the private ring is claimed. Changed from 0 atomically by the sender that claims it.
  std::uint32_t taken_rings[most_private_rings] = {};
  // The private rings to other schedulers of which this scheduler is the only sender.
  outgoing_ring private_out[most_private_rings];
  // Written by the scheduler when it ends.
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::uint64_t entries_run = 0;
  std::uint64_t noted = 0;  // number of its trace records, including overwritten ones
  // Staging memory for a message to a scheduler whose memory is not mapped.
  slot image;
};

/// A recorded activity of a scheduler, in ns of its own clock.
struct trace_record {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t entry;  // no_entry: idle
};

/// The location of an element. Tables hold a location as one word, so that it is read and written
/// by one access.
struct location {
  std::uint32_t scheduler = 0;
  std::uint32_t slot = 0;
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept {
    return std::uint64_t(scheduler) << 32 | slot;
  }
  [[nodiscard]] static constexpr location of(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }
};

/// The description of a chare array on each device. Offsets are into the device's own slab.
struct array_info {
  std::uint32_t count = 0;   // elements on all devices
  std::uint32_t type = 0;    // position of the chare in the program
  std::uint32_t stride = 0;  // bytes from slot to slot
  std::uint32_t padding = 0;
  std::uint64_t objects = 0;    // elements by slot
  std::uint64_t locations = 0;  // by index
  std::uint64_t indices = 0;    // by slot
  std::uint64_t firsts = 0;     // first slot of each scheduler of this device, and the end
  std::uint64_t expected = 0;   // by scheduler: contributions of elements and children to wait for
  std::uint64_t has_setup = 0;
  message setup;  // the first message that each element runs
};

/// The cause of a failure, as written by the first scheduler that reports it.
enum class failure : std::uint32_t {
  none,
  bad_index,        ///< detail: index, elements
  bad_array,        ///< no array of this program, or of other chares. detail: its number, arrays
  no_room,          ///< no cell was freed for too long. detail: messages to be sent, cells
  no_blocks,        ///< no memory for a span that waits. detail: such spans, bytes left
  payload_too_big,  ///< detail: bytes, bytes of a block
  channel_full,     ///< sent before the receiver released the send before the last
  channel_open,     ///< opened twice, or by two receiving ends for one sending end
  channel_closed,   ///< sent before the peer end was opened
  no_channels,      ///< too many receiving ends on a scheduler
  no_heap,          ///< detail: bytes asked for, bytes left
  bad_scheduler,    ///< migration to a scheduler of another device. detail: scheduler
  open_channels,    ///< migration of an element with receiving ends of channels
  counter_in_use,   ///< an entry method waits for it. detail: that entry method, missing arrivals
  not_shared,       ///< memory lent that is not in the slab of the sender's device
  turn_is_over,     ///< a message with a number below the expected one. detail: both numbers
  contributions,  ///< contributions to one reduction differ. detail: a `contribution_sign` of each
  by_user         ///< detail: the user's number
};

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

struct failure_record {
  failure code = failure::none;
  std::uint32_t scheduler = 0;
  std::uint32_t array = 0;
  std::uint32_t index = 0;
  std::uint32_t entry = 0;
  std::uint32_t has_element = 0;
  std::uint64_t detail[2] = {};
};

/// The counters of all schedulers of a rank.
struct device_report {
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::uint64_t entries_run = 0;
};

inline constexpr std::uint32_t host_slots = 256;

/// Host memory that the devices access. The host and the devices are the two sides of each ring;
/// all accesses have system scope. In a program with several ranks the link is in memory of the
/// first rank, whose tasks are the host for all ranks.
struct host_link {
  slot to_device[host_slots];                                   // to scheduler 0
  slot to_host[max_devices][host_slots];                        // from all schedulers of a device
  alignas(128) std::uint32_t device_took = 0;                   // messages taken by scheduler 0
  alignas(128) std::uint32_t host_took[max_devices * 32] = {};  // at 32 × device
  alignas(
      128) std::uint32_t ended[max_devices * 32] = {};  // at 32 × device; 1: all schedulers ended
  alignas(128) std::uint32_t stop_wanted = 0;
  alignas(128) std::uint32_t failed = 0;  // 1: `record` is complete
  failure_record record;
  // Number of host messages taken before the quiescence, plus one; 0: none.
  alignas(128) std::uint64_t quiescent_at = 0;
  // Written by ranks' hosts at 32 × their first device: `beats`; at 32 × each device: `left`.
  alignas(128) std::uint32_t beats[max_devices * 32] = {};  // the rank's heartbeats
  std::uint32_t left[max_devices * 32] = {};  // 1: the rank does not use the link any more
  device_report reports[max_devices];         // by the rank's first device; stored before `left`
  std::uint64_t begun_at[max_devices] = {};   // by the devices' clocks; 0: not begun
  std::uint32_t loses = 0;                    // 1: a rank has claimed `loss` to write it
  std::uint32_t lost = 0;                     // 1: `loss` is complete
  char loss[504] = {};                        // text that ends with a zero
};

inline constexpr std::uint32_t most_blocks = 2048;

/// The barrier of thread blocks that are all one scheduler, in the slab of their device.
struct block_barrier {
  alignas(128) std::uint32_t arrived = 0;  // each barrier adds half of the range of this counter
  alignas(128) std::uint32_t told[2][32] = {};  // words published by the leader, two sets in turn
  // Values of reductions and scans, by block, two sets in turn.
  alignas(128) std::uint64_t partials[2][most_blocks] = {};
};

/// Sizes and offsets of a slab.
struct layout {
  std::uint32_t devices = 1;
  std::uint32_t schedulers = 1;  // of each device
  // 2^32 / schedulers, rounded up; exact for at most 65535 schedulers in all.
  std::uint64_t reciprocal = std::uint64_t{1} << 32;
  std::uint32_t ring_slots = 64;
  std::uint32_t cells = 256;
  std::uint32_t blocks = 4;
  std::uint32_t block_bytes = 4096;
  std::uint32_t arrays = 0;
  std::uint64_t stall_ns = 0;
  std::uint64_t heap_bytes = 0;  // of each scheduler
  std::uint64_t rings = 0;
  std::uint64_t private_rings = 0;
  std::uint64_t outgoing = 0;  // by global scheduler number, then the host
  std::uint64_t lines = 0;
  std::uint64_t cell_pools = 0;
  std::uint64_t block_pools = 0;
  std::uint64_t ending = 0;   // a word: 0 while the program runs
  std::uint64_t ended = 0;    // a word: schedulers of the device that have ended
  std::uint64_t failing = 0;  // a word of device 0: 1 when a scheduler reports a failure
  std::uint64_t barrier = 0;  // `block_barrier`, where all blocks are one scheduler
  std::uint64_t infos = 0;
  std::uint64_t heaps = 0;
  std::uint64_t traces = 0;
  std::uint32_t trace_records = 0;  // of each scheduler; 0: no trace
  std::uint64_t bytes = 0;

  [[nodiscard]] constexpr std::uint32_t all_schedulers() const noexcept {
    return devices * schedulers;
  }
  constexpr void set_schedulers(std::uint32_t of_each) noexcept {
    schedulers = of_each;
    reciprocal = ((std::uint64_t{1} << 32) + of_each - 1) / of_each;
  }
  [[nodiscard]] constexpr std::uint32_t private_ring_slots() const noexcept {
    return ring_slots < most_private_slots ? ring_slots : most_private_slots;
  }
  /// Returns the bytes of all payload blocks of a scheduler.
  [[nodiscard]] constexpr std::uint64_t pool_bytes() const noexcept {
    return std::uint64_t(devices) * blocks * block_bytes;
  }
};

/// The layout, and where the slabs are mapped on a device: the input of each scheduler.
struct world {
  layout l;
  std::byte* slabs[max_devices] = {};
  host_link* link = nullptr;
  std::uint32_t multiprocessors = 0;  // of the multiprocessor partition; 0: there is none

  /// Calls f(child) for each child of a scheduler in the tree.
  template <class F>
  constexpr void for_each_child(std::uint32_t scheduler, F&& f) const {
    const std::uint32_t first = scheduler * tree_width + 1;
    for (std::uint32_t c = first; c < first + tree_width && c < l.all_schedulers(); ++c) f(c);
  }
  template <class T>
  [[nodiscard]] constexpr T* at(std::uint32_t device, std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(slabs[device] + offset);
  }
  template <class T>
  [[nodiscard]] constexpr T* at(address a) const noexcept {
    return at<T>(a.device(), a.offset());
  }
  [[nodiscard]] constexpr std::uint32_t device_of(std::uint32_t scheduler) const noexcept {
    return static_cast<std::uint32_t>(scheduler * l.reciprocal >> 32);  // a division is slow
  }
  /// Returns the number of a scheduler among those of its device.
  [[nodiscard]] constexpr std::uint32_t local_index(std::uint32_t scheduler) const noexcept {
    return scheduler - device_of(scheduler) * l.schedulers;
  }
  /// Returns the slots of the ring from device `source` to `scheduler`, in `scheduler`'s memory.
  [[nodiscard]] constexpr slot* ring(std::uint32_t scheduler, std::uint32_t source) const noexcept {
    const std::uint64_t ring = std::uint64_t(local_index(scheduler)) * l.devices + source;
    return at<slot>(device_of(scheduler), l.rings + ring * l.ring_slots * sizeof(slot));
  }
  /// Returns the slots of a private ring to `scheduler`.
  [[nodiscard]] constexpr slot* private_ring(std::uint32_t scheduler,
                                             std::uint32_t number) const noexcept {
    const std::uint64_t ring = std::uint64_t(local_index(scheduler)) * most_private_rings + number;
    return at<slot>(device_of(scheduler),
                    l.private_rings + ring * l.private_ring_slots() * sizeof(slot));
  }
  /// Returns the senders' state of the ring from device `source` to `scheduler`.
  [[nodiscard]] constexpr outgoing_ring* outgoing(std::uint32_t source,
                                                  std::uint32_t scheduler) const noexcept {
    return at<outgoing_ring>(source, l.outgoing) + scheduler;
  }
  [[nodiscard]] constexpr scheduler_line* line(std::uint32_t scheduler) const noexcept {
    return at<scheduler_line>(device_of(scheduler), l.lines) + local_index(scheduler);
  }
  [[nodiscard]] constexpr trace_record* trace_of(std::uint32_t scheduler) const noexcept {
    return at<trace_record>(device_of(scheduler), l.traces) +
           std::uint64_t(local_index(scheduler)) * l.trace_records;
  }
  /// Returns a payload block of `scheduler` that is lent to device `source`.
  [[nodiscard]] constexpr std::byte* block(std::uint32_t scheduler, std::uint32_t source,
                                           std::uint32_t number) const noexcept {
    return pool(scheduler) + (std::uint64_t(source) * l.blocks + number) * l.block_bytes;
  }
  [[nodiscard]] constexpr const array_info& array(std::uint32_t device,
                                                  std::uint32_t number) const noexcept {
    return at<array_info>(device, l.infos)[number];
  }

 private:
  [[nodiscard]] constexpr std::byte* pool(std::uint32_t scheduler) const noexcept {
    return at<std::byte>(device_of(scheduler),
                         l.block_pools + local_index(scheduler) * l.pool_bytes());
  }
};

/// The array data needed for each message, in the memory that its scheduler reaches fastest.
struct near_array {
  std::byte* objects = nullptr;
  std::uint64_t* locations = nullptr;
  std::uint32_t stride = 0;
  std::uint32_t first = 0;  // first slot created on this scheduler
  std::uint32_t end = 0;    // behind the last slot
  std::uint32_t count = 0;
  std::uint32_t type = ~std::uint32_t{0};  // all bits: no array

  constexpr near_array() noexcept = default;
  constexpr near_array(const world& w, std::uint32_t self, std::uint32_t number) noexcept {
    const std::uint32_t device = w.device_of(self);
    const array_info& info = w.array(device, number);
    const auto* const firsts = w.at<std::uint32_t>(device, info.firsts) + w.local_index(self);
    first = firsts[0];
    end = firsts[1];
    objects = w.at<std::byte>(device, info.objects);
    locations = w.at<std::uint64_t>(device, info.locations);
    stride = info.stride;
    count = info.count;
    type = info.type;
  }
  /// Returns whether the element in that slot was created on this scheduler.
  [[nodiscard]] constexpr bool is_from_here(std::uint32_t slot) const noexcept {
    return slot - first < end - first;
  }
};

/// Returns the element in a slot. A template, as any `constexpr` function with a `reinterpret_cast`
/// must be; `constexpr` makes it callable on a device.
template <class Array>
[[nodiscard]] constexpr chare* object_in(const Array& array, std::uint32_t slot) noexcept {
  return reinterpret_cast<chare*>(array.objects + std::uint64_t(slot) * array.stride);
}

}  // namespace starling::resident::detail
