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

/// Accounts of the elements whose work an operation is; null for an element that is not measured.
using charged_accounts = std::vector<std::shared_ptr<device_account>>;

/// Returns the account of the element that the calling worker runs; empty if its device time is not
/// measured.
[[nodiscard]] charged_accounts accounts_of_caller() noexcept;

/// An interval in which a device runs work of a user, an element.
struct device_use {
  std::size_t user;
  double begin_ns;
  double end_ns;
};
struct user_time {
  double share_ns = 0;    ///< at each moment, all users of the device get equal parts of the time
  double elapsed_ns = 0;  ///< the time in which the user has at least one interval
};
/// Divides the time of a device among `users` users, numbered from 0. The shares add up to the
/// length of the union of all intervals.
[[nodiscard]] std::vector<user_time> divide_time(std::size_t users,
                                                 std::span<const device_use> uses);

/// A period in which a stream runs operations of the same elements.
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
  /// each stream with outstanding work and four times for each interval that has ended. Does
  /// nothing if the last call asked many streams a short time ago, so that reading many loads one
  /// after the other does not use more than a fifth of the time.
  void settle() noexcept;
  /// Calls settle() if many intervals are outstanding and no other thread does so. Called without
  /// locks.
  void settle_if_due() noexcept {
    if (m_is_due.load(std::memory_order_relaxed)) try_to_settle();
  }

 private:
  friend stream_times;

  void add(stream_times& from, busy_interval&& closed) noexcept;
  void remove(stream_times& from) noexcept;
  void try_to_settle() noexcept;
  // Called under m_settling:
  void settle_all() noexcept;
  void take_closed();
  [[nodiscard]] bool has_begun(busy_interval& i);
  [[nodiscard]] bool has_ended(busy_interval& i);
  [[nodiscard]] bool is_passed(backend_event& e) noexcept;
  [[nodiscard]] double find_last_end();
  void charge(double until_ns);
  void drop_ended(double until_ns) noexcept;
  void give_up(const std::exception_ptr& why) noexcept;

  std::string m_name;
  event_maker m_make_event;
  std::atomic<bool> m_is_off{false};
  std::atomic<bool> m_is_due{false};
  std::mutex m_settling;  // guards the members down to m_lock; held during driver calls
  std::vector<stream_times*> m_streams;        // that have outstanding intervals
  std::shared_ptr<backend_event> m_reference;  // the last event whose time was read
  double m_reference_ns = 0;                   // its time; that of the first one is 0
  double m_settled_until_ns = -std::numeric_limits<double>::infinity();
  std::size_t m_queries = 0;       // of events, in this call of settle_all()
  std::uint64_t m_not_before = 0;  // ns; settle() does nothing earlier
  std::mutex m_lock;               // guards what follows and stream_times::m_closed; innermost
  std::vector<stream_times*> m_arrived;  // streams with closed intervals
  std::size_t m_outstanding = 0;         // intervals of all streams
  std::size_t m_due_at = least_due;      // number of them that makes settling due
  static constexpr std::size_t least_due = 256;
  static constexpr std::size_t many_queries = 64;
};

/// The intervals of one stream. Its functions are called under the stream's submit lock. Destroyed
/// when no other thread uses its device any more.
class stream_times {
 public:
  explicit stream_times(device_times* device) noexcept : m_device(device) {}
  ~stream_times() {
    if (m_open.begin != nullptr || !m_closed.empty() || !m_outstanding.empty())
      m_device->remove(*this);
  }
  stream_times(const stream_times&) = delete;
  stream_times& operator=(const stream_times&) = delete;

  /// Called before an operation of these elements is queued. Continues the open interval if it has
  /// the same elements and its last operation was queued within `continuation_ns`.
  void begin(backend_stream& queue, const charged_accounts& accounts) noexcept;
  /// Called after the operation was queued. If it is refused, close() is called, or begin() again
  /// at once for operations in its place.
  void end(backend_stream& queue) noexcept {
    if (m_open.begin != nullptr) note_end(queue);
  }
  /// Ends the open interval. Called before the stream waits, for others or for a mark, and before
  /// other work than Starling's may be queued.
  void close() noexcept {
    if (m_open.begin != nullptr) close_open();
  }

 private:
  friend device_times;
  static constexpr std::uint64_t continuation_ns = 10'000;

  void open(backend_stream& queue, const charged_accounts& accounts);
  void note_end(backend_stream& queue) noexcept;
  void close_open() noexcept;

  device_times* m_device;  // null: nothing is measured
  busy_interval m_open;    // without begin: none is open
  std::uint64_t m_last_ns = 0;
  std::deque<busy_interval> m_closed;       // guarded by device_times::m_lock
  std::deque<busy_interval> m_outstanding;  // older ones; guarded by device_times::m_settling
};

}  // namespace starling::detail
