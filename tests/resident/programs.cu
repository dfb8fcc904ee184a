// SPDX-License-Identifier: Apache-2.0
// The programs of these tests for CUDA devices.
#include <starling/resident/interop/cuda_program.cuh>

#include "channel_chares.hpp"
#include "collective_chares.hpp"
#include "failure_chares.hpp"
#include "group_chares.hpp"
#include "message_chares.hpp"
#include "pressure_chares.hpp"
#include "waiting_chares.hpp"

template struct starling::resident::cuda::instantiate<starling_test::flood_program>;
template struct starling::resident::cuda::instantiate<starling_test::parrot_program>;
template struct starling::resident::cuda::instantiate<starling_test::courier_program>;
template struct starling::resident::cuda::instantiate<starling_test::burst_program>;
template struct starling::resident::cuda::instantiate<starling_test::storm_program>;
template struct starling::resident::cuda::instantiate<starling_test::cell_program>;
template struct starling::resident::cuda::instantiate<starling_test::patient_program>;
template struct starling::resident::cuda::instantiate<starling_test::spreading_program>;
template struct starling::resident::cuda::instantiate<starling_test::member_program>;
template struct starling::resident::cuda::instantiate<starling_test::nomad_program>;
template struct starling::resident::cuda::instantiate<starling_test::link_program>;
template struct starling::resident::cuda::instantiate<starling_test::clumsy_program>;
template struct starling::resident::cuda::instantiate<starling_test::grouped_program>;
template struct starling::resident::cuda::instantiate<starling_test::crowd_program>;
template struct starling::resident::cuda::instantiate<starling_test::long_halo_program>;
template struct starling::resident::cuda::instantiate<starling_test::orderly_program>;
template struct starling::resident::cuda::instantiate<starling_test::spinner_program>;
template struct starling::resident::cuda::instantiate<starling_test::aligned_program>;
