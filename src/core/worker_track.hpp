// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <starling/core/trace.hpp>

namespace starling::detail {

/// A worker's track in the timeline.
class worker_track {
 public:
  worker_track(tracer& sink, std::string group, std::string name)
      : m_sink(sink), m_track(sink.open_track(std::move(group), std::move(name))) {}
  void span(span_kind kind, const char* name, std::uint64_t begin, std::uint64_t end) noexcept {
    m_sink.span(m_track, kind, name, begin, end);
  }

  /// Records that a task runs from `begin` on. `name` is static data, which outlives the task.
  void task_begins(const char* name, std::uint64_t begin) noexcept {
    m_task = name;
    m_begin = begin;
  }
  void task_ends(std::uint64_t end) noexcept { span(span_kind::task, m_task, m_begin, end); }
  /// Records that the running task transfers control to another task.
  void task_follows(const char* name, std::uint64_t now) noexcept {
    task_ends(now);
    task_begins(name, now);
  }

 private:
  tracer& m_sink;
  std::uint32_t m_track;
  const char* m_task = "";
  std::uint64_t m_begin = 0;
};

}  // namespace starling::detail
