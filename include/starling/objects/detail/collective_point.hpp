// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <string>
#include <utility>

#include <starling/objects/detail/contribution.hpp>
#include <starling/objects/detail/migration_point.hpp>

namespace starling::detail {

/// Base of the awaiters of points to which all elements of an array come: a wait at the element's
/// worker, and a contribution to a reduction of the array. The receiver of the result ends the
/// waits.
template <class T>
class collective_point {
 public:
  void await_resume() const { m_wait.check(); }

 protected:
  /// `what`: name of the call in reports.
  collective_point(const next_reduction& next, const char* what) : m_next(next) {
    m_wait.what = what;
  }
  [[nodiscard]] chare_core& contributor() const noexcept { return m_next.contributor; }
  [[nodiscard]] array_base& array() const noexcept {
    return *contributor().element_state().local->array;
  }
  [[nodiscard]] point_wait& wait() noexcept { return m_wait; }

  /// Begins the wait of a chare that is to migrate, as migration_point() does.
  template <runtime_promise Promise>
  void depart(std::coroutine_handle<Promise> h, const call_location& at) {
    begin(h, at);
    contributor().note_wait();
  }
  /// Begins the wait and contributes `value()`, the same type for all elements.
  template <class V, runtime_promise Promise, class Value, class Op>
  void come(std::coroutine_handle<Promise> h, const call_location& at, const Value& value,
            const Op& op, const starling::callback<V>& to) {
    begin(h, at);
    try {
      if (m_next.is_remote())
        contribute_remotely<T, V>(m_next, value(), op, to);
      else
        m_next.site->contribute(m_next.count++, value(), op, [&] { return to; });
    } catch (...) {
      static_cast<void>(m_wait.withdraw());
      forget_wait(h.promise());
      throw;
    }
  }

 private:
  template <runtime_promise Promise>
  void begin(std::coroutine_handle<Promise> h, const call_location& at) {
    m_wait.describe = &describe;
    m_wait.chare = &contributor();
    m_wait.waiting = &h.promise();
    m_wait.round = m_next.count;
    m_wait.enlist();
    mark_suspended(h.promise(), m_wait, at);
  }
  static std::string describe(const described_wait& w) {
    const auto& wait = static_cast<const point_wait&>(w);
    return wait.chare->element_state().local->array->name_of(*wait.chare) + ": " + wait.what;
  }

  next_reduction m_next;
  point_wait m_wait;
};

}  // namespace starling::detail
