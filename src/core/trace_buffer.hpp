// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <starling/core/trace.hpp>

namespace starling::detail {

/// A worker's own row in the timeline.
class trace_buffer {
 public:
  trace_buffer(tracer& sink, std::string group, std::string name)
      : m_sink(sink), m_track(sink.open_track(std::move(group), std::move(name))) {}
  void span(span_kind kind, const char* name, std::uint64_t begin, std::uint64_t end) noexcept {
    m_sink.span(m_track, kind, name, begin, end);
  }

 private:
  tracer& m_sink;
  std::uint32_t m_track;
};

}  // namespace starling::detail
