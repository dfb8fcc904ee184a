// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <cub/device/device_reduce.cuh>
#include <starling/device/interop/cuda_kernels.cuh>

#include "kernels.hpp"

template struct starling::cuda::instantiate<starling::gpu_test::visit_some>;
template struct starling::cuda::instantiate<starling::gpu_test::visit_some_narrow>;
template struct starling::cuda::instantiate<starling::gpu_test::affine>;
template struct starling::cuda::instantiate<starling::gpu_test::visit>;
template struct starling::cuda::instantiate<starling::gpu_test::store_to_nowhere>;
template struct starling::cuda::instantiate<starling::gpu_test::reverse_in_scratch>;

namespace starling::gpu_test {

namespace {

void require(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

__global__ void twice(std::uint64_t* a, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) a[i] *= 2;
}

}  // namespace

void double_by_hand(cuda::native_stream s, std::uint64_t* a, int count) {
  twice<<<(count + 127) / 128, 128, 0, s>>>(a, count);
  require(cudaGetLastError());
}

std::size_t sum_by_library(cuda::native_stream s, const std::uint64_t* in, std::uint64_t* out,
                           int count, void* workspace, std::size_t bytes) {
  require(cub::DeviceReduce::Sum(workspace, bytes, in, out, count, s));
  return bytes;
}

cuda::native_stream make_native_stream() {
  cudaStream_t s = nullptr;
  require(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return s;
}

void destroy(cuda::native_stream s) { require(cudaStreamDestroy(s)); }

cuda::native_event record_native_event(cuda::native_stream s) {
  cudaEvent_t e = nullptr;
  require(cudaEventCreate(&e));
  require(cudaEventRecord(e, s));
  return e;
}

void destroy(cuda::native_event e) { require(cudaEventDestroy(e)); }

int priority_of(cuda::native_stream s) {
  int found = 0;
  require(cudaStreamGetPriority(s, &found));
  return found;
}

int current_device() {
  int device = -1;
  require(cudaGetDevice(&device));
  return device;
}

}  // namespace starling::gpu_test
