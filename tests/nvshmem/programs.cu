// SPDX-License-Identifier: Apache-2.0
// The programs of the tests of resident programs for devices that reach each other by NVSHMEM.
#include <starling/resident/interop/nvshmem_program.cuh>

#include "resident/beside_chares.hpp"
#include "resident/channel_chares.hpp"
#include "resident/collective_chares.hpp"
#include "resident/failure_chares.hpp"
#include "resident/group_chares.hpp"
#include "resident/message_chares.hpp"
#include "resident/pressure_chares.hpp"
#include "resident/waiting_chares.hpp"

template struct starling::resident::nvshmem::instantiate<starling_test::flood_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::parrot_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::courier_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::burst_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::storm_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::cell_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::patient_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::spreading_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::member_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::nomad_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::link_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::clumsy_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::grouped_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::crowd_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::long_halo_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::orderly_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::spinner_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::aligned_program>;
template struct starling::resident::nvshmem::instantiate<starling_test::metronome_program>;
