// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <starling/core/detail/load_meter.hpp>

#include "backend.hpp"

/// Time for which the work of elements occupies devices:
/// docs/design/0045-device-time-of-elements.md.
namespace starling::detail {

/// Accounts that are charged equal parts of a time; a null part is charged to nobody.
using charged_accounts = std::vector<std::shared_ptr<device_account>>;

/// Returns the account of the element that the calling worker runs; empty if its load is not
/// measured.
[[nodiscard]] charged_accounts accounts_of_caller() noexcept;

struct time_interval {
  double begin_ns;
  double end_ns;
};

/// Divides time among intervals: at each moment, all intervals that contain it get equal parts.
/// Returns the part of each interval in nanoseconds; their sum is the length of the union.
[[nodiscard]] std::vector<double> divide_time(std::span<const time_interval> intervals);

/// A period in which a stream runs operations that are charged to the same accounts.
struct busy_interval {
  charged_accounts accounts;
  std::shared_ptr<backend_event> begin;
  std::shared_ptr<backend_event> end;  // null while no operation was accepted
  // On the clock of device_times; empty until read:
  std::optional<double> begin_ns;
  std::optional<double> end_ns;
};

class stream_times;

/// The times of one device, which are read from events after these have been passed. Thread-safe.
class device_times {
 public:
  using event_maker = std::function<std::shared_ptr<backend_event>()>;
  /// `name` names the device in messages. `make_event` returns timed events, or null if the backend
  /// has none.
  device_times(std::string name, event_maker make_event)
      : m_name(std::move(name)), m_make_event(std::move(make_event)) {}

  /// Returns a timed event, or null if nothing is measured on this device.
  [[nodiscard]] std::shared_ptr<backend_event> make_event() noexcept;
  /// Adds the time up to the last end of an interval to the accounts. Queries the driver twice for
  /// each stream with outstanding work and four times for each interval that has ended.
  void settle() noexcept;

 private:
  friend stream_times;

  void add(stream_times& from, busy_interval&& closed) noexcept;
  void remove(stream_times& from) noexcept;
  // Called under the lock:
  [[nodiscard]] bool has_begun(busy_interval& i);
  [[nodiscard]] bool has_ended(busy_interval& i);
  [[nodiscard]] double find_last_end();
  void charge(double until_ns);
  void drop_ended(double until_ns) noexcept;
  void give_up(const std::exception_ptr& why) noexcept;

  std::string m_name;
  event_maker m_make_event;
  std::atomic<bool> m_is_off{false};
  std::mutex m_lock;                     // guards the members below and stream_times::m_closed
  std::vector<stream_times*> m_streams;  // that have closed intervals
  std::shared_ptr<backend_event> m_reference;  // the last event whose time was read
  double m_reference_ns = 0;                   // its time; that of the first one is 0
  double m_settled_until_ns = -std::numeric_limits<double>::infinity();
  std::size_t m_outstanding = 0;            // closed intervals of all streams
  std::size_t m_settle_at = least_settled;  // number of them at which `add` calls settle()
  static constexpr std::size_t least_settled = 256;
};

/// The intervals of one stream. Its functions are called under the stream's submit lock.
class stream_times {
 public:
  explicit stream_times(device_times* device) noexcept : m_device(device) {}
  ~stream_times() {
    if (m_open.begin != nullptr || !m_closed.empty()) m_device->remove(*this);
  }
  stream_times(const stream_times&) = delete;
  stream_times& operator=(const stream_times&) = delete;

  /// Called before an operation is queued that is charged to `accounts`. Continues the open
  /// interval if it has the same accounts and its last operation was queued within
  /// `continuation_ns`.
  void begin(backend_stream& queue, charged_accounts&& accounts) noexcept;
  /// Called after the operation was queued.
  void end(backend_stream& queue) noexcept {
    if (m_open.begin != nullptr) note_end(queue);
  }
  /// Ends the open interval. Called before the stream waits, for others or for a mark.
  void close() noexcept {
    if (m_open.begin != nullptr) close_open();
  }

 private:
  friend device_times;
  static constexpr std::uint64_t continuation_ns = 10'000;

  void note_end(backend_stream& queue) noexcept;
  void close_open() noexcept;

  device_times* m_device;  // null: nothing is measured
  busy_interval m_open;    // without begin: none is open
  std::uint64_t m_last_ns = 0;
  std::deque<busy_interval> m_closed;  // in order; guarded by device_times::m_lock
};

}  // namespace starling::detail
