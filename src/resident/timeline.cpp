// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace starling::resident::detail {
namespace {

/// Writes the trace of scheduler `index` of a device, oldest record first. `names`: of the entry
/// methods.
void write_track(const driver& memory, std::uint32_t device, std::uint32_t index,
                 const std::vector<const char*>& names, tracer& to) {
  const layout& l = memory.shared().l;
  scheduler_line line;
  memory.read(device, l.lines + index * sizeof line, &line, sizeof line);
  std::vector<trace_record> last(std::min<std::uint64_t>(line.noted, l.trace_records));
  memory.read(device, l.traces + std::uint64_t(index) * l.trace_records * sizeof(trace_record),
              last.data(), last.size() * sizeof(trace_record));
  const std::uint64_t oldest = last.size() < l.trace_records ? 0 : line.noted % last.size();
  std::ranges::rotate(last, last.begin() + std::ptrdiff_t(oldest));
  std::string title = fmt::format("scheduler {}: {} messages sent, {} entry methods run",
                                  device * l.schedulers + index, line.sent, line.entries_run);
  if (line.noted > last.size()) title += fmt::format(", the last {} spans", last.size());
  const std::uint32_t track = to.open_track(fmt::format("resident device {}", device), title);
  const auto here = static_cast<std::uint64_t>(memory.clock_offset(device));
  for (const trace_record& r : last) {
    const bool is_idle = r.entry >= names.size();
    to.span(track, is_idle ? span_kind::idle : span_kind::task,
            is_idle ? "nothing to do" : names[r.entry], r.begin + here, r.end + here);
  }
}

}  // namespace

void write_timeline(const driver& memory, const std::vector<std::string_view>& entries,
                    tracer& to) {
  std::vector<const char*> names;
  for (const std::string_view name : entries) names.push_back(to.intern(name));
  const device_range own = memory.own();
  for (std::uint32_t d = own.first; d < own.end(); ++d)
    for (std::uint32_t index = 0; index < memory.shared().l.schedulers; ++index)
      write_track(memory, d, index, names, to);
}

}  // namespace starling::resident::detail
