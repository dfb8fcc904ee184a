// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace starling {

/// Kind of a span in the timeline; each kind has its own section in the summary table.
enum class span_kind : std::uint8_t {
  task,
  kernel,
  copy,
  message,
  idle,
  migration,
  balancing,
  user
};

/// A span that the timeline shows with details and, if it is one end of an arrow, with that arrow.
struct detailed_span {
  enum class arrow_end : std::uint8_t { none, tail, head };

  span_kind kind = span_kind::user;
  std::string name;   ///< in the timeline
  std::string total;  ///< name of the row in the summary, which counts all spans with this name
  std::uint64_t begin_ns = 0;  ///< time of `tracer::now()`, as the end
  std::uint64_t end_ns = 0;
  std::vector<std::pair<std::string, std::variant<double, std::string>>> details;
  arrow_end end = arrow_end::none;
  /// Number of the arrow, the same at both ends, which may be spans of different ranks. Tail and
  /// head of an arrow have spans of one kind.
  std::uint64_t arrow = 0;
};

/// A row of the summary: spans of one name.
struct trace_total {
  span_kind kind;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
};

/// Collects the spans of a runtime on tracks: of workers, of device streams, and of modules.
///
/// Recording is thread-safe and costs a clock reading and an append; while disabled it costs a
/// branch on `enabled()`. Names must outlive the tracer (string literals, or `intern`).
class tracer {
 public:
  tracer();
  ~tracer();
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;

  [[nodiscard]] bool enabled() const noexcept { return m_enabled.load(std::memory_order_relaxed); }
  /// Enables recording. Workers check only when their runtime starts: set the option for tasks.
  void enable() noexcept { m_enabled.store(true, std::memory_order_relaxed); }

  /// Returns the time of the steady clock in ns.
  [[nodiscard]] static std::uint64_t now() noexcept;

  /// Opens a track of the timeline, e.g. group "workers" or "device 0", name "worker 3".
  [[nodiscard]] std::uint32_t open_track(std::string group, std::string name);

  /// Records a span on a track, with times of `now()`.
  void span(std::uint32_t track, span_kind kind, const char* name, std::uint64_t begin_ns,
            std::uint64_t end_ns) noexcept;

  /// Records a span with details. It takes more time and memory than a span without.
  void span(std::uint32_t track, detailed_span recorded) noexcept;

  /// Counts an event without a place on the timeline, e.g. a kernel launch whose device time is
  /// unknown. Appears in the summary with duration 0.
  void count(span_kind kind, const char* name) noexcept;

  /// Returns a copy of `name` that exists as long as the tracer.
  [[nodiscard]] const char* intern(std::string_view name);

  /// Returns the totals for each kind and name, ordered by kind, then by descending time.
  [[nodiscard]] std::vector<trace_total> totals() const;

  /// Writes Chrome's trace event format, which Perfetto reads; a rank adds its tracks to the file
  /// of its job. @throws error naming the file
  void write(const std::string& file) const;
  /// Returns the totals as an aligned text table, after a line with the rank if there are several.
  [[nodiscard]] std::string summary() const;

 private:
  struct impl;
  std::atomic<bool> m_enabled{false};  // relaxed: publishes no data
  std::unique_ptr<impl> m_impl;
};

}  // namespace starling
