// SPDX-License-Identifier: Apache-2.0
#include <starling/core/error.hpp>

#include "cuda_partition.hpp"

/// Replaces multiprocessor partitions in a build with a CUDA toolkit before 13.
namespace starling::detail {

backend_partitions divide_cuda_device(int, const std::string& name, int) {
  throw usage_error("device " + name +
                    " cannot be divided: this program was built with a CUDA toolkit before 13, "
                    "whose green contexts make no streams with priorities");
}

}  // namespace starling::detail
