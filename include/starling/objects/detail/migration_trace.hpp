// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/core/trace.hpp>

/// Migrations and balancings in the timeline.
namespace starling::detail {

class chare_core;
struct location;

/// The tracks of a rank's workers for migrations: group "migrations" of the timeline.
class migration_trace {
 public:
  explicit migration_trace(runtime& owner) : m_tracer(owner.tracer()) {}

  /// Thread-safe.
  [[nodiscard]] bool is_on() const noexcept { return m_tracer.enabled(); }
  /// Sets the number of workers. Before any other thread uses this object.
  void prepare(std::size_t workers) { m_tracks.resize(workers); }
  /// Records a span on the track of the calling worker. Without memory it is lost.
  void add(detailed_span recorded) noexcept;

 private:
  tracer& m_tracer;
  std::vector<std::optional<std::uint32_t>> m_tracks;  // each accessed by its worker only
};

/// Records the departure of an element as a span from the construction of this object to its
/// destruction, the tail of an arrow that ends at the arrival. A departure that ends by an
/// exception did not take place.
class traced_departure {
 public:
  /// `next`: where the element will be. On the element's worker.
  traced_departure(chare_core& leaving, const location& next);
  ~traced_departure();
  traced_departure(const traced_departure&) = delete;
  traced_departure& operator=(const traced_departure&) = delete;

 private:
  void begin(chare_core& leaving, const location& next);

  migration_trace* m_to = nullptr;        // null: not recorded
  std::unique_ptr<detailed_span> m_span;  // the element may be gone when it ends
  int m_exceptions = 0;
};

/// Records the arrival of an element at `now`. On the element's worker, if the timeline is on.
void trace_arrival(chare_core& arrived, const location& now) noexcept;

}  // namespace starling::detail
