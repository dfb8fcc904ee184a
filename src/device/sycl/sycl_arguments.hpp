// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <sycl/sycl.hpp>

namespace starling::detail {

/// Memory for the argument blocks of a stream's launches: host memory that the device reads.
/// Filled front to back, slab by slab; a slab is used again when the work submitted before it was
/// left is over. One submitter at a time.
class sycl_arguments {
 public:
  explicit sycl_arguments(::sycl::queue work) : m_queue(std::move(work)) {}
  ~sycl_arguments();
  sycl_arguments(const sycl_arguments&) = delete;
  sycl_arguments& operator=(const sycl_arguments&) = delete;

  /// A copy of `bytes` that stays until what is submitted next is over. @throws out_of_memory
  [[nodiscard]] const void* keep(const void* objects, std::size_t bytes);

 private:
  struct slab {
    std::byte* memory;
    std::size_t size;
    ::sycl::event left;  // complete when its contents are needed no more
  };
  void turn_over(std::size_t bytes);

  ::sycl::queue m_queue;
  std::vector<slab> m_slabs;  // the one being filled is the last
  std::size_t m_used = 0;     // bytes of it
};

}  // namespace starling::detail
