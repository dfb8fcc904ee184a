// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace starling {

/// Kind of a span in the timeline; each kind has its own section in the summary table.
enum class span_kind : std::uint8_t { task, kernel, copy, message, idle, user };

/// A row of the summary: spans of one name.
struct trace_total {
  span_kind kind;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
};

/// Collects spans of a runtime: per worker, per device stream and whatever else opens a track.
///
/// Recording is thread-safe and costs a clock reading and an append; off, callers pay one branch on
/// `enabled()`. Names must outlive the tracer (string literals, or `intern`).
class tracer {
 public:
  tracer();
  ~tracer();
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;

  [[nodiscard]] bool enabled() const noexcept { return m_enabled.load(std::memory_order_relaxed); }
  /// Workers look when their runtime begins: for tasks, set the option instead.
  void enable() noexcept { m_enabled.store(true, std::memory_order_relaxed); }

  /// Steady clock, ns.
  [[nodiscard]] static std::uint64_t now() noexcept;

  /// Opens a row of the timeline, e.g. group "workers" or "device 0", name "worker 3".
  [[nodiscard]] std::uint32_t open_track(std::string group, std::string name);

  /// One span on a track, times as `now()`.
  void span(std::uint32_t track, span_kind kind, const char* name, std::uint64_t begin_ns,
            std::uint64_t end_ns) noexcept;

  /// Counts an event without a place on the timeline, e.g. a kernel launch whose device time is
  /// unknown. Appears in the summary with duration 0.
  void count(span_kind kind, const char* name) noexcept;

  /// A copy of `name` that lives as long as the tracer.
  [[nodiscard]] const char* intern(std::string_view name);

  /// Totals by kind and name, in descending time.
  [[nodiscard]] std::vector<trace_total> totals() const;

  /// Writes Chrome's trace event format, which Perfetto reads; a rank adds its rows to the file of
  /// its job. @throws error naming the file
  void write(const std::string& file) const;
  /// The totals as an aligned text table; behind a line with the rank where there are several.
  [[nodiscard]] std::string summary() const;

 private:
  struct impl;
  std::atomic<bool> m_enabled{false};  // a switch that orders nothing
  std::unique_ptr<impl> m_impl;
};

}  // namespace starling
