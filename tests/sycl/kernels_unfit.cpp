// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <starling/device/interop/sycl_kernels.hpp>

// Like a header that only a host compiler can read.
#ifdef __SYCL_DEVICE_ONLY__
#  error for processors only
#endif

template struct starling::sycl::instantiate<starling::sycl::host_only>;
