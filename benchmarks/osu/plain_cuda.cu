// SPDX-License-Identifier: Apache-2.0
#include "plain_cuda.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace osu {
namespace {

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}

}  // namespace

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

struct peer_copies::end {
  int device = 0;
  std::byte* out = nullptr;
  std::byte* in = nullptr;
  cudaStream_t stream = nullptr;  // of the copies that this end sends
};

peer_copies::peer_copies(std::size_t bytes, int window)
    : m_ends(new end[2]), m_bytes(std::max<std::size_t>(bytes, 1)), m_window(window) {
  const int devices = cuda_device_count();
  for (int i = 0; i < 2; ++i) {
    end& e = m_ends[i];
    e.device = i % devices;
    check(cudaSetDevice(e.device), "cudaSetDevice");
    check(cudaMalloc(&e.out, m_bytes * std::size_t(window)), "cudaMalloc");
    check(cudaMalloc(&e.in, m_bytes * std::size_t(window)), "cudaMalloc");
    check(cudaStreamCreateWithFlags(&e.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    const int other = 1 - e.device;
    if (devices > 1 && cudaDeviceEnablePeerAccess(other, 0) != cudaSuccess)
      static_cast<void>(cudaGetLastError());  // already enabled, or copies pass through the host
  }
}

peer_copies::~peer_copies() {
  for (int i = 0; i < 2; ++i) {
    end& e = m_ends[i];
    static_cast<void>(cudaSetDevice(e.device));
    static_cast<void>(cudaStreamDestroy(e.stream));
    static_cast<void>(cudaFree(e.out));
    static_cast<void>(cudaFree(e.in));
  }
}

void peer_copies::write(int from, int slot, std::span<const std::byte> bytes) {
  check(cudaSetDevice(m_ends[from].device), "cudaSetDevice");
  check(cudaMemcpy(m_ends[from].out + std::size_t(slot) * m_bytes, bytes.data(), bytes.size(),
                   cudaMemcpyDefault),
        "cudaMemcpy");
  // A copy from pageable memory may still be in progress.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void peer_copies::read(int to, int slot, std::span<std::byte> bytes) {
  check(cudaMemcpy(bytes.data(), m_ends[to].in + std::size_t(slot) * m_bytes, bytes.size(),
                   cudaMemcpyDefault),
        "cudaMemcpy");
}

void peer_copies::copy(int from, int slot) {
  const end& a = m_ends[from];
  const end& b = m_ends[1 - from];
  const std::size_t at = std::size_t(slot) * m_bytes;
  check(cudaMemcpyPeerAsync(b.in + at, b.device, a.out + at, a.device, m_bytes, a.stream),
        "cudaMemcpyPeerAsync");
}

void peer_copies::wait(int from) {
  check(cudaStreamSynchronize(m_ends[from].stream), "cudaStreamSynchronize");
}

void peer_copies::to_and_fro(int rounds) {
  for (int r = 0; r < rounds; ++r)
    for (int from = 0; from < 2; ++from) {
      copy(from, 0);
      wait(from);
    }
}

void peer_copies::windows(int rounds, bool both) {
  for (int r = 0; r < rounds; ++r) {
    for (int slot = 0; slot < m_window; ++slot)
      for (int from = 0; from <= int(both); ++from) copy(from, slot);
    for (int from = 0; from <= int(both); ++from) wait(from);
  }
}

}  // namespace osu
