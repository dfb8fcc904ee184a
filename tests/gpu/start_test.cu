// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <starling/device/interop/cuda_kernels.cuh>

namespace starling::gpu_test {

namespace {

struct small_kernel {
  int number;
  __host__ __device__ void operator()(index3) const {}
};

/// Starts a call of `count` kernels by launches of which number `refused` fails; returns the sizes
/// of the launches. Needs no GPU: nothing is launched.
std::vector<std::size_t> sizes_of_launches(const starling::detail::kernel_call& call,
                                           std::size_t refused) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  std::vector<std::size_t> sizes;
  cuda::detail::start_all<small_kernel>(config, call, [&](const void*, std::size_t count) {
    if (sizes.size() == refused) return cudaErrorMemoryAllocation;
    sizes.push_back(count);
    return cudaSuccess;
  });
  return sizes;
}

TEST(starts_of_many_kernels, report_the_number_of_started_kernels_when_one_is_refused) {
  const std::vector<small_kernel> kernels(200);
  std::size_t started = 0;
  starling::detail::kernel_call call{};
  call.object = kernels.data();
  call.bytes = sizeof(small_kernel);
  call.count = kernels.size();
  call.started = &started;
  EXPECT_EQ(sizes_of_launches(call, 0).size(), 0u);
  EXPECT_EQ(started, 0u);
  EXPECT_EQ(sizes_of_launches(call, 2), (std::vector<std::size_t>{64, 64}));
  EXPECT_EQ(started, 128u);
  EXPECT_EQ(sizes_of_launches(call, 9), (std::vector<std::size_t>{64, 64, 64, 8}));
  EXPECT_EQ(started, 200u);
  call.started = nullptr;
  EXPECT_EQ(sizes_of_launches(call, 2).size(), 2u) << "also without a pointer for the count";
}

}  // namespace
}  // namespace starling::gpu_test
