// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <starling/device/detail/completion.hpp>

namespace starling {

class stream;

namespace detail {
class backend_graph;
}

/// Kernels, copies and fills recorded from a stream (`stream::capture`), launched together.
///
/// Stores the arguments as they were at capture, including pointers: the memory that they point to
/// must remain valid while launches run. To swap pointers, capture two graphs and alternate. May be
/// launched any number of times on streams of its device, also while an earlier launch is still
/// running. Copies share the recording. Valid until its runtime is destroyed. Thread-safe.
class graph {
 public:
  graph() noexcept = default;
  explicit graph(std::shared_ptr<detail::backend_graph> recording) noexcept
      : m_recording(std::move(recording)) {}

  /// Submits the whole recording to `target`; the result may be awaited or ignored.
  /// @throws usage_error when the graph is empty or of another device; device_error
  completion_awaiter launch(stream& target) const;

  /// Returns the number of recorded operations.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

 private:
  std::shared_ptr<detail::backend_graph> m_recording;
};

}  // namespace starling
