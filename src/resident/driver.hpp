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

/// Some of the devices of a program: those of one rank.
struct device_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  [[nodiscard]] bool has(std::uint32_t device) const noexcept { return device - first < count; }
  [[nodiscard]] std::uint32_t end() const noexcept { return first + count; }
};

/// What a backend does for a rank's part of a resident program: memory, and schedulers that run
/// beside the host.
///
/// First `allocate`; then the link, its own or another rank's, and the slabs of others; then
/// `start`.
class driver {
 public:
  driver() = default;
  virtual ~driver() = default;
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  /// Zeroed slabs for its own devices, which live as long as the driver. @throws out_of_memory
  virtual void allocate(const layout& l, device_range own) = 0;
  /// What other ranks map the slab of one of its own devices by. @throws usage_error where none can
  [[nodiscard]] virtual memory_name name_of(std::uint32_t device) = 0;
  /// Reaches the slab of another rank's device. @throws usage_error, device_error,
  /// backend_unavailable
  virtual void map(std::uint32_t device, const memory_name& name) = 0;
  void make_link();
  [[nodiscard]] memory_name name_of_link() const noexcept { return m_link.name(); }
  /// @throws backend_unavailable
  void map_link(const memory_name& name);

  /// Of its own devices; before the start, and at rest or after the end.
  virtual void write(std::uint32_t device, std::uint64_t offset, const void* from,
                     std::size_t bytes) = 0;
  /// Whether the host reads the memory of a device. Its own always.
  [[nodiscard]] virtual bool can_read(std::uint32_t) const noexcept { return true; }
  /// Of any device that it can.
  virtual void read(std::uint32_t device, std::uint64_t offset, void* to,
                    std::size_t bytes) const = 0;
  virtual void start() = 0;
  /// Tells the schedulers of its own devices that the program is over.
  virtual void end_own() noexcept;
  /// The host has written into the link.
  virtual void wake() noexcept = 0;
  /// All schedulers of its devices have ended, or one is lost. Acquires what they wrote.
  [[nodiscard]] virtual bool is_ended() noexcept;
  /// What ended them, if it was not they themselves.
  [[nodiscard]] virtual std::exception_ptr error() const noexcept { return nullptr; }
  /// Returns when they have; blocks.
  virtual void join() noexcept = 0;
  /// What is to be added to a time of a device's clock, to have that of the host. After the start.
  [[nodiscard]] virtual std::int64_t clock_offset(std::uint32_t) const noexcept { return 0; }

  [[nodiscard]] const world& shared() const noexcept { return m_world; }
  [[nodiscard]] device_range own() const noexcept { return m_own; }
  /// Whether no other rank takes part.
  [[nodiscard]] bool is_alone() const noexcept { return m_own.count == m_world.l.devices; }

 protected:
  /// Lets devices reach the link.
  virtual void pin(shared_memory&) {}

  world m_world;
  device_range m_own;

 private:
  shared_memory m_link;
};

/// Schedulers on the devices of `rt`. @throws usage_error where there is no code for such groups or
/// that way, or are no such devices
[[nodiscard]] std::unique_ptr<driver> make_device_driver(runtime& rt,
                                                         const program_description& program,
                                                         const group_shape& shape,
                                                         std::uint32_t multiprocessors, reach way);
/// What to write where there is no code for `reach::nvshmem` on devices.
[[nodiscard]] std::string missing_far_code();
/// The part of a device for `options::multiprocessors`, and the rest. @throws option_error
[[nodiscard]] divided_device divide(device& where, std::uint32_t multiprocessors);
/// Schedulers as threads of the host. @throws usage_error where there is no code for that way
[[nodiscard]] std::unique_ptr<driver> make_host_driver(runtime& rt,
                                                       const program_description& program,
                                                       const group_shape& shape, reach way);

}  // namespace starling::resident::detail
