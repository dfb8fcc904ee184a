// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling::detail {

/// Links the initialiser that prepares the environment of the SYCL runtime before main. It sets
/// each variable only if it is unset:
/// - OCL_ICD_FILENAMES: the OpenCL driver for processors in the folder of libsycl, where Python
///   wheels install both. The OpenCL loader of that folder, which reads the variable, is loaded
///   too. System drivers are still found.
/// - SYCL_CACHE_PERSISTENT=1: compiled kernels are kept on disk (SYCL_CACHE_DIR, else
///   ~/.cache/libsycl_cache), keyed by preprocessed source, options, device and driver.
/// - SYCL_QUEUE_THREAD_POOL_SIZE=16: threads for the host tasks of all queues. Host tasks also wait
///   for their dependencies on these threads; the runtime's default is one thread.
/// The runtime reads the variables once, at its first use.
void require_sycl_environment() noexcept;

}  // namespace starling::detail
