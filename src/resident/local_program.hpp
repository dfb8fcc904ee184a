// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <starling/resident/detail/session.hpp>

#include "driver.hpp"
#include "slab.hpp"

namespace starling::resident::detail {

/// A resident program on one rank: the memory and schedulers of the rank's devices. The local
/// programs of a program communicate by the slabs and the link only.
class local_program {
 public:
  /// Allocates the slabs of its own devices and writes their initial contents.
  /// @throws option_error, usage_error, out_of_memory
  local_program(runtime& rt, const program_description& program, join_request request);
  /// Waits for its schedulers and writes their trace to the runtime's timeline.
  ~local_program();
  local_program(const local_program&) = delete;
  local_program& operator=(const local_program&) = delete;

  /// Returns the names by which other ranks map its slabs, in the order of its devices.
  [[nodiscard]] std::vector<memory_name> names();
  /// Maps the slabs of other ranks. `slabs`: names for all devices of the program.
  void map(const std::vector<memory_name>& slabs);

  /// Starts its schedulers. @throws as driver::start
  void start();
  /// Returns whether all schedulers of the program have ended; on the first
  /// rank also whether the other ranks have stopped using the link. If one of its own devices is
  /// lost, reports it and ends the program. Must be called repeatedly: each call is a heartbeat of
  /// this rank.
  [[nodiscard]] bool is_over() noexcept;
  /// Returns whether a device was lost and scheduler 0, which ends all schedulers, no longer runs.
  [[nodiscard]] bool has_lost_the_first() const noexcept;
  /// Returns the sums of its schedulers' counts. Valid when `is_over`.
  [[nodiscard]] device_report report() const;
  /// Requests that all schedulers of the program end.
  void ask_for_end() noexcept;
  /// Ends its own schedulers only; then no other rank may access its memory. Blocks until they
  /// have ended.
  void abandon() noexcept;

  [[nodiscard]] driver& memory() noexcept { return *m_memory; }
  [[nodiscard]] const world& shared() const noexcept { return m_memory->shared(); }
  [[nodiscard]] const std::vector<array_info>& arrays() const noexcept { return m_plan.arrays(); }

 private:
  void tell_loss() noexcept;

  runtime* m_runtime;
  join_request m_request;
  program_description m_program;
  slab_plan m_plan;
  std::unique_ptr<driver> m_memory;
  bool m_has_started = false;
  bool m_has_told = false;  // has called `tell_loss`
  bool m_is_over = false;
  bool m_is_abandoned = false;
};

}  // namespace starling::resident::detail
