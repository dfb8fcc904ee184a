// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <starling/resident/detail/session.hpp>

#include "driver.hpp"
#include "slab.hpp"

namespace starling::resident::detail {

/// What one rank does for a resident program: memory and schedulers of its devices. Between them
/// the parts know each other by the slabs and the link alone.
class program_part {
 public:
  /// Makes the memory of its own devices and writes what is there before the start.
  /// @throws option_error, usage_error, out_of_memory
  program_part(runtime& rt, const program_description& program, part_request request);
  /// Waits for its schedulers; what they did is in the runtime's timeline then.
  ~program_part();
  program_part(const program_part&) = delete;
  program_part& operator=(const program_part&) = delete;

  /// What others map its own devices' slabs by, in order.
  [[nodiscard]] std::vector<memory_name> names();
  /// Those of all devices of the program.
  void map(const std::vector<memory_name>& slabs);

  /// Its schedulers run from now on. @throws as driver::start
  void start();
  /// Whether no scheduler of the program runs any more, and for the first part whether the others
  /// know it. Tells them when those of this part have not ended by themselves. To be asked again
  /// and again, which shows that this rank lives.
  [[nodiscard]] bool is_over() noexcept;
  /// Whether scheduler 0, which ends the others, has gone with its device.
  [[nodiscard]] bool has_lost_the_first() const noexcept;
  /// What its schedulers did; when it is over.
  [[nodiscard]] device_report report() const;
  /// Has all schedulers of the program end.
  void ask_for_end() noexcept;
  /// Ends its own without the others, which may not reach for its memory then. Blocks.
  void abandon() noexcept;

  [[nodiscard]] driver& memory() noexcept { return *m_memory; }
  [[nodiscard]] const driver& memory() const noexcept { return *m_memory; }
  [[nodiscard]] const world& shared() const noexcept { return m_memory->shared(); }
  [[nodiscard]] const std::vector<array_info>& arrays() const noexcept { return m_plan.arrays(); }

 private:
  void tell_loss() noexcept;

  runtime* m_runtime;
  part_request m_request;
  program_description m_program;
  slab_plan m_plan;
  std::unique_ptr<driver> m_memory;
  bool m_has_started = false;
  bool m_has_told = false;  // of a loss
  bool m_is_over = false;
  bool m_is_abandoned = false;
};

/// What `program_part` of another rank says has failed there; empty: nothing.
[[nodiscard]] std::string loss_of(const host_link& link);

}  // namespace starling::resident::detail
