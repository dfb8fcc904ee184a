// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/load_meter.hpp>

#include <new>

#include <starling/core/detail/worker.hpp>
#include <starling/core/task.hpp>
#include <starling/core/trace.hpp>

#include "tick_clock.hpp"

namespace starling::detail {
namespace {

/// The first point in time at which a meter of the process was made, on both clocks.
struct clock_origin {
  std::uint64_t ticks = tick_clock::now();
  std::uint64_t ns = tracer::now();
  [[nodiscard]] static const clock_origin& get() noexcept {
    static const clock_origin origin;
    return origin;
  }
};

}  // namespace

std::shared_ptr<device_account> current_device_account() noexcept {
  const worker* const here = worker::current();
  time_account* const mine =
      here == nullptr || here->meter() == nullptr ? nullptr : here->meter()->current();
  if (mine == nullptr || !mine->has_device_time) return nullptr;
  if (mine->on_devices == nullptr) try {
      mine->on_devices = std::make_shared<device_account>();
    } catch (const std::bad_alloc&) {
      return nullptr;  // the work is not measured
    }
  return mine->on_devices;
}

load_meter::load_meter(finder find) noexcept : m_find(find) {
  static_cast<void>(clock_origin::get());
}

time_account* load_meter::account_of(promise_base& c) const noexcept {
  promise_base& root = root_of(c);
  return root.of_entry || root.of_chare ? m_find(root) : nullptr;
}

void load_meter::change(time_account* next) noexcept {
  if (m_current != nullptr || !m_is_fresh) {
    const std::uint64_t now = tick_clock::now();
    if (m_current != nullptr) m_current->ticks += now - m_begin;
    m_begin = now;
  }
  m_current = next;
  m_has_changed = true;
}

void load_meter::settle() noexcept { change(m_current); }

void load_meter::forget(const time_account& gone) noexcept {
  if (m_current == &gone) m_current = nullptr;
  for (charged_time* s = m_scopes; s != nullptr; s = s->m_below)
    if (s->m_outer == &gone) s->m_outer = nullptr;
}

double load_meter::seconds(std::uint64_t ticks) noexcept {
  // All measured time lies after the origin, so an error of the elapsed time by the duration of a
  // clock reading changes no measured time by more than that.
  const clock_origin& origin = clock_origin::get();
  const std::uint64_t elapsed_ns = tracer::now() - origin.ns;
  const std::uint64_t elapsed = tick_clock::now() - origin.ticks;
  if (elapsed == 0) return 0;
  return double(ticks) * (double(elapsed_ns) / double(elapsed)) * 1e-9;
}

}  // namespace starling::detail
