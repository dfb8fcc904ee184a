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

/// Kernels, copies and fills recorded from a stream (`stream::capture`), to be launched as one.
///
/// Holds the arguments as they were at capture, pointers included: that memory must live while the
/// graph is launched. For swapping pointers capture two graphs and alternate. May be launched any
/// number of times, also before the last launch is over, on streams of its device. Copies share
/// the recording. Valid while its runtime lives. Thread-safe.
class graph {
 public:
  graph() noexcept = default;
  explicit graph(std::shared_ptr<detail::backend_graph> recording) noexcept
      : m_recording(std::move(recording)) {}

  /// Queues the whole recording on `where`; the result may be awaited or ignored.
  /// @throws usage_error when empty or of another device; device_error
  completion_awaiter launch(stream& where) const;

  /// Operations recorded.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

 private:
  std::shared_ptr<detail::backend_graph> m_recording;
};

}  // namespace starling
