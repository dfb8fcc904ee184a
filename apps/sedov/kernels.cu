// SPDX-License-Identifier: Apache-2.0
// The kernels of the blast wave for CUDA devices, one line each.
#include <starling/device/interop/cuda_kernels.cuh>

#include "physics/fused_primitives.hpp"
#include "physics/ghosts.hpp"
#include "physics/halo.hpp"
#include "physics/line_flux.hpp"
#include "physics/slab_reconstruction.hpp"
#include "physics/stage.hpp"
#include "physics/time_step.hpp"
#include "physics/update.hpp"

template struct starling::cuda::instantiate<sedov::discontinuity_1>;
template struct starling::cuda::instantiate<sedov::discontinuity_2>;
template struct starling::cuda::instantiate<sedov::pre_reconstruction>;
template struct starling::cuda::instantiate<sedov::reconstruction>;
template struct starling::cuda::instantiate<sedov::slab_reconstruction>;
template struct starling::cuda::instantiate<sedov::line_flux>;
template struct starling::cuda::instantiate<sedov::flux>;
template struct starling::cuda::instantiate<sedov::ghost_fill>;
template struct starling::cuda::instantiate<sedov::pack_halo>;
template struct starling::cuda::instantiate<sedov::unpack_halo>;
template struct starling::cuda::instantiate<sedov::fused_primitives>;
template struct starling::cuda::instantiate<sedov::divergence>;
template struct starling::cuda::instantiate<sedov::outflow_rate>;
template struct starling::cuda::instantiate<sedov::outflow_update>;
template struct starling::cuda::instantiate<sedov::unless_fault<sedov::update>>;
template struct starling::cuda::instantiate<sedov::unless_fault<sedov::apply_floors>>;
template struct starling::cuda::instantiate<sedov::unless_fault<sedov::find_fault>>;
template struct starling::cuda::instantiate<sedov::reduce_max>;
template struct starling::cuda::instantiate<sedov::group_max>;
template struct starling::cuda::instantiate<sedov::time_step>;
template struct starling::cuda::instantiate<sedov::unless_fault<sedov::synchronize_tau>>;
template struct starling::cuda::instantiate<sedov::unless_fault<sedov::end_step>>;
