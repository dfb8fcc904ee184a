// SPDX-License-Identifier: Apache-2.0
// The list of the test programs, each of which is compiled for several backends.
#pragma once

#include "beside_chares.hpp"
#include "channel_chares.hpp"
#include "collective_chares.hpp"
#include "failure_chares.hpp"
#include "group_chares.hpp"
#include "message_chares.hpp"
#include "pressure_chares.hpp"
#include "waiting_chares.hpp"

namespace starling_test {

/// Makes `Instantiate<Program>` enter the code of each program: a member `entered` that is used is
/// instantiated and initialized.
template <template <class> class Instantiate, class... Programs>
[[nodiscard]] bool enter_all() {
  return (Instantiate<Programs>::entered && ...);
}

/// Enters the programs that also run in groups of several blocks: those of `all_machines`.
template <template <class> class Instantiate>
[[nodiscard]] bool enter_wide_programs() {
  return enter_all<Instantiate, flood_program, parrot_program, courier_program, burst_program,
                   cell_program, patient_program, spreading_program, member_program, nomad_program,
                   link_program, clumsy_program, grouped_program>();
}

/// Enters all programs except `metronome_program`, which needs the kernel of beside.cu on devices.
template <template <class> class Instantiate>
[[nodiscard]] bool enter_programs() {
  return enter_wide_programs<Instantiate>() &&
         enter_all<Instantiate, storm_program, crowd_program, long_halo_program, orderly_program,
                   spinner_program, aligned_program>();
}

}  // namespace starling_test
