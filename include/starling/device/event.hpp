// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace starling {

namespace detail {
class backend_event;
}

/// A point in a stream, after all operations submitted before `stream::record`. Other streams of
/// the same backend wait for it on the device (`stream::wait`), without involving a host thread.
///
/// Cheap to copy; copies denote the same point. Valid until its runtime is destroyed. Thread-safe.
class event {
 public:
  /// An event that was not recorded: it is complete, and waiting for it has no effect.
  event() noexcept = default;
  explicit event(std::shared_ptr<detail::backend_event> point) noexcept
      : m_point(std::move(point)) {}

  /// Returns whether the stream has passed the point. Costs a driver query: to wait, use
  /// `stream::completion`. @throws device_error when the work before it failed on the device
  [[nodiscard]] bool is_complete() const;

  [[nodiscard]] const std::shared_ptr<detail::backend_event>& state() const noexcept {
    return m_point;
  }

 private:
  std::shared_ptr<detail::backend_event> m_point;
};

}  // namespace starling
