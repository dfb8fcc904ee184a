// SPDX-License-Identifier: Apache-2.0
// Kernels for the processor only: they throw or wait, or their other form is CUDA code.
#include "busy_stream.hpp"
#include "failing_kernel.hpp"
#include "kernels.hpp"

#include <starling/device/interop/kokkos_kernels.hpp>

template struct starling::kokkos::instantiate<starling::contract::fails_at>;
template struct starling::kokkos::instantiate<starling::contract::fails_if>;
template struct starling::kokkos::instantiate<starling::contract::hold_on_host>;
template struct starling::kokkos::instantiate<starling::contract::sum_by_hand>;
