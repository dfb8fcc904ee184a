// SPDX-License-Identifier: Apache-2.0
/// \file
/// How leaves are divided among the parts of a domain, and what that has done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stars {

/// The weight of a leaf where the domain is divided.
enum class balance_kind : std::uint8_t {
  none,  ///< all leaves weigh the same
  time   ///< the measured time of the part that had the leaf, on host or device, over its leaves
};
constexpr const char* name_of(balance_kind how) {
  return how == balance_kind::none ? "none" : "time";
}

struct balance_options {
  balance_kind kind = balance_kind::time;
  /// For tests: seconds of the parts instead of measured ones, in turn, one place further with each
  /// division; empty: none.
  std::vector<double> artificial;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, artificial);
  }
};

/// What the division by measured time has done. An imbalance is the time of the slowest part over
/// the mean of all parts.
struct balance_record {
  int intervals = 0;   ///< that were measured
  double first = 0.0;  ///< imbalance of the first interval, with parts of equal size
  double last = 0.0;   ///< of the last interval
  long moved = 0;      ///< leaves that came to another part, also because the tree changed

  /// Adds an interval and the leaves that were moved after it. `imbalance` 0: not measured.
  void add(double imbalance, int leaves) {
    moved += leaves;
    if (imbalance == 0.0) return;
    if (intervals++ == 0) first = imbalance;
    last = imbalance;
  }
};

/// When parts of a mesh that does not change are divided again: after `interval` steps, and twice
/// as late each time that nothing was moved, up to 64 intervals.
class rebalance_schedule {
 public:
  rebalance_schedule(long first_step, long interval)
      : m_interval(interval), m_wait(interval), m_next(first_step + interval) {}

  [[nodiscard]] bool is_due(long step) const { return step >= m_next; }
  /// Called when it was due at `step`. `moved`: leaves were moved.
  void done(long step, bool moved) {
    m_wait = moved ? m_interval : std::min(2 * m_wait, 64 * m_interval);
    m_next = step + m_wait;
  }

 private:
  long m_interval, m_wait, m_next;
};

}  // namespace stars
