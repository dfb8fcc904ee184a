// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <starling/core/detail/promise_base.hpp>
#include <starling/device/stream.hpp>

namespace starling {

/// How a pool chooses the stream to lend next.
enum class lending : std::uint8_t {
  least_loaded,  ///< the stream with the fewest borrowers; ties are broken in rotation
  round_robin    ///< each stream in turn
};

/// A fixed number of streams of one device, created at first use and lent to tasks.
///
/// `acquire` never waits: with more borrowers than streams, several borrowers share a stream, which
/// bounds the number of device queues. The pool must outlive its loans. Thread-safe; lock-free once
/// all streams exist.
class stream_pool {
 public:
  /// @throws usage_error when size is 0
  stream_pool(device& target, std::size_t size,
              starling::priority priority = starling::priority::normal,
              lending policy = lending::least_loaded);
  stream_pool(const stream_pool&) = delete;
  stream_pool& operator=(const stream_pool&) = delete;

  /// Lends a stream; the handle's destructor returns it. @throws device_error
  [[nodiscard]] stream acquire();

  [[nodiscard]] std::size_t size() const noexcept { return m_streams.size(); }
  /// Returns the current number of loans.
  [[nodiscard]] std::size_t lent() const noexcept;

 private:
  [[nodiscard]] std::size_t choose() noexcept;
  detail::stream_state& open(std::size_t slot);

  device* m_device;
  priority m_priority;
  lending m_policy;
  std::vector<stream> m_owned;  // keep the queues from being recycled; guarded by `m_opening`
  // Null until first use. Release/acquire: publishes the state.
  std::vector<std::atomic<detail::stream_state*>> m_streams;
  std::atomic<std::size_t> m_next{0};
  std::mutex m_opening;
};

}  // namespace starling
