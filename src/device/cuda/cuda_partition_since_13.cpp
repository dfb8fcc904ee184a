// SPDX-License-Identifier: Apache-2.0
#include "cuda_partition.hpp"

#include <utility>

#include <cuda.h>

#include <starling/core/error.hpp>

#include "cuda_driver.hpp"
#include "cuda_error.hpp"

namespace starling::detail {

namespace {

/// Finds a driver function in the version whose structures the included header declares.
template <class Function>
Function find(const char* name) noexcept {
  return find_driver_function<Function>(name, CUDA_VERSION);
}

/// The driver's functions for green contexts; null if the driver lacks them.
struct green_calls {
  decltype(&cuDeviceGet) device = find<decltype(device)>("cuDeviceGet");
  decltype(&cuDeviceGetDevResource) units = find<decltype(units)>("cuDeviceGetDevResource");
  decltype(&cuDevSmResourceSplitByCount) split =
      find<decltype(split)>("cuDevSmResourceSplitByCount");
  decltype(&cuDevResourceGenerateDesc) describe =
      find<decltype(describe)>("cuDevResourceGenerateDesc");
  decltype(&cuGreenCtxCreate) create = find<decltype(create)>("cuGreenCtxCreate");
  decltype(&cuGreenCtxDestroy) destroy = find<decltype(destroy)>("cuGreenCtxDestroy");
  decltype(&cuGreenCtxStreamCreate) make_stream =
      find<decltype(make_stream)>("cuGreenCtxStreamCreate");

  [[nodiscard]] bool are_all() const noexcept {
    return device != nullptr && units != nullptr && split != nullptr && describe != nullptr &&
           create != nullptr && destroy != nullptr && make_stream != nullptr;
  }
  static const green_calls& get() {
    static const green_calls found;
    return found;
  }
};

/// Throws for a failed driver call. Driver and runtime use the same error numbers.
void check_driver(CUresult result, const char* call) {
  check(static_cast<cudaError_t>(result), call);
}

class green_context final : public cuda_partition {
 public:
  green_context(CUdevice device, CUdevResource units)
      : m_units(static_cast<int>(units.sm.smCount)) {
    const green_calls& driver = green_calls::get();
    CUdevResourceDesc what = nullptr;
    check_driver(driver.describe(&what, &units, 1), "cuDevResourceGenerateDesc");
    check_driver(driver.create(&m_context, what, device, CU_GREEN_CTX_DEFAULT_STREAM),
                 "cuGreenCtxCreate");
  }
  ~green_context() override {
    // Ignored: this call fails only on a lost device, whose error is reported elsewhere.
    if (green_calls::get().destroy(m_context) != CUDA_SUCCESS) forget_cuda_error();
  }
  green_context(const green_context&) = delete;
  green_context& operator=(const green_context&) = delete;

  [[nodiscard]] int compute_units() const noexcept override { return m_units; }
  [[nodiscard]] cudaStream_t make_stream(int level) const override {
    CUstream made = nullptr;
    check_driver(green_calls::get().make_stream(&made, m_context, CU_STREAM_NON_BLOCKING, level),
                 "cuGreenCtxStreamCreate");
    return made;
  }

 private:
  int m_units;
  CUgreenCtx m_context = nullptr;
};

usage_error refusal(const std::string& name, int units, const CUdevResource& all) {
  return usage_error("device " + name + " cannot be divided into " + std::to_string(units) +
                     " multiprocessors and a remainder: it has " + std::to_string(all.sm.smCount) +
                     ", of which a part gets at least " +
                     std::to_string(all.sm.minSmPartitionSize) + ", in steps of " +
                     std::to_string(all.sm.smCoscheduledAlignment) +
                     ", and some must be left. Ask for fewer");
}

}  // namespace

backend_partitions divide_cuda_device(int number, const std::string& name, int units) {
  const green_calls& driver = green_calls::get();
  if (!driver.are_all())
    throw usage_error("device " + name +
                      " cannot be divided: its driver has no green contexts, which came with CUDA "
                      "12.4. Update it, or limit the blocks of kernels that share the device");
  CUdevice device = 0;
  CUdevResource all{}, chosen{}, remainder{};
  check_driver(driver.device(&device, number), "cuDeviceGet");
  check_driver(driver.units(device, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  if (units < 1 || std::cmp_greater_equal(units, all.sm.smCount)) throw refusal(name, units, all);
  unsigned int groups = 1;
  const CUresult result =
      driver.split(&chosen, &groups, &all, &remainder, 0, static_cast<unsigned int>(units));
  if (result == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION) throw refusal(name, units, all);
  check_driver(result, "cuDevSmResourceSplitByCount");
  const bool is_whole =
      groups == 1 && remainder.type == CU_DEV_RESOURCE_TYPE_SM && remainder.sm.smCount != 0;
  if (!is_whole) throw refusal(name, units, all);
  backend_partitions made;
  made.chosen = std::make_unique<green_context>(device, chosen);
  made.remainder = std::make_unique<green_context>(device, remainder);
  return made;
}

}  // namespace starling::detail
