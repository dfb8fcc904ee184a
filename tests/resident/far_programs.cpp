// SPDX-License-Identifier: Apache-2.0
// The programs of these tests for devices that do not map each other's memory.
#include <starling/resident/interop/host_far.hpp>

#include "beside_chares.hpp"
#include "channel_chares.hpp"
#include "collective_chares.hpp"
#include "failure_chares.hpp"
#include "group_chares.hpp"
#include "message_chares.hpp"
#include "pressure_chares.hpp"
#include "waiting_chares.hpp"

template struct starling::resident::host::instantiate_far<starling_test::flood_program>;
template struct starling::resident::host::instantiate_far<starling_test::parrot_program>;
template struct starling::resident::host::instantiate_far<starling_test::courier_program>;
template struct starling::resident::host::instantiate_far<starling_test::burst_program>;
template struct starling::resident::host::instantiate_far<starling_test::storm_program>;
template struct starling::resident::host::instantiate_far<starling_test::cell_program>;
template struct starling::resident::host::instantiate_far<starling_test::patient_program>;
template struct starling::resident::host::instantiate_far<starling_test::spreading_program>;
template struct starling::resident::host::instantiate_far<starling_test::member_program>;
template struct starling::resident::host::instantiate_far<starling_test::nomad_program>;
template struct starling::resident::host::instantiate_far<starling_test::link_program>;
template struct starling::resident::host::instantiate_far<starling_test::clumsy_program>;
template struct starling::resident::host::instantiate_far<starling_test::grouped_program>;
template struct starling::resident::host::instantiate_far<starling_test::crowd_program>;
template struct starling::resident::host::instantiate_far<starling_test::long_halo_program>;
template struct starling::resident::host::instantiate_far<starling_test::orderly_program>;
template struct starling::resident::host::instantiate_far<starling_test::spinner_program>;
template struct starling::resident::host::instantiate_far<starling_test::aligned_program>;
template struct starling::resident::host::instantiate_far<starling_test::metronome_program>;
