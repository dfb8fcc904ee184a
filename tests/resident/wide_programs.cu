// SPDX-License-Identifier: Apache-2.0
// The programs of these tests for groups of several blocks, except those of pressure_test.cpp.
#include <starling/resident/interop/cuda_program.cuh>

#include "channel_chares.hpp"
#include "collective_chares.hpp"
#include "failure_chares.hpp"
#include "group_chares.hpp"
#include "message_chares.hpp"
#include "waiting_chares.hpp"

namespace starling::resident::cuda {

template struct instantiate<starling_test::flood_program, cluster_group, device_group>;
template struct instantiate<starling_test::parrot_program, cluster_group, device_group>;
template struct instantiate<starling_test::courier_program, cluster_group, device_group>;
template struct instantiate<starling_test::burst_program, cluster_group, device_group>;
template struct instantiate<starling_test::cell_program, cluster_group, device_group>;
template struct instantiate<starling_test::patient_program, cluster_group, device_group>;
template struct instantiate<starling_test::spreading_program, cluster_group, device_group>;
template struct instantiate<starling_test::member_program, cluster_group, device_group>;
template struct instantiate<starling_test::nomad_program, cluster_group, device_group>;
template struct instantiate<starling_test::link_program, cluster_group, device_group>;
template struct instantiate<starling_test::clumsy_program, cluster_group, device_group>;
template struct instantiate<starling_test::grouped_program, cluster_group, device_group>;

}  // namespace starling::resident::cuda
