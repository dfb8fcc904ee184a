// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/device/buffer.hpp>
#include <starling/device/device_part.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/device/recycling_allocator.hpp>
#include <starling/device/stream.hpp>
#include <starling/device/stream_pool.hpp>
#include <starling/device/types.hpp>

namespace starling {

/// What a backend says of a device.
struct device_properties {
  std::string name;
  std::size_t memory_bytes = 0;  ///< total memory of the device
  int compute_units = 0;         ///< multiprocessors; workers on the host backend
  /// Most scratch memory of a group; the largest number where no limit is known.
  std::size_t group_scratch_bytes = std::numeric_limits<std::size_t>::max();
  std::string bus_id;             ///< PCI address, empty where there is none
  std::vector<int> nearby_cores;  ///< processors on the same NUMA node; empty: unknown
};

/// One device of a runtime: its streams and its memory. Thread-safe.
class device {
 public:
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  [[nodiscard]] device_id id() const noexcept;
  [[nodiscard]] backend_kind backend() const noexcept;
  [[nodiscard]] const device_properties& properties() const noexcept;
  [[nodiscard]] runtime& owner() const noexcept;

  /// A stream of one's own; its queue is recycled when the handle dies. @throws device_error
  [[nodiscard]] stream make_stream(priority urgency = priority::normal);
  /// Parts of at least `units` compute units, as few more as the hardware allows, and of all
  /// others; the same ones each time for a number. For work that never ends beside other work: make
  /// parts and streams before it begins. On CUDA (green contexts; on compute capability 9.0 eight
  /// at a time); what dynamic parallelism launches may use two units more.
  /// @throws usage_error where there are not so many or none would be left, or the backend or the
  /// driver cannot; device_error
  [[nodiscard]] divided_device divide(int units);
  /// Loads the code of all kernels compiled for this device. CUDA may otherwise wait at a kernel's
  /// first launch until all kernels that run have ended: call it before one that stays. Resident
  /// programs do. Kernels launched without Starling are their owner's to load
  /// (`cudaFuncGetAttributes`). @throws device_error
  void load_kernels();
  /// The shared pool, of `--starling-streams` streams (16).
  [[nodiscard]] stream_pool& pool() noexcept;
  /// Streams created so far, those of the pool and recycled ones included.
  [[nodiscard]] std::size_t stream_count() const noexcept;

  [[nodiscard]] recycling_allocator& allocator(memory_kind kind) noexcept;

  /// `count` uninitialised elements, freed in the order of `order`. Device memory may be what
  /// earlier work of `order` still uses: touch it only with work of that stream. Host and pinned
  /// memory is free of earlier use. @throws out_of_memory
  template <class T>
  [[nodiscard]] buffer<T> allocate(memory_kind kind, std::size_t count, const stream& order) {
    return buffer<T>(allocator(kind), count, &order.state());
  }
  /// As above for any use; all work on it must be over when it is freed.
  template <class T>
  [[nodiscard]] buffer<T> allocate(memory_kind kind, std::size_t count) {
    return buffer<T>(allocator(kind), count);
  }

  /// Lets kernels of this device reach the memory of `other` directly. False: impossible; copies
  /// still work. Copies between devices use it when it is there. Asks the driver once; channels do
  /// so by themselves.
  bool enable_peer_access(device& other);
  /// Whether kernels of this device read the memory of `other` where it lies.
  [[nodiscard]] bool reaches(const device& other) const noexcept;

  /// What others know this device's memory by that begins at `memory`; empty: nobody else can read
  /// it. Costs a query of the driver. @throws device_error when the device is lost
  [[nodiscard]] std::optional<memory_name> export_memory(const void* memory);
  struct mapped_memory {
    void* data;
    bool is_here;     ///< on this device itself
    bool is_reached;  ///< by its kernels; else by copies only
  };
  /// Memory of another runtime for work of this device, which writes there only where the owner
  /// expects it. Stays mapped, whole, until the device is closed: the owner does not get it back
  /// before, where it is another process.
  /// @throws device_error where it cannot be mapped
  [[nodiscard]] mapped_memory import_memory(const memory_name& name);

  /// Lets work of all devices of the backend reach memory of the host that was not allocated here,
  /// such as what processes share, where the host has it. Until `unpin`; once at a time for each
  /// piece. Blocks. @throws device_error where the backend cannot
  void pin(std::span<std::byte> memory);
  void unpin(std::span<std::byte> memory) noexcept;

  struct impl;
  explicit device(std::unique_ptr<impl> parts) noexcept;
  [[nodiscard]] impl& parts() const noexcept { return *m_impl; }

 private:
  std::unique_ptr<impl> m_impl;
};

/// Which device a worker uses by default.
enum class device_mapping : std::uint8_t {
  block,        ///< the first workers the first device, and so on
  round_robin,  ///< worker modulo devices
  none,         ///< everybody the first device
  closest       ///< a device on the worker's NUMA node where that is known, else as `block`
};

/// The devices of a runtime, opened at first use by `devices(rt)` after its options:
/// `backend` auto|host|cuda|sycl|kokkos, `completion` word|event|callback|block (default word, with
/// sycl event), `devices` how many (3) or which (0,2,), `streams` per pool, `device-mapping`
/// block|round_robin|none|closest. Thread-safe.
class device_set {
 public:
  /// @throws option_error on a bad option; backend_unavailable; device_error
  explicit device_set(runtime& owner);
  ~device_set();
  device_set(const device_set&) = delete;
  device_set& operator=(const device_set&) = delete;

  [[nodiscard]] std::size_t count() const noexcept { return m_devices.size(); }
  /// @throws usage_error when there is no such device
  [[nodiscard]] starling::device& device(std::size_t index) const;
  /// The device of a worker, after the mapping. @throws usage_error on a negative index
  [[nodiscard]] starling::device& on_worker(int worker) const;
  /// The device of the calling worker; the first one on any other thread.
  [[nodiscard]] starling::device& here() const;

  [[nodiscard]] backend_kind backend() const noexcept;
  [[nodiscard]] completion_kind completion() const noexcept;
  /// Driver queries made because a stream made no progress, and polls; for tests and benchmarks.
  [[nodiscard]] std::uint64_t stall_queries() const noexcept;

  struct impl;
  [[nodiscard]] impl& parts() const noexcept { return *m_impl; }

 private:
  std::unique_ptr<impl> m_impl;
  std::vector<std::unique_ptr<starling::device>> m_devices;
  std::vector<std::size_t> m_of_worker;
};

/// The devices of `rt`; the first call opens them. @throws as device_set::device_set
[[nodiscard]] inline device_set& devices(runtime& rt) { return rt.service<device_set>(); }

}  // namespace starling
