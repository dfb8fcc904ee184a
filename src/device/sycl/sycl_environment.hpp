// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Has the effect that this program prepares the environment of the SYCL runtime before main, each
/// variable only if unset:
/// - OCL_ICD_FILENAMES: the OpenCL driver for processors that lies beside libsycl, as it does where
///   both were installed as Python wheels, and the OpenCL loader from there, which heeds it.
///   System drivers are found besides, as always.
/// - SYCL_CACHE_PERSISTENT=1: compiled kernels are kept on disk (SYCL_CACHE_DIR, else
///   ~/.cache/libsycl_cache), keyed by preprocessed source, options, device and driver.
/// - SYCL_QUEUE_THREAD_POOL_SIZE=16: threads for the host tasks of all queues, which also wait
/// there
///   for what they depend on; the runtime's own choice is one.
/// The runtime reads them at its first use and never again.
void require_sycl_environment() noexcept;

}  // namespace starling::detail
