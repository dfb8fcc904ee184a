// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include <starling/resident/detail/session.hpp>

namespace starling::resident::detail {

/// What a backend does for a resident program: memory, and schedulers that run beside the host.
class driver {
 public:
  virtual ~driver() = default;

  /// Zeroed slabs and a zeroed link, which live as long as the driver. @throws out_of_memory
  virtual world allocate(const layout& l) = 0;
  /// Before the start, and at rest or after the end.
  virtual void write(std::uint32_t device, std::uint64_t offset, const void* from,
                     std::size_t bytes) = 0;
  virtual void read(std::uint32_t device, std::uint64_t offset, void* to,
                    std::size_t bytes) const = 0;
  virtual void start() = 0;
  /// The host has written into the link.
  virtual void wake() noexcept = 0;
  /// All schedulers have ended, or the device is lost. Acquires what they wrote.
  [[nodiscard]] virtual bool is_ended() noexcept = 0;
  /// What ended them, if it was not they themselves.
  [[nodiscard]] virtual std::exception_ptr error() const noexcept { return nullptr; }
  /// Returns when they have; blocks.
  virtual void join() noexcept = 0;
};

/// Whether the last scheduler of each device has told that it ended.
[[nodiscard]] bool all_have_ended(const world& w) noexcept;

/// Schedulers on the devices of `rt`. @throws usage_error where there is no code or are no such
/// devices
[[nodiscard]] std::unique_ptr<driver> make_device_driver(runtime& rt,
                                                         const program_description& program,
                                                         int threads);
/// Schedulers as threads of the host.
[[nodiscard]] std::unique_ptr<driver> make_host_driver(runtime& rt,
                                                       const program_description& program,
                                                       int threads);

}  // namespace starling::resident::detail
