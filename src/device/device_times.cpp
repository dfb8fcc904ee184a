// SPDX-License-Identifier: Apache-2.0
#include "device_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/trace.hpp>

namespace starling::detail {
namespace {

bool is_passed(backend_event& e) noexcept {
  try {
    return e.is_complete();
  } catch (...) {  // the work before the event has failed; reading the time reports a lost device
    return true;
  }
}

void add_ns(std::atomic<std::uint64_t>& sum, double ns) noexcept {
  if (ns > 0) sum.fetch_add(std::uint64_t(std::llround(ns)), std::memory_order_relaxed);
}

void release(const busy_interval& i) noexcept {
  for (const auto& account : i.accounts)
    if (account != nullptr) account->outstanding.fetch_sub(1, std::memory_order_release);
}

}  // namespace

charged_accounts accounts_of_caller() noexcept {
  charged_accounts result;
  if (auto account = current_device_account()) try {
      result.push_back(std::move(account));
    } catch (const std::bad_alloc&) {  // the work is charged to nobody
    }
  return result;
}

std::vector<double> divide_time(std::span<const time_interval> intervals) {
  struct bound {
    double at_ns;
    int change;  // of the number of intervals
    double* part;
  };
  std::vector<double> parts(intervals.size());
  std::vector<bound> bounds;
  bounds.reserve(2 * intervals.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (!(intervals[i].begin_ns < intervals[i].end_ns)) continue;
    bounds.push_back({intervals[i].begin_ns, 1, &parts[i]});
    bounds.push_back({intervals[i].end_ns, -1, &parts[i]});
  }
  std::ranges::sort(bounds, {}, &bound::at_ns);
  // The part of an interval that has been there from the start on; others get the difference.
  double divided = 0, last_ns = 0;
  int count = 0;
  for (const bound& b : bounds) {
    if (count > 0) divided += (b.at_ns - last_ns) / count;
    last_ns = b.at_ns;
    count += b.change;
    *b.part = b.change > 0 ? divided : divided - *b.part;
  }
  return parts;
}

// --- the times of a device

std::shared_ptr<backend_event> device_times::make_event() noexcept {
  if (m_is_off.load(std::memory_order_relaxed)) return nullptr;
  try {
    std::shared_ptr<backend_event> made = m_make_event();
    if (made == nullptr) m_is_off.store(true, std::memory_order_relaxed);
    return made;
  } catch (...) {  // the operation that is about to be queued reports the error of the device
    return nullptr;
  }
}

void device_times::add(stream_times& from, busy_interval&& closed) noexcept {
  bool is_due = false;
  {
    const std::lock_guard lock(m_lock);
    if (m_is_off.load(std::memory_order_relaxed)) return release(closed);
    try {
      if (from.m_closed.empty()) m_streams.push_back(&from);
      from.m_closed.push_back(std::move(closed));
    } catch (const std::bad_alloc&) {
      std::erase(m_streams, &from);
      return release(closed);
    }
    is_due = ++m_outstanding >= m_settle_at;
  }
  if (is_due) settle();
}

void device_times::remove(stream_times& from) noexcept {
  const std::lock_guard lock(m_lock);
  std::erase(m_streams, &from);
  for (const busy_interval& i : from.m_closed) release(i);
  if (from.m_open.begin != nullptr) release(from.m_open);
}

void device_times::settle() noexcept {
  const std::lock_guard lock(m_lock);
  try {
    const double until_ns = find_last_end();
    if (until_ns <= m_settled_until_ns) return;
    charge(until_ns);
    drop_ended(until_ns);
    m_settled_until_ns = until_ns;
  } catch (...) {
    give_up(std::current_exception());
  }
  m_settle_at = std::max(least_settled, 2 * m_outstanding);
}

/// Reads the times of all intervals that have ended. Those that have not ended when this function
/// looks for the last end are asked a second time, so that all ends before the last one are known.
double device_times::find_last_end() {
  double last_ns = m_settled_until_ns;
  for (stream_times* s : m_streams)
    for (busy_interval& i : s->m_closed) {
      if (!has_ended(i)) break;
      last_ns = std::max(last_ns, *i.end_ns);
    }
  for (stream_times* s : m_streams)
    for (busy_interval& i : s->m_closed)
      if (!has_ended(i)) {
        static_cast<void>(has_begun(i));
        break;  // the stream has not come to its later intervals
      }
  return last_ns;
}

bool device_times::has_begun(busy_interval& i) {
  if (i.begin_ns) return true;
  if (!is_passed(*i.begin)) return false;
  if (m_reference == nullptr) m_reference = i.begin;
  i.begin_ns = m_reference_ns + i.begin->nanoseconds_since(*m_reference);
  return true;
}

/// Each time is read relative to a recent one, because CUDA returns it with 24 bits.
bool device_times::has_ended(busy_interval& i) {
  if (i.end_ns) return true;
  if (!is_passed(*i.end) || !has_begun(i)) return false;
  i.end_ns = *i.begin_ns + i.end->nanoseconds_since(*i.begin);
  m_reference = i.end;
  m_reference_ns = *i.end_ns;
  return true;
}

void device_times::charge(double until_ns) {
  std::vector<const busy_interval*> charged;
  std::vector<time_interval> times;
  for (const stream_times* s : m_streams)
    for (const busy_interval& i : s->m_closed) {
      if (!i.begin_ns) break;
      charged.push_back(&i);
      times.push_back({std::max(*i.begin_ns, m_settled_until_ns),
                       std::min(i.end_ns.value_or(until_ns), until_ns)});
    }
  const std::vector<double> parts = divide_time(times);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const double members = double(charged[k]->accounts.size());
    for (const auto& account : charged[k]->accounts)
      if (account != nullptr) {
        add_ns(account->share_ns, parts[k] / members);
        add_ns(account->elapsed_ns, (times[k].end_ns - times[k].begin_ns) / members);
      }
  }
}

void device_times::drop_ended(double until_ns) noexcept {
  for (stream_times* s : m_streams)
    while (!s->m_closed.empty() && s->m_closed.front().end_ns.value_or(until_ns + 1) <= until_ns) {
      release(s->m_closed.front());
      s->m_closed.pop_front();
      --m_outstanding;
    }
  std::erase_if(m_streams, [](const stream_times* s) { return s->m_closed.empty(); });
}

void device_times::give_up(const std::exception_ptr& why) noexcept {
  m_is_off.store(true, std::memory_order_relaxed);
  for (stream_times* s : m_streams) {
    for (const busy_interval& i : s->m_closed) release(i);
    s->m_closed.clear();
  }
  m_streams.clear();
  m_outstanding = 0;
  m_reference = nullptr;
  std::fprintf(stderr, "starling: the time of kernels is no longer measured on %s: %s\n",
               m_name.c_str(), error_text(why).c_str());
}

// --- the intervals of a stream

void stream_times::begin(backend_stream& queue, charged_accounts&& accounts) noexcept {
  if (accounts.empty() || m_device == nullptr) return close();
  if (m_open.begin != nullptr) {
    if (m_open.accounts == accounts && tracer::now() - m_last_ns < continuation_ns) return;
    close_open();
  }
  std::shared_ptr<backend_event> point = m_device->make_event();
  if (point == nullptr) return;
  try {
    queue.record(point);
  } catch (...) {  // the operation that is about to be queued reports the error of the device
    return;
  }
  m_open.begin = std::move(point);
  m_open.accounts = std::move(accounts);
  for (const auto& account : m_open.accounts)
    if (account != nullptr) account->outstanding.fetch_add(1, std::memory_order_relaxed);
}

void stream_times::note_end(backend_stream& queue) noexcept {
  std::shared_ptr<backend_event> point = m_device->make_event();
  if (point == nullptr) return;
  try {
    queue.record(point);
  } catch (...) {  // the next operation or request reports the error of the device
    return;
  }
  m_open.end = std::move(point);
  m_last_ns = tracer::now();
}

void stream_times::close_open() noexcept {
  busy_interval closed = std::exchange(m_open, {});
  if (closed.end == nullptr) return release(closed);
  m_device->add(*this, std::move(closed));
}

}  // namespace starling::detail
