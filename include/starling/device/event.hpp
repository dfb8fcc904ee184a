// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace starling {

namespace detail {
class backend_event;
}

/// A point in a stream: everything submitted before `stream::record`. Other streams of the same
/// backend wait for it on the device (`stream::wait`), without a host thread in between.
///
/// Cheap to copy; copies mean the same point. Valid while its runtime lives. Thread-safe.
class event {
 public:
  /// Not recorded: complete at once, waiting for it does nothing.
  event() noexcept = default;
  explicit event(std::shared_ptr<detail::backend_event> point) noexcept
      : m_point(std::move(point)) {}

  /// Whether the stream has passed the point. A query of the driver: to wait, use
  /// `stream::completion`. @throws device_error when the work before it failed on the device
  [[nodiscard]] bool is_complete() const;

  [[nodiscard]] const std::shared_ptr<detail::backend_event>& native() const noexcept {
    return m_point;
  }

 private:
  std::shared_ptr<detail::backend_event> m_point;
};

}  // namespace starling
