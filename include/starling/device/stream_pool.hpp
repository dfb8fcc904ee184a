// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <starling/core/detail/promise_base.hpp>
#include <starling/device/stream.hpp>

namespace starling {

/// Which stream of a pool is lent next.
enum class lending : std::uint8_t {
  least_loaded,  ///< the one with the fewest borrowers, oldest loan first
  round_robin    ///< one after the other
};

/// A fixed number of streams of one device, created at first use and lent to tasks.
///
/// `acquire` never waits: with more borrowers than streams, several share one, which keeps the
/// device's queues few. The pool must outlive its loans. Thread-safe, without a lock once all
/// streams exist.
class stream_pool {
 public:
  /// @throws usage_error when size is 0
  stream_pool(device& where, std::size_t size, priority urgency = priority::normal,
              lending policy = lending::least_loaded);
  stream_pool(const stream_pool&) = delete;
  stream_pool& operator=(const stream_pool&) = delete;

  /// Lends a stream; the handle's destructor gives it back. @throws device_error
  [[nodiscard]] stream acquire();

  [[nodiscard]] std::size_t size() const noexcept { return m_streams.size(); }
  /// Loans at this moment.
  [[nodiscard]] std::size_t lent() const noexcept;

 private:
  [[nodiscard]] std::size_t choose() noexcept;
  detail::stream_state& open(std::size_t slot);

  device* m_device;
  priority m_urgency;
  lending m_policy;
  std::vector<stream> m_owned;  // keeps the queues from being recycled
  // Null until first use; release/acquire publishes the state.
  std::vector<std::atomic<detail::stream_state*>> m_streams;
  std::atomic<std::size_t> m_next{0};
  std::mutex m_opening;
};

}  // namespace starling
