// SPDX-License-Identifier: Apache-2.0
#include "device_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <new>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/trace.hpp>

namespace starling::detail {
namespace {

void add_ns(std::atomic<std::uint64_t>& sum, double ns) noexcept {
  if (ns > 0) sum.fetch_add(std::uint64_t(std::llround(ns)), std::memory_order_relaxed);
}

void release(const busy_interval& i) noexcept {
  for (const auto& account : i.accounts)
    if (account != nullptr) account->outstanding.fetch_sub(1, std::memory_order_release);
}

void print_end_of_measurement(const std::string& device, const std::exception_ptr& why) {
  std::fprintf(stderr, "starling: the time of kernels is no longer measured on %s: %s\n",
               device.c_str(), error_text(why).c_str());
}

}  // namespace

charged_accounts accounts_of_caller() noexcept {
  charged_accounts result;
  if (auto account = current_device_account()) try {
      result.push_back(std::move(account));
    } catch (const std::bad_alloc&) {  // the work is not measured
    }
  return result;
}

std::vector<user_time> divide_time(std::size_t users, std::span<const device_use> uses) {
  struct bound {
    double at_ns;
    int change;  // of the user's number of intervals
    std::size_t user;
  };
  struct presence {
    int intervals = 0;
    double divided = 0;  // when the user's first interval began
    double since_ns = 0;
  };
  std::vector<bound> bounds;
  bounds.reserve(2 * uses.size());
  for (const device_use& u : uses)
    if (u.begin_ns < u.end_ns) {
      bounds.push_back({u.begin_ns, 1, u.user});
      bounds.push_back({u.end_ns, -1, u.user});
    }
  std::ranges::sort(bounds, {}, &bound::at_ns);
  std::vector<user_time> times(users);
  std::vector<presence> present(users);
  double divided = 0;  // part of a user that is present from the start on
  double last_ns = 0;
  std::size_t count = 0;
  for (const bound& b : bounds) {
    if (count > 0) divided += (b.at_ns - last_ns) / double(count);
    last_ns = b.at_ns;
    presence& p = present[b.user];
    if (p.intervals == 0) {
      p = {0, divided, b.at_ns};
      ++count;
    }
    p.intervals += b.change;
    if (p.intervals != 0) continue;
    --count;
    times[b.user].share_ns += divided - p.divided;
    times[b.user].elapsed_ns += b.at_ns - p.since_ns;
  }
  return times;
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
  const std::lock_guard lock(m_lock);
  if (m_is_off.load(std::memory_order_relaxed)) return release(closed);
  try {
    m_arrived.reserve(m_arrived.size() + 1);
    from.m_closed.push_back(std::move(closed));
  } catch (const std::bad_alloc&) {
    return release(closed);
  }
  if (from.m_closed.size() == 1) m_arrived.push_back(&from);
  if (++m_outstanding >= m_due_at) m_is_due.store(true, std::memory_order_relaxed);
}

void device_times::remove(stream_times& from) noexcept {
  const std::lock_guard settling(m_settling);
  const std::lock_guard lock(m_lock);
  std::erase(m_streams, &from);
  std::erase(m_arrived, &from);
  for (const auto* queue : {&from.m_closed, &from.m_outstanding}) {
    for (const busy_interval& i : *queue) release(i);
    m_outstanding -= std::min(m_outstanding, queue->size());
  }
  if (from.m_open.begin != nullptr) release(from.m_open);
}

void device_times::settle() noexcept {
  const std::lock_guard lock(m_settling);
  if (tracer::now() >= m_not_before) settle_all();
}

void device_times::try_to_settle() noexcept {
  const std::unique_lock lock(m_settling, std::try_to_lock);
  if (lock.owns_lock()) settle_all();
}

void device_times::settle_all() noexcept {
  const std::uint64_t begin = tracer::now();
  m_queries = 0;
  try {
    take_closed();
    const double until_ns = find_last_end();
    if (until_ns > m_settled_until_ns) {
      charge(until_ns);
      drop_ended(until_ns);
      m_settled_until_ns = until_ns;
    }
  } catch (const std::bad_alloc&) {  // tried again by the next call
  } catch (...) {
    give_up(std::current_exception());
  }
  const std::uint64_t end = tracer::now();
  m_not_before = m_queries <= many_queries ? 0 : end + 4 * (end - begin);
  const std::lock_guard lock(m_lock);
  m_due_at = std::max(least_due, 2 * m_outstanding);
  m_is_due.store(false, std::memory_order_relaxed);
}

void device_times::take_closed() {
  const std::lock_guard lock(m_lock);
  m_streams.reserve(m_streams.size() + m_arrived.size());
  while (!m_arrived.empty()) {
    stream_times& s = *m_arrived.back();
    if (s.m_outstanding.empty()) m_streams.push_back(&s);
    for (; !s.m_closed.empty(); s.m_closed.pop_front())
      s.m_outstanding.push_back(std::move(s.m_closed.front()));
    m_arrived.pop_back();
  }
}

bool device_times::is_passed(backend_event& e) noexcept {
  ++m_queries;
  try {
    return e.is_complete();
  } catch (...) {  // the work before the event has failed; reading the time reports a lost device
    return true;
  }
}

/// Reads the times of all intervals that have ended. Then tests a second time those that had not
/// ended, so that all ends before the last one are known.
double device_times::find_last_end() {
  double last_ns = m_settled_until_ns;
  for (stream_times* s : m_streams)
    for (busy_interval& i : s->m_outstanding) {
      if (!has_ended(i)) break;
      last_ns = std::max(last_ns, *i.end_ns);
    }
  for (stream_times* s : m_streams)
    for (busy_interval& i : s->m_outstanding)
      if (!has_ended(i)) {
        static_cast<void>(has_begun(i));
        break;  // the later intervals of the stream have not begun
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
  std::map<device_account*, std::size_t> numbers;
  std::vector<device_account*> accounts;  // by number of the user
  std::vector<device_use> uses;
  for (const stream_times* s : m_streams)
    for (const busy_interval& i : s->m_outstanding) {
      if (!i.begin_ns) break;
      for (const auto& account : i.accounts) {
        std::size_t user = accounts.size();
        if (account != nullptr) user = numbers.try_emplace(account.get(), user).first->second;
        if (user == accounts.size()) accounts.push_back(account.get());
        uses.push_back({user, std::max(*i.begin_ns, m_settled_until_ns),
                        std::min(i.end_ns.value_or(until_ns), until_ns)});
      }
    }
  const std::vector<user_time> times = divide_time(accounts.size(), uses);
  for (std::size_t user = 0; user < accounts.size(); ++user)
    if (accounts[user] != nullptr) {
      add_ns(accounts[user]->share_ns, times[user].share_ns);
      add_ns(accounts[user]->elapsed_ns, times[user].elapsed_ns);
    }
}

void device_times::drop_ended(double until_ns) noexcept {
  std::size_t dropped = 0;
  for (stream_times* s : m_streams) {
    auto& queue = s->m_outstanding;
    for (; !queue.empty() && queue.front().end_ns.value_or(until_ns + 1) <= until_ns; ++dropped) {
      release(queue.front());
      queue.pop_front();
    }
  }
  std::erase_if(m_streams, [](const stream_times* s) { return s->m_outstanding.empty(); });
  const std::lock_guard lock(m_lock);
  m_outstanding -= dropped;
}

void device_times::give_up(const std::exception_ptr& why) noexcept {
  const std::lock_guard lock(m_lock);
  m_is_off.store(true, std::memory_order_relaxed);
  m_streams.insert(m_streams.end(), m_arrived.begin(), m_arrived.end());
  for (stream_times* s : m_streams)
    for (auto* queue : {&s->m_closed, &s->m_outstanding}) {
      for (const busy_interval& i : *queue) release(i);
      queue->clear();
    }
  m_streams.clear();
  m_arrived.clear();
  m_outstanding = 0;
  m_reference = nullptr;
  try {
    print_end_of_measurement(m_name, why);
  } catch (const std::bad_alloc&) {  // without the message
  }
}

// --- the intervals of a stream

void stream_times::begin(backend_stream& queue, const charged_accounts& accounts) noexcept {
  if (accounts.empty() || m_device == nullptr) return close();
  if (m_open.begin != nullptr) {
    const bool continues = m_open.end == nullptr || tracer::now() - m_last_ns < continuation_ns;
    if (continues && m_open.accounts == accounts) return;
    close_open();
  }
  try {
    open(queue, accounts);
  } catch (...) {  // the operation that is about to be queued reports the error of the device
  }
}

void stream_times::open(backend_stream& queue, const charged_accounts& accounts) {
  charged_accounts copied = accounts;
  std::shared_ptr<backend_event> point = m_device->make_event();
  if (point == nullptr) return;
  queue.record(point);
  m_open.begin = std::move(point);
  m_open.accounts = std::move(copied);
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
