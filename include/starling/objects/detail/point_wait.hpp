// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

class chare_core;
struct local_elements;

/// A coroutine of a chare that waits at a point where the chare may migrate. Stored in its frame.
struct point_wait : described_wait {
  chare_core* chare = nullptr;
  promise_base* waiting = nullptr;
  const char* what = "";       // name of the call
  std::uint32_t slot = 0;      // in local_elements::at_point, until the wait is released
  std::uint32_t round = 0;     // number of the reduction by which the elements come together
  bool is_checkpoint = false;  // the point is a checkpoint
  bool is_released = false;    // the chare may migrate now
  bool is_over = false;        // the wait has ended as it should
  bool is_ended = false;       // the chare is being destroyed

  /// Adds the wait to those of the chare's worker, which end together. @throws usage_error when
  /// another coroutine of the chare waits there
  void enlist();
  [[nodiscard]] bool withdraw() noexcept;
  /// @throws operation_cancelled, hang_error when the wait ended otherwise
  void check() const;
};

/// Ends the waits of one round on a worker and returns them by slot; null: there is none. On that
/// worker. The caller lets each chare leave the point.
[[nodiscard]] std::vector<point_wait*> release_round(local_elements& local, std::uint32_t round);

}  // namespace starling::detail
