// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// A multiprocessor partition of a device: a green context.
class cuda_partition : public backend_partition {
 public:
  /// Makes a stream of CUDA's priority `level`. One call at a time. @throws device_error
  [[nodiscard]] virtual cudaStream_t make_stream(int level) const = 0;
};

/// Splits device `number`, which must be current, into a partition of at least `units`
/// multiprocessors and the remainder. `name` is for errors. @throws usage_error, device_error
[[nodiscard]] backend_partitions divide_cuda_device(int number, const std::string& name, int units);

}  // namespace starling::detail
