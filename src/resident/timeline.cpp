// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace starling::resident::detail {
namespace {

/// The trace of one scheduler, oldest record first.
struct notes {
  std::vector<trace_record> last;
  scheduler_line line;
};

notes read_notes(const driver& memory, std::uint32_t device, std::uint32_t index) {
  const layout& l = memory.shared().l;
  notes result;
  memory.read(device, l.lines + index * sizeof result.line, &result.line, sizeof result.line);
  const std::uint64_t kept = std::min<std::uint64_t>(result.line.noted, l.trace_records);
  result.last.resize(kept);
  memory.read(device, l.traces + std::uint64_t(index) * l.trace_records * sizeof(trace_record),
              result.last.data(), kept * sizeof(trace_record));
  const std::uint64_t oldest = kept < l.trace_records ? 0 : result.line.noted % kept;
  std::ranges::rotate(result.last, result.last.begin() + std::ptrdiff_t(oldest));
  return result;
}

std::string title(std::uint32_t scheduler, const notes& n) {
  std::string text = fmt::format("scheduler {}: {} messages sent, {} entry methods run", scheduler,
                                 n.line.sent, n.line.entries_run);
  if (n.line.noted > n.last.size()) text += fmt::format(", the last {} spans", n.last.size());
  return text;
}

}  // namespace

void write_timeline(const driver& memory, const std::vector<std::string_view>& entries,
                    tracer& to) {
  std::vector<const char*> names;
  for (const std::string_view name : entries) names.push_back(to.intern(name));
  const layout& l = memory.shared().l;
  const device_range own = memory.own();
  for (std::uint32_t d = own.first; d < own.end(); ++d) {
    const auto here = static_cast<std::uint64_t>(memory.clock_offset(d));
    for (std::uint32_t index = 0; index < l.schedulers; ++index) {
      const notes n = read_notes(memory, d, index);
      const std::uint32_t track =
          to.open_track(fmt::format("resident device {}", d), title(d * l.schedulers + index, n));
      for (const trace_record& r : n.last) {
        const bool is_idle = r.entry >= names.size();
        to.span(track, is_idle ? span_kind::idle : span_kind::task,
                is_idle ? "nothing to do" : names[r.entry], r.begin + here, r.end + here);
      }
    }
  }
}

}  // namespace starling::resident::detail
