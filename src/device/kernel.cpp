// SPDX-License-Identifier: Apache-2.0
#include <starling/device/kernel.hpp>

#include <cstdlib>
#include <new>
#include <string>

#include <starling/core/detail/demangle.hpp>
#include <starling/device/detail/host_launch.hpp>

#include "backend.hpp"

namespace starling {

const char* to_string(backend_kind kind) noexcept {
  constexpr const char* names[] = {"host", "CUDA", "SYCL", "Kokkos"};
  return names[static_cast<std::size_t>(kind)];
}

const char* to_string(memory_kind kind) noexcept {
  constexpr const char* names[] = {"host", "pinned", "device"};
  return names[static_cast<std::size_t>(kind)];
}

const char* to_string(completion_kind kind) noexcept {
  constexpr const char* names[] = {"word", "event", "callback", "block"};
  return names[static_cast<std::size_t>(kind)];
}

namespace detail {

const char* kernel_entry::name() noexcept {
  if (given_name != nullptr) return given_name;
  // Acquire pairs with the release below, so that the text is complete when the pointer is read.
  if (const char* known = demangled.load(std::memory_order_acquire)) return known;
  char* readable = demangled_copy(type->name());
  if (readable == nullptr) return type->name();
  const char* expected = nullptr;
  if (demangled.compare_exchange_strong(expected, readable, std::memory_order_acq_rel))
    return readable;
  std::free(readable);  // another thread has stored the name first
  return expected;
}

std::string missing_launcher(kernel_entry& entry, backend_kind backend) {
  struct place {
    const char* file;
    const char* header;
    const char* scope;
  };
  constexpr place places[] = {{"", "", ""},
                              {"a .cu file", "cuda_kernels.cuh", "cuda"},
                              {"a source file", "sycl_kernels.hpp", "sycl"},
                              {"a source file", "kokkos_kernels.hpp", "kokkos"}};
  const place& at = places[static_cast<std::size_t>(backend)];
  const std::string name = entry.name();
  return "kernel " + name + " was not compiled for the " + to_string(backend) +
         " backend: add to " + at.file + " of this program\n  #include <starling/device/interop/" +
         at.header + ">\n  template struct starling::" + at.scope + "::instantiate<" + name + ">;";
}

void* allocate_host_memory(std::size_t bytes) noexcept {
  return ::operator new(bytes, std::align_val_t(64), std::nothrow);
}

void deallocate_host_memory(void* memory) noexcept {
  ::operator delete(memory, std::align_val_t(64));
}

scratch_memory::scratch_memory(std::size_t bytes)
    : m_memory(bytes == 0 ? nullptr : ::operator new(bytes, std::align_val_t(64))) {}

scratch_memory::~scratch_memory() { ::operator delete(m_memory, std::align_val_t(64)); }

}  // namespace detail
}  // namespace starling
