// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include <starling/device/device.hpp>
#include <starling/resident/detail/session.hpp>

#include "shared_memory.hpp"

namespace starling::resident::detail {

/// The devices of one rank, consecutive among those of a program.
struct device_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  [[nodiscard]] bool has(std::uint32_t device) const noexcept { return device - first < count; }
  [[nodiscard]] std::uint32_t end() const noexcept { return first + count; }
};

/// The backend interface for a local program: its memory and its schedulers, which run beside the
/// host's workers.
///
/// Order of calls: `allocate`; `make_link`, or `map_link` for another rank's link; `map` for the
/// slabs of other ranks; `start`.
class driver {
 public:
  driver() = default;
  virtual ~driver() = default;
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  /// Allocates zeroed slabs for its own devices, which it owns. @throws out_of_memory
  virtual void allocate(const layout& l, device_range own) = 0;
  /// Returns the name by which other ranks map the slab of one of its own devices.
  /// @throws usage_error if they cannot
  [[nodiscard]] virtual memory_name name_of(std::uint32_t device) = 0;
  /// Maps the slab of another rank's device. @throws usage_error, device_error, backend_unavailable
  virtual void map(std::uint32_t device, const memory_name& name) = 0;
  /// Makes this rank's link, for the first rank of a program. @throws out_of_memory
  void make_link();
  [[nodiscard]] memory_name name_of_link() const noexcept { return m_link.name(); }
  /// Maps another rank's link. @throws backend_unavailable
  void map_link(const memory_name& name);

  /// Writes into the slab of one of its own devices. Before the start, at quiescence or after the
  /// end.
  virtual void write(std::uint32_t device, std::uint64_t offset, const void* from,
                     std::size_t bytes) = 0;
  /// Returns whether `read` works for a device; always true for its own devices.
  [[nodiscard]] virtual bool can_read(std::uint32_t) const noexcept { return true; }
  /// Reads from the slab of a device for which `can_read` is true.
  virtual void read(std::uint32_t device, std::uint64_t offset, void* to,
                    std::size_t bytes) const = 0;
  virtual void start() = 0;
  /// Sets the end flag of its own devices, so that their schedulers end.
  virtual void end_own() noexcept;
  /// Notifies sleeping schedulers that the host has written into the link.
  virtual void wake() noexcept = 0;
  /// Returns whether its schedulers have ended or a device is lost. Acquires their writes.
  [[nodiscard]] virtual bool is_ended() noexcept;
  /// Returns the device error that ended its schedulers; null: there is none.
  [[nodiscard]] virtual std::exception_ptr error() const noexcept { return nullptr; }
  /// Blocks until its schedulers have ended.
  virtual void join() noexcept = 0;
  /// Returns the difference, in ns, from a device's clock to the host's. Valid after the start.
  [[nodiscard]] virtual std::int64_t clock_offset(std::uint32_t) const noexcept { return 0; }

  [[nodiscard]] const world& shared() const noexcept { return m_world; }
  [[nodiscard]] device_range own() const noexcept { return m_own; }

 protected:
  /// Makes the link accessible to the devices.
  virtual void pin(shared_memory&) {}

  world m_world;
  device_range m_own;

 private:
  shared_memory m_link;
};

/// Returns a driver for schedulers on the devices of `rt`. @throws usage_error if the program is
/// not compiled for that granularity or reach, or the devices are not CUDA devices
[[nodiscard]] std::unique_ptr<driver> make_device_driver(runtime& rt,
                                                         const program_description& program,
                                                         const group_shape& shape,
                                                         std::uint32_t multiprocessors, reach way);
/// Returns the error text for a program without device code for `reach::nvshmem`.
[[nodiscard]] std::string missing_far_code();
/// Returns the partition of a device for `options::multiprocessors`, and the remainder.
/// @throws option_error
[[nodiscard]] divided_device divide(device& whole, std::uint32_t multiprocessors);
/// Returns a driver for schedulers on host threads. @throws usage_error if the program is not
/// compiled for that reach
[[nodiscard]] std::unique_ptr<driver> make_host_driver(runtime& rt,
                                                       const program_description& program,
                                                       const group_shape& shape, reach way);

}  // namespace starling::resident::detail
