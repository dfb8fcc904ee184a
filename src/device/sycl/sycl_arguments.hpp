// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <sycl/sycl.hpp>

namespace starling::detail {

/// Memory for the argument blocks of a stream's launches: host memory that the device reads. Slabs
/// are filled one after the other. A full slab is reused when all work that was submitted before
/// the change to the next slab is over. One submitter at a time.
class sycl_arguments {
 public:
  explicit sycl_arguments(::sycl::queue work) : m_queue(std::move(work)) {}
  ~sycl_arguments();
  sycl_arguments(const sycl_arguments&) = delete;
  sycl_arguments& operator=(const sycl_arguments&) = delete;

  /// Returns a copy of `bytes`, valid until the next submitted work is over. @throws out_of_memory
  [[nodiscard]] const void* keep(const void* objects, std::size_t bytes);

 private:
  struct slab {
    std::byte* memory;
    std::size_t size;
    ::sycl::event left;  // complete when the contents are no longer needed
  };
  void turn_over(std::size_t bytes);

  ::sycl::queue m_queue;
  std::vector<slab> m_slabs;  // the last slab is being filled
  std::size_t m_used = 0;     // bytes used of the last slab
};

}  // namespace starling::detail
