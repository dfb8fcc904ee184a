// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <starling/device/interop/sycl_kernels.hpp>

template struct starling::sycl::instantiate<starling::sycl::twice>;
template struct starling::sycl::instantiate<starling::sycl::count_threads>;
