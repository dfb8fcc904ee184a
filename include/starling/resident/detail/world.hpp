// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/resident/detail/message.hpp>

/// The memory that the schedulers of a resident program share: one slab for each device, laid out
/// alike on all, and one piece of pinned memory for the host.
namespace starling::resident::detail {

inline constexpr std::uint32_t max_devices = 8;
inline constexpr std::uint32_t max_arrays = 16;
inline constexpr std::uint32_t reductions_at_once = 4;  // of an array, on their way
inline constexpr std::uint32_t tree_width = 8;
inline constexpr std::uint32_t most_channels = 64;       // receiving ends of a scheduler
inline constexpr std::uint32_t most_private_rings = 8;   // into a scheduler, and out of one
inline constexpr std::uint32_t most_private_slots = 32;  // of each

/// What begins on a line of a device's cache: all that lies in a slab.
inline constexpr std::uint64_t line_bytes = 128;
[[nodiscard]] constexpr std::uint64_t whole_lines(std::uint64_t bytes) noexcept {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

/// The tree of schedulers by which there are broadcasts, sums and waves; not for 0, its root.
[[nodiscard]] constexpr std::uint32_t parent_of(std::uint32_t scheduler) noexcept {
  return (scheduler - 1) / tree_width;
}

/// A ring as its senders know it, in their own device's memory.
struct alignas(128) outgoing_ring {
  std::uint32_t ticket = 0;  // the next message's number: fetch-and-add by senders
  std::uint32_t taken = 0;   // messages that the receiver has taken: stored by it, now and then
  std::uint64_t padding[7] = {};
  std::uint64_t free_blocks = 0;  // a bit for each block lent; the receiver sets, senders clear
};
static_assert(sizeof(outgoing_ring) == 128);

/// What others may see of a scheduler, in its device's memory.
struct alignas(128) scheduler_line {
  // Sends on each of its channels so far: stored by the sender, behind the data.
  std::uint32_t arrived[most_channels] = {};
  // Those of its private rings that are somebody's: 1, set by who found 0.
  std::uint32_t taken_rings[most_private_rings] = {};
  // Private rings of others, to which it sends alone.
  outgoing_ring private_out[most_private_rings];
  // Written by the scheduler when it ends.
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::uint64_t entries_run = 0;
  std::uint64_t noted = 0;  // records of its trace, also those that are gone
  // A message on its way into memory that is not mapped.
  slot image;
};

/// Something that a scheduler did, by its own clock in ns.
struct trace_record {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t entry;  // no_entry: it had nothing to do
};

/// Where an element is; in tables one number, so that it is read and written at once.
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

/// An array of chares as each device knows it. Offsets are into the device's own slab.
struct array_info {
  std::uint32_t count = 0;   // elements on all devices
  std::uint32_t type = 0;    // place of the chare in the program
  std::uint32_t stride = 0;  // bytes from slot to slot
  std::uint32_t padding = 0;
  std::uint64_t objects = 0;    // slots
  std::uint64_t locations = 0;  // by index
  std::uint64_t indices = 0;    // by slot
  std::uint64_t firsts = 0;     // first slot born on each scheduler of this device, and the end
  std::uint64_t expected = 0;   // by scheduler: contributions to wait for, of elements and below
  std::uint64_t has_setup = 0;
  message setup;  // what each element runs first
};

/// What went wrong, as the first who noticed wrote it.
enum class failure : std::uint32_t {
  none,
  bad_index,        ///< detail: index, elements
  bad_array,        ///< not of this program, or of other chares. detail: its number, arrays
  no_room,          ///< nothing freed a cell for too long. detail: messages to others, cells
  no_blocks,        ///< no memory for a span that waits. detail: such spans, bytes left
  payload_too_big,  ///< detail: bytes, bytes of a block
  channel_full,     ///< sent before the receiver released the one before the last
  channel_open,     ///< opened twice, or of two receivers from one sending end
  channel_closed,   ///< sent before the other end was opened
  no_channels,      ///< too many receiving ends on a scheduler
  no_heap,          ///< detail: bytes asked for, bytes left
  bad_scheduler,    ///< migration to a scheduler of another device. detail: scheduler
  open_channels,    ///< migration of an element with receiving ends of channels
  counter_in_use,   ///< something waits for it. detail: the entry that waits, arrivals it lacks
  not_shared,       ///< memory lent that is not of this program's heap
  turn_is_over,     ///< a message with a number below the one expected. detail: both
  contributions,    ///< of one reduction differ. detail: a `contribution_sign` of each
  by_user           ///< detail: the user's number
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

/// What the schedulers of a rank's devices did.
struct device_report {
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::uint64_t entries_run = 0;
};

inline constexpr std::uint32_t host_slots = 256;

/// Memory of the host that the devices reach. The host and the devices are the two sides of each
/// ring; everything is read and written at system scope. Where a program has several ranks it is
/// the first one's, whose tasks are the host for all.
struct host_link {
  slot to_device[host_slots];                                   // for scheduler 0
  slot to_host[max_devices][host_slots];                        // of any scheduler of a device
  alignas(128) std::uint32_t device_took = 0;                   // messages taken by scheduler 0
  alignas(128) std::uint32_t host_took[max_devices * 32] = {};  // at 32 × device
  alignas(
      128) std::uint32_t ended[max_devices * 32] = {};  // at 32 × device: its last scheduler has
  alignas(128) std::uint32_t stop_wanted = 0;
  alignas(128) std::uint32_t failed = 0;  // 1 when `record` is whole
  failure_record record;
  alignas(128) std::uint64_t quiet = 0;  // messages of the host when all was last quiet, plus one
  // By the hosts of other ranks, at 32 × the first of their devices, or each of them.
  alignas(128) std::uint32_t beats[max_devices * 32] = {};  // grows while the rank lives
  std::uint32_t left[max_devices * 32] = {};                // 1: it uses the link no more
  device_report reports[max_devices];                       // before it left
  std::uint64_t begun_at[max_devices] = {};                 // by the devices' clocks; 0: not yet
  std::uint32_t loses = 0;                                  // 1: somebody says what is lost
  std::uint32_t lost = 0;                                   // 1: `loss` is whole
  char loss[504] = {};                                      // ended by a zero
};

inline constexpr std::uint32_t most_blocks = 2048;

/// Where the blocks of a device meet that are all one scheduler; in its slab.
struct block_meeting {
  alignas(128) std::uint32_t arrived = 0;       // adds up to half of its range in each meeting
  alignas(128) std::uint32_t told[2][32] = {};  // by the leader, in turn
  alignas(128) std::uint64_t parts[2][most_blocks] = {};  // of sums, by blocks, in turn
};

/// Numbers and offsets of a slab.
struct layout {
  std::uint32_t devices = 1;
  std::uint32_t schedulers = 1;                       // of each device
  std::uint64_t reciprocal = std::uint64_t{1} << 32;  // of that, for at most 65535 on all devices
  std::uint32_t ring_slots = 64;
  std::uint32_t cells = 256;
  std::uint32_t blocks = 4;
  std::uint32_t block_bytes = 4096;
  std::uint32_t arrays = 0;
  std::uint64_t stall_ns = 0;
  std::uint64_t heap_bytes = 0;  // of each scheduler
  std::uint64_t rings = 0;
  std::uint64_t private_rings = 0;
  std::uint64_t outgoing = 0;  // by global scheduler, then the host
  std::uint64_t lines = 0;
  std::uint64_t cell_pools = 0;
  std::uint64_t block_pools = 0;
  std::uint64_t ending = 0;   // a word: 0 while the program runs
  std::uint64_t ended = 0;    // a word: schedulers of the device that have ended
  std::uint64_t failing = 0;  // a word of device 0: 1 when somebody tells what failed
  std::uint64_t meeting = 0;  // of blocks, where they are all one scheduler
  std::uint64_t infos = 0;
  std::uint64_t heaps = 0;
  std::uint64_t traces = 0;
  std::uint32_t trace_records = 0;  // of each scheduler; 0: there is no trace
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
  /// Bytes of the blocks of a scheduler.
  [[nodiscard]] constexpr std::uint64_t pool_bytes() const noexcept {
    return std::uint64_t(devices) * blocks * block_bytes;
  }
};

/// What each scheduler is told: the layout and where the slabs are mapped on its device.
struct world {
  layout l;
  std::byte* slabs[max_devices] = {};
  host_link* link = nullptr;
  std::uint32_t multiprocessors = 0;  // of the part of a device that has them; 0: there is none

  /// Calls f(child) for those right below in the tree.
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
    return static_cast<std::uint32_t>(scheduler * l.reciprocal >> 32);  // a division takes long
  }
  /// Its number among those of its device.
  [[nodiscard]] constexpr std::uint32_t place_of(std::uint32_t scheduler) const noexcept {
    return scheduler - device_of(scheduler) * l.schedulers;
  }
  /// The slots of the ring from `source` to `scheduler`, in the receiver's memory.
  [[nodiscard]] constexpr slot* ring(std::uint32_t scheduler, std::uint32_t source) const noexcept {
    const std::uint64_t ring = std::uint64_t(place_of(scheduler)) * l.devices + source;
    return at<slot>(device_of(scheduler), l.rings + ring * l.ring_slots * sizeof(slot));
  }
  /// The slots of a ring to `scheduler` from one other alone.
  [[nodiscard]] constexpr slot* private_ring(std::uint32_t scheduler,
                                             std::uint32_t number) const noexcept {
    const std::uint64_t ring = std::uint64_t(place_of(scheduler)) * most_private_rings + number;
    return at<slot>(device_of(scheduler),
                    l.private_rings + ring * l.private_ring_slots() * sizeof(slot));
  }
  /// The senders' side of a ring of a device, in their memory.
  [[nodiscard]] constexpr outgoing_ring* outgoing(std::uint32_t source,
                                                  std::uint32_t scheduler) const noexcept {
    return at<outgoing_ring>(source, l.outgoing) + scheduler;
  }
  [[nodiscard]] constexpr scheduler_line* line(std::uint32_t scheduler) const noexcept {
    return at<scheduler_line>(device_of(scheduler), l.lines) + place_of(scheduler);
  }
  [[nodiscard]] constexpr trace_record* trace_of(std::uint32_t scheduler) const noexcept {
    return at<trace_record>(device_of(scheduler), l.traces) +
           std::uint64_t(place_of(scheduler)) * l.trace_records;
  }
  /// A block of `scheduler` lent to `source`.
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
                         l.block_pools + place_of(scheduler) * l.pool_bytes());
  }
};

/// What a scheduler asks of an array for each message, kept where it reaches it fastest.
struct near_array {
  std::byte* objects = nullptr;
  std::uint64_t* locations = nullptr;
  std::uint32_t stride = 0;
  std::uint32_t first = 0;  // slot born on this scheduler
  std::uint32_t end = 0;    // behind the last one
  std::uint32_t count = 0;
  std::uint32_t type = ~std::uint32_t{0};  // of none

  constexpr near_array() noexcept = default;
  constexpr near_array(const world& w, std::uint32_t self, std::uint32_t number) noexcept {
    const std::uint32_t device = w.device_of(self);
    const array_info& info = w.array(device, number);
    const auto* const firsts = w.at<std::uint32_t>(device, info.firsts) + w.place_of(self);
    first = firsts[0];
    end = firsts[1];
    objects = w.at<std::byte>(device, info.objects);
    locations = w.at<std::uint64_t>(device, info.locations);
    stride = info.stride;
    count = info.count;
    type = info.type;
  }
  /// Whether the element in that slot was born on this scheduler.
  [[nodiscard]] constexpr bool is_from_here(std::uint32_t slot) const noexcept {
    return slot - first < end - first;
  }
};

/// A template: only these may have casts that no constant needs, and yet be called on a device.
template <class Array>
[[nodiscard]] constexpr chare* object_in(const Array& array, std::uint32_t slot) noexcept {
  return reinterpret_cast<chare*>(array.objects + std::uint64_t(slot) * array.stride);
}

}  // namespace starling::resident::detail
