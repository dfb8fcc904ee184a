// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/background_writer.hpp"

#include <utility>

#include <starling/core/detail/system_resources.hpp>

namespace starling::detail {
background_writer::background_writer()
    : m_thread(start_helper_thread("starling-save", [this] { run(); })) {}

background_writer::~background_writer() {
  {
    const std::lock_guard lock(m_mutex);
    m_ends = true;
  }
  m_changed.notify_one();
  m_thread.join();
}

void background_writer::write(job what, completion done) {
  {
    const std::lock_guard lock(m_mutex);
    m_requests.push_back({std::move(what), std::move(done)});
  }
  m_changed.notify_one();
}

void background_writer::run() {
  for (std::unique_lock lock(m_mutex);;) {
    m_changed.wait(lock, [this] { return m_ends || !m_requests.empty(); });
    if (m_requests.empty()) return;
    request next = std::move(m_requests.front());
    m_requests.pop_front();
    lock.unlock();
    share_summary summary;
    std::exception_ptr failed;
    try {
      summary = next.what();
    } catch (...) {
      failed = std::current_exception();
    }
    next.what = nullptr;  // destroyed before the completion
    next.done(std::move(summary), failed);
    next.done = nullptr;
    failed = nullptr;
    lock.lock();
  }
}

}  // namespace starling::detail
