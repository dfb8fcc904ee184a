// SPDX-License-Identifier: Apache-2.0
// Elements that record by themselves how long they compute, for tests of measured loads. Times are
// compared with clock readings within the entry methods and around the whole test, so that a busy
// machine changes no result.
#pragma once

#include <cstddef>
#include <cstdint>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling_test {

/// Relative error of the rate of the processor's clock, and the resolution of both clocks.
inline constexpr double rate_error = 0.02;
inline constexpr double resolution = 2e-6;

inline double now() { return double(starling::tracer::now()) * 1e-9; }

/// Computes for `ms` milliseconds and returns the seconds that it took.
inline double compute(double ms) {
  const double begin = now();
  double end = begin;
  while (end - begin < ms * 1e-3) end = now();
  return end - begin;
}

class measured_ranks : public on_ranks {
 protected:
  template <auto Entry, class T, class... Args>
  auto ask(const starling::element<T>& e, Args... args) {
    return rt.sync_wait(e.template call<Entry>(args...));
  }
  template <class T>
  void switch_loads(const starling::chare_array<T>& all, bool on) {
    all.measure_loads(on);
    rt.wait_idle();
  }
};

/// An element that records by itself how long it computes.
struct burner : starling::chare<burner> {
  void burn(double ms) { m_own += compute(ms); }
  starling::task<> burn_later(double ms) {
    burn(ms);
    co_await starling::yield();
    burn(ms);
  }
  starling::awaited letter(double ms);
  starling::task<> read(int letters) {
    for (int i = 0; i < letters; ++i) burn(co_await when<&burner::letter>());
  }
  starling::task<> meet(int times, double ms) {
    for (int i = 0; i < times; ++i) {
      co_await barrier();
      burn(ms);
    }
  }
  starling::task<> with_child(double ms) {
    burn(ms);
    co_await child(ms);
    burn(ms);
  }
  /// Starts a task beside this entry method and waits for it.
  starling::task<> spawn_one(double ms) { co_await spawn(with_child(ms)); }
  /// Starts a task and does not wait for it.
  void leave_one(double ms) { m_left = spawn(with_child(ms)); }
  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }

  double own() { return m_own; }
  double measured() { return load_so_far().host_seconds; }
  int messages() { return int(load_so_far().messages); }
  bool has_record() { return element_state().load != nullptr; }
  bool has_meter() { return element_state().local->home->meter() != nullptr; }
  bool is_metered() { return element_state().local->home->is_metered(); }
  /// Computes, then resets the loads of its worker; returns the time at which it did.
  double reset_behind(double ms) {
    burn(ms);
    const double at = now();
    auto& local = *element_state().local;
    local.array->reset_loads(local);
    return at;
  }

 private:
  starling::task<> child(double ms) {
    co_await starling::yield();
    burn(ms);
  }
  double m_own = 0;
  starling::future<> m_left;
};

}  // namespace starling_test
