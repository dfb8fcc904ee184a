// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <starling/device.hpp>

#include "placement/launch.hpp"
#include "placement/resident_memory.hpp"

namespace stars {

/// The lanes of a resident simulation, which share the work of its main stream: after the earlier
/// and before the later work of that stream. A single lane works in the main stream itself.
class lane_set {
 public:
  /// `batch`: sub-grids of a batch; `count`: all sub-grids. `main` must outlive the lanes.
  lane_set(std::size_t lanes, starling::device& where, starling::stream& main, int batch,
           const work_sizes& sizes, int count)
      : m_main(main), m_batch(batch), m_count(count), m_on_host(on_processor(where)) {
    for (std::size_t i = 0; i < lanes; ++i) m_lanes.emplace_back(where, batch, sizes);
  }

  [[nodiscard]] std::size_t size() const noexcept { return m_lanes.size(); }
  [[nodiscard]] starling::stream& stream(std::size_t i) { return m_lanes[i].stream; }
  /// Returns the lane's stream, or the main stream if there is one lane only.
  [[nodiscard]] starling::stream& stream_of(lane& l) {
    return m_lanes.size() == 1 ? m_main : l.stream;
  }

  /// Submits work in batches. `work(lane, first, n)` submits the operations for n sub-grids from
  /// `first` on; together they are those from `begin` to before `end`.
  template <class Work>
  void in_batches(int begin, int end, Work work) {
    if (begin >= end) return;
    in_lanes([&] {
      for (int first = begin; first < end; first += m_batch)
        work(lane_of(first), first, std::min(m_batch, end - first));
    });
  }
  /// Submits work on `count` links in equal shares, one for each lane: `work(stream, first, n)`.
  template <class Work>
  void in_shares(int count, Work work) {
    if (count == 0) return;
    const auto share = [&](std::size_t k) {
      return int(std::int64_t{count} * std::int64_t(k) / std::int64_t(m_lanes.size()));
    };
    in_lanes([&] {
      for (std::size_t k = 0; k < m_lanes.size(); ++k)
        if (share(k + 1) > share(k)) work(stream_of(m_lanes[k]), share(k), share(k + 1) - share(k));
    });
  }

 private:
  template <class Submit>
  void in_lanes(Submit submit_all) {
    if (m_lanes.size() == 1) return submit_all();
    const starling::event start = m_main.record();
    for (lane& l : m_lanes) l.stream.wait(start);
    submit_all();
    for (lane& l : m_lanes) m_main.wait(l.stream.record());
  }
  /// Returns the lane of a batch. On the host a worker runs a stream from begin to end: adjacent
  /// sub-grids, which read the same ghosts, are in one lane. A GPU runs all streams concurrently:
  /// batches take lanes in turn.
  [[nodiscard]] lane& lane_of(int first) {
    const auto lanes = std::ptrdiff_t(m_lanes.size());
    return m_lanes[std::size_t(m_on_host ? lanes * first / m_count : first / m_batch % lanes)];
  }

  starling::stream& m_main;
  int m_batch, m_count;
  bool m_on_host;
  std::vector<lane> m_lanes;
};

}  // namespace stars
