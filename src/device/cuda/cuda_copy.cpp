// SPDX-License-Identifier: Apache-2.0
#include "cuda_copy.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "../transfers.hpp"
#include "cuda_error.hpp"

namespace starling::detail {

namespace {

constexpr std::size_t most = most_of_copy_batch;

struct call_result {
  cudaError_t result;
  const char* call;
};

call_result copy_each(cudaStream_t stream, std::span<const transfer> list) noexcept {
  call_result done{cudaSuccess, "cudaMemcpyAsync"};
  // cudaMemcpyDefault: the driver derives the locations from the addresses, also on other devices.
  for (const transfer& t : list) {
    done.result = cudaMemcpyAsync(t.dst, t.src, t.bytes, cudaMemcpyDefault, stream);
    if (done.result != cudaSuccess) break;
  }
  return done;
}

call_result copy_all(cudaStream_t stream, std::span<const transfer> list, bool may_batch) noexcept {
  // False after the driver has refused a batch. Relaxed: publishes no data.
  static std::atomic<bool> batches{true};
  if (!may_batch || list.size() == 1 || !batches.load(std::memory_order_relaxed))
    return copy_each(stream, list);
  const call_result done{start_copy_batch(stream, list), "cudaMemcpyBatchAsync"};
  if (done.result != cudaErrorNotSupported && done.result != cudaErrorCallRequiresNewerDriver)
    return done;
  forget_cuda_error();
  batches.store(false, std::memory_order_relaxed);
  return copy_each(stream, list);
}

void queue_some(cudaStream_t stream, std::span<const transfer> list, bool may_batch) {
  std::array<transfer, most> merged;
  std::ranges::copy(list, merged.begin());
  const std::size_t left = merge_adjacent({merged.data(), list.size()});
  call_result done = copy_all(stream, {merged.data(), left}, may_batch);
  if (done.result == cudaErrorInvalidValue && list.size() > 1) {
    // The driver refuses a merged transfer over two allocations, and batches with some kinds of
    // memory. Transfers queued before the refusal are repeated.
    forget_cuda_error();
    done = copy_each(stream, list);
  }
  check(done.result, done.call);
}

}  // namespace

void queue_copies(cudaStream_t stream, std::span<const transfer> transfers, bool may_batch) {
  for (; transfers.size() > most; transfers = transfers.subspan(most))
    queue_some(stream, transfers.first(most), may_batch);
  queue_some(stream, transfers, may_batch);
}

}  // namespace starling::detail
