// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <string>

#include <starling/objects/detail/array_base.hpp>

namespace starling::detail {

/// Awaiter of `migration_point()`.
class point_awaiter {
 public:
  explicit point_awaiter(chare_core& c) noexcept {
    m_wait.chare = &c;
    m_wait.is_released = true;
    m_wait.is_ended = c.element_state().is_doomed;
  }

  bool await_ready() noexcept {
    m_wait.is_over = m_wait.is_ended || !m_wait.chare->element_state().departs();
    return m_wait.is_over;
  }
  template <runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const call_location& at = {}) {
    m_wait.describe = &describe;
    m_wait.waiting = &h.promise();
    m_wait.enlist();
    mark_suspended(h.promise(), m_wait, at);
    m_wait.chare->note_wait();
  }
  void await_resume() const { m_wait.check(); }

 private:
  static std::string describe(const described_wait& w) {
    chare_core& c = *static_cast<const point_wait&>(w).chare;
    return c.element_state().local->array->name_of(c) + ": migration";
  }
  point_wait m_wait;
};

}  // namespace starling::detail
