// SPDX-License-Identifier: Apache-2.0
// The kernels of gravity for SYCL devices, one line each.
#include <starling/device/interop/sycl_kernels.hpp>

#include "gravity/grouped_fields.hpp"

template struct starling::sycl::instantiate<stars::sum_moments>;
template struct starling::sycl::instantiate<stars::far_field>;
template struct starling::sycl::instantiate<stars::inherit>;
template struct starling::sycl::instantiate<stars::finish_leaves>;
template struct starling::sycl::instantiate<stars::find_masses>;
template struct starling::sycl::instantiate<stars::near_field>;
template struct starling::sycl::instantiate<stars::beside_finer>;
template struct starling::sycl::instantiate<stars::beside_coarser>;
template struct starling::sycl::instantiate<stars::grouped_far_field>;
template struct starling::sycl::instantiate<stars::grouped_near_field<2>>;
template struct starling::sycl::instantiate<stars::grouped_near_field<3>>;
template struct starling::sycl::instantiate<stars::grouped_near_field<1>>;
