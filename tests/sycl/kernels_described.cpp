// SPDX-License-Identifier: Apache-2.0
#include <facts.hpp>

#include <starling/device/interop/sycl_kernels.hpp>

template struct starling::sycl::instantiate<starling::sycl::list_facts>;
