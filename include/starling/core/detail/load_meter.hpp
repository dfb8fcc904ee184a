// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <starling/core/detail/promise_base.hpp>

/// Measurement of the time that objects use on a worker.
namespace starling::detail {

/// Time for which the work of one object has occupied devices. Any thread adds to it; it exists
/// until all this work is over. Relaxed: the numbers guard no other data.
struct device_account {
  /// At each moment, the time of a device is divided equally among the objects whose work it runs.
  std::atomic<std::uint64_t> share_ns{0};
  std::atomic<std::uint64_t> elapsed_ns{0};   // time in which a device runs work of the object
  std::atomic<std::uint32_t> outstanding{0};  // intervals that are not added yet
};

/// Time that one object has used on workers. Accessed by the worker that the object is on.
struct time_account {
  std::uint64_t ticks = 0;                     // see load_meter::seconds
  bool has_device_time = true;                 // device time is measured
  std::shared_ptr<device_account> on_devices;  // made by the first work; null: none so far
};

/// Returns the device account of the object that the calling worker charges, null if it charges
/// none or if there is no memory. Any thread.
[[nodiscard]] std::shared_ptr<device_account> current_device_account() noexcept;

/// Charges the time of one worker to accounts: at each moment to one account or to none, so that no
/// time is charged twice. Used by its worker only.
///
/// Charged time ends with a reading of the clock. If only code of the runtime runs until the next
/// charged time begins, that reading serves as its beginning, too: a worker with many short
/// messages reads the clock once for each, and the time for taking a message from the queue is
/// charged to its receiver.
class load_meter {
 public:
  /// Returns the account of a root coroutine (see root_of); null if its time is not charged.
  using finder = time_account* (*)(promise_base& root) noexcept;

  explicit load_meter(finder find) noexcept;

  [[nodiscard]] time_account* current() const noexcept { return m_current; }
  /// Charges the time from now on to `next`; null: to no account. Reads the clock only if that is a
  /// change.
  void charge(time_account* next) noexcept {
    if (next != m_current) change(next);
  }
  /// Charges the time from now on to the account of coroutine `c`, which is about to continue.
  void follow(promise_base& c) noexcept { begin(account_of(c)); }
  /// Called around the dispatch of an item, which may be a coroutine or a message.
  void begin_item(promise_base& c) noexcept {
    m_has_changed = false;
    if (c.is_task) follow(c);
  }
  void end_item() noexcept {
    end(nullptr);
    // Otherwise the time of an item that was charged to no account would be charged to the next.
    if (!m_has_changed) lapse();
  }
  /// Called when other work than the dispatch of items begins.
  void lapse() noexcept { m_is_fresh = false; }
  [[nodiscard]] time_account* account_of(promise_base& c) const noexcept;
  /// Adds to the current account its time up to now.
  void settle() noexcept;
  /// Called before an account is destroyed.
  void forget(const time_account& gone) noexcept;

  /// Converts ticks of the processor's clock. Its rate is that since the first meter of the process
  /// was made. Any thread.
  [[nodiscard]] static double seconds(std::uint64_t ticks) noexcept;

 private:
  friend class charged_time;
  /// Charges to an account that begins to run user code, or to none because other user code begins.
  void begin(time_account* next) noexcept {
    charge(next);
    lapse();
  }
  /// Charges to the account that was current before, after which the runtime continues.
  void end(time_account* next) noexcept {
    if (next == m_current) return;
    change(next);
    m_is_fresh = next == nullptr;
  }
  void change(time_account* next) noexcept;

  finder m_find;
  time_account* m_current = nullptr;
  std::uint64_t m_begin = 0;               // ticks at the last change
  bool m_is_fresh = false;                 // only the runtime's code has run since the last change
  bool m_has_changed = false;              // by the item that is dispatched
  class charged_time* m_scopes = nullptr;  // innermost scope
};

/// Charges the time of its scope to an account, and the time after it to the account that was
/// current before. Null as meter: has no effect.
class charged_time {
 public:
  charged_time(load_meter* meter, time_account* to) noexcept : m_meter(meter) {
    if (meter == nullptr) return;
    m_outer = meter->m_current;
    m_below = meter->m_scopes;
    meter->m_scopes = this;
    meter->begin(to);
  }
  ~charged_time() {
    if (m_meter == nullptr) return;
    m_meter->m_scopes = m_below;
    m_meter->end(m_outer);
  }
  charged_time(const charged_time&) = delete;
  charged_time& operator=(const charged_time&) = delete;

 private:
  friend load_meter;
  load_meter* m_meter;
  time_account* m_outer = nullptr;
  charged_time* m_below = nullptr;
};

}  // namespace starling::detail
