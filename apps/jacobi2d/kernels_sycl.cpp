// SPDX-License-Identifier: Apache-2.0
// The kernels of Jacobi's method in two dimensions for SYCL devices, one line each.
#include <starling/device/interop/sycl_kernels.hpp>

#include "physics/initial.hpp"
#include "physics/reduction.hpp"
#include "physics/update.hpp"

template struct starling::sycl::instantiate<jacobi2d::update>;
template struct starling::sycl::instantiate<jacobi2d::fill_initial>;
template struct starling::sycl::instantiate<jacobi2d::difference>;
template struct starling::sycl::instantiate<jacobi2d::checksum>;
template struct starling::sycl::instantiate<jacobi2d::mode_error>;
template struct starling::sycl::instantiate<jacobi2d::reduce_largest>;
template struct starling::sycl::instantiate<jacobi2d::reduce_sum>;
