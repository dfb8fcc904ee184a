// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <string>

#include <starling/core/future.hpp>
#include <starling/objects/detail/job.hpp>

namespace starling::detail {

/// Waits until a rank has processed most of the messages sent to it.
class room_awaiter {
 public:
  /// `by`: null when the receiver is on this rank, so that no wait is needed.
  room_awaiter(job* by, int to) noexcept : m_job(by) { m_wait.to = to; }

  bool await_ready() const noexcept { return m_job == nullptr || m_job->has_room(m_wait.to); }
  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h, const call_location& at = {}) {
    m_wait.describe = &describe;
    m_wait.by = m_job;
    m_wait.waiting = &h.promise();
    mark_suspended(h.promise(), m_wait, at);
    return confirm_suspended(h.promise(), m_job->enlist(m_wait));
  }
  void await_resume() const {
    if (m_wait.is_withdrawn) throw_interrupted();
  }

 private:
  static std::string describe(const described_wait& w) {
    return "room for more messages to rank " + std::to_string(static_cast<const room_wait&>(w).to);
  }
  job* m_job;
  room_wait m_wait;
};

}  // namespace starling::detail
