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
#include <starling/device/device_partition.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/device/recycling_allocator.hpp>
#include <starling/device/stream.hpp>
#include <starling/device/stream_pool.hpp>
#include <starling/device/types.hpp>

namespace starling {

/// Properties of a device, as its backend reports them.
struct device_properties {
  std::string name;
  std::size_t memory_bytes = 0;  ///< total memory of the device
  int compute_units = 0;         ///< multiprocessors; workers on the host backend
  /// Most scratch memory of a group, in bytes; the largest number if no limit is known.
  std::size_t group_scratch_bytes = std::numeric_limits<std::size_t>::max();
  std::string bus_id;             ///< PCI address; empty: the device has none
  std::vector<int> nearby_cores;  ///< host cores on the same NUMA node; empty: unknown
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

  /// Returns a stream with a queue of its own. The queue is recycled when the last handle is
  /// destroyed. @throws device_error
  [[nodiscard]] stream make_stream(starling::priority priority = starling::priority::normal);
  /// Splits the compute units into a partition of at least `units`, rounded up to the hardware's
  /// step, and the remainder. The same `units` always returns the same partitions. For persistent
  /// kernels beside other work: make partitions and streams before such a kernel starts. CUDA only
  /// (green contexts; the step is eight units on compute capability 9.0); kernels launched by
  /// dynamic parallelism may use two units more.
  /// @throws usage_error if the device has too few units or no remainder would be left, or if the
  /// backend or the driver cannot divide a device; device_error
  [[nodiscard]] divided_device divide(int units);
  /// Loads the code of all kernels compiled for this device. Otherwise CUDA may wait, at a kernel's
  /// first launch, until all running kernels have ended: call this before a persistent kernel
  /// starts. Resident programs call it themselves. Kernels launched without Starling must be loaded
  /// by their owner (`cudaFuncGetAttributes`). @throws device_error
  void load_kernels();
  /// Returns the shared pool of `--starling-streams` streams (default 16).
  [[nodiscard]] stream_pool& pool() noexcept;
  /// Returns the number of streams created so far, including pool streams and recycled streams.
  [[nodiscard]] std::size_t stream_count() const noexcept;

  [[nodiscard]] recycling_allocator& allocator(memory_kind kind) noexcept;

  /// Allocates `count` uninitialised elements that are freed in the order of `order`. Earlier work
  /// of `order` may still use device memory allocated here: access it only by work of that stream.
  /// Host and pinned memory has no pending use. @throws out_of_memory
  template <class T>
  [[nodiscard]] buffer<T> allocate(memory_kind kind, std::size_t count, const stream& order) {
    return buffer<T>(allocator(kind), count, &order.state());
  }
  /// As above without a stream: any work may use the memory, and must be complete when it is freed.
  template <class T>
  [[nodiscard]] buffer<T> allocate(memory_kind kind, std::size_t count) {
    return buffer<T>(allocator(kind), count);
  }

  /// Lets kernels of this device access the memory of `other` directly. Returns false where the
  /// hardware cannot; copies still work. Copies between devices use peer access once enabled.
  /// Queries the driver once per device; channels and `move_buffer` call this themselves.
  /// @throws usage_error if the backends differ; device_error
  bool enable_peer_access(device& other);
  /// Returns whether kernels of this device can access the memory of `other` in place.
  [[nodiscard]] bool reaches(const device& other) const noexcept;

  /// Returns the name under which other processes and runtimes can import this device's memory at
  /// `memory`; empty if it cannot be exported. Costs a driver query.
  /// @throws device_error when the device is lost
  [[nodiscard]] std::optional<memory_name> export_memory(const void* memory);
  struct mapped_memory {
    void* data;
    bool is_here;     ///< stored on this device itself
    bool is_reached;  ///< accessible by this device's kernels; else by copies only
  };
  /// Maps memory of another runtime for use by this device's work, which must write only where the
  /// owner expects it. The whole allocation stays mapped until this device is closed; until then
  /// an owner in another process cannot reclaim the memory.
  /// @throws device_error if it cannot be mapped
  [[nodiscard]] mapped_memory import_memory(const memory_name& name);

  /// Makes host memory that was not allocated here, such as memory shared between processes,
  /// accessible in place to all devices of the backend, until `unpin`. A range must not be pinned
  /// again before `unpin`. Blocks. @throws device_error if the backend cannot
  void pin(std::span<std::byte> memory);
  void unpin(std::span<std::byte> memory) noexcept;

  struct impl;
  explicit device(std::unique_ptr<impl> internals) noexcept;
  [[nodiscard]] impl& internals() const noexcept { return *m_impl; }

 private:
  std::unique_ptr<impl> m_impl;
};

/// How workers are assigned to devices by default.
enum class device_mapping : std::uint8_t {
  block,        ///< contiguous blocks of workers: the first block uses the first device
  round_robin,  ///< worker number modulo number of devices
  none,         ///< all workers use the first device
  closest       ///< a device on the worker's NUMA node if known, else as `block`
};

/// The devices of a runtime, opened at the first call of `devices(rt)` according to its options:
/// `backend` auto|host|cuda|sycl|kokkos, `completion` word|event|callback|block (default word; on
/// sycl event), `devices` as a count (3) or a list (0,2,), `streams` per pool, `device-mapping`
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
  /// Returns the device assigned to a worker. @throws usage_error on a negative index
  [[nodiscard]] starling::device& on_worker(int worker) const;
  /// Returns the device of the calling worker; on any other thread the first device.
  [[nodiscard]] starling::device& here() const;

  [[nodiscard]] backend_kind backend() const noexcept;
  [[nodiscard]] completion_kind completion() const noexcept;
  /// Returns the number of driver queries made by polls because a stream made no progress; for
  /// tests and benchmarks.
  [[nodiscard]] std::uint64_t stall_queries() const noexcept;

  struct impl;
  [[nodiscard]] impl& internals() const noexcept { return *m_impl; }

 private:
  std::unique_ptr<impl> m_impl;
  std::vector<std::unique_ptr<starling::device>> m_devices;
  std::vector<std::size_t> m_of_worker;
};

/// Returns the devices of `rt`; the first call opens them. @throws as device_set::device_set
[[nodiscard]] inline device_set& devices(runtime& rt) { return rt.service<device_set>(); }

}  // namespace starling
