// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// Multiprocessors of a device: a green context.
class cuda_part : public backend_part {
 public:
  /// `level` as CUDA counts priorities. One call at a time. @throws device_error
  [[nodiscard]] virtual cudaStream_t make_stream(int level) const = 0;
};

/// At least `units` multiprocessors of device `number`, which is current, and the others.
/// @throws usage_error, device_error
[[nodiscard]] backend_parts divide_cuda_device(int number, const std::string& name, int units);

}  // namespace starling::detail
