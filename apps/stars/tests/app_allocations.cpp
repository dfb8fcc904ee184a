// SPDX-License-Identifier: Apache-2.0
#include "tests/app_allocations.hpp"

#include <atomic>
#include <cstdlib>

#include "support/replaced_new.hpp"

namespace {

/// The size of the largest allocation. Relaxed: a maximum, which publishes no data.
constinit std::atomic<std::size_t> largest_allocation{0};

void record(std::size_t bytes) noexcept {
  std::size_t before = largest_allocation.load(std::memory_order_relaxed);
  while (before < bytes &&
         !largest_allocation.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

}  // namespace

namespace stars::test {

allocation_record::allocation_record() noexcept {
  largest_allocation.store(0, std::memory_order_relaxed);
}
std::size_t allocation_record::largest() const noexcept {
  return largest_allocation.load(std::memory_order_relaxed);
}

}  // namespace stars::test

void* starling::memory_for_new(std::size_t bytes) noexcept {
  record(bytes);
  return std::malloc(bytes);
}
