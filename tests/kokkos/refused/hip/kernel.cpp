// SPDX-License-Identifier: Apache-2.0
// Must not compile: the backend has no queue for HIP.
#include <starling/device/interop/kokkos_kernels.hpp>
