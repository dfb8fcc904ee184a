// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include <starling/device/kernel.hpp>

// Where this source file lies, where its includes are found and what is defined for it, the last
// two as lists of strings: `starling_add_kernels` tells. Without it the compiler's own name of the
// file must do.
#ifndef STARLING_KERNEL_FILE
#  define STARLING_KERNEL_FILE __BASE_FILE__
#  define STARLING_KERNEL_FOLDERS ""
#  define STARLING_KERNEL_DEFINITIONS ""
#endif

/// SYCL code of portable kernels, for a .cpp file of the program or of a shared library:
///
///     #include <starling/device/interop/sycl_kernels.hpp>
///     #include "my_kernels.hpp"
///     template struct starling::sycl::instantiate<my_kernel>;
///
/// The line enters the kernel in the launch table before main. No SYCL compiler is needed when the
/// program is built: at the first use of one of the file's kernels the SYCL runtime compiles the
/// file once more, for the device, all its kernels together (seconds; later runs of the program
/// take the result from the runtime's cache on disk). So the file and what it includes must still
/// be there and hold nothing but kernels: no `main`, no include that a device compiler cannot
/// read. Name it in CMake's `starling_add_kernels(program file.cpp)`: then it is compiled with the
/// include folders and definitions of that target both times. From a static library the linker
/// takes only what is asked for by name, and nobody names a launcher.
///
/// Kernels have external linkage and a name: no lambdas, nothing from an unnamed namespace.
/// Multiplications and additions are not contracted, so that results are those of a host that does
/// not contract either. Needs no SYCL header; without the SYCL backend the line does no harm.
namespace starling::sycl {

namespace detail {

/// A source file that is compiled at run time.
struct kernel_file {
  const char* path;
  const char* header;          // this header's own path
  const char* const* folders;  // where its includes are found; null at the end, empty ones skipped
  const char* const* definitions;  // `name` or `name=value`; likewise
};

// One for each file that includes this; constant, so that there is no order of initialisation.
namespace {
constexpr const char* these_folders[] = {STARLING_KERNEL_FOLDERS, nullptr};
constexpr const char* these_definitions[] = {STARLING_KERNEL_DEFINITIONS, nullptr};
constexpr kernel_file this_file{STARLING_KERNEL_FILE, __FILE__, these_folders, these_definitions};
}  // namespace

/// A kernel and the file that instantiated it; lives as long as the program.
struct kernel_source {
  starling::detail::kernel_entry* entry;
  const kernel_file* file;
  bool per_group;
  int block_size;  // most threads of a group that runs an index kernel
  kernel_source* next;
};

/// Adds a kernel to those of its file. Before main.
void enter(kernel_source& source) noexcept;

/// Starts `call` on `stream`, a stream of the SYCL backend. Returns 0. @throws device_error, also
/// with the compiler's messages
int start(const kernel_source& source, const starling::detail::kernel_call& call, void* stream);

template <class Kernel>
constexpr int block_size_of() noexcept {
  int size = 256;
  if constexpr (requires { Kernel::block_size; }) size = Kernel::block_size;
  return size;
}

template <class Kernel>
constinit inline kernel_source source_of{&starling::detail::kernel_entry_of<Kernel>, nullptr,
                                         group_kernel<Kernel>, block_size_of<Kernel>(), nullptr};

template <class Kernel>
int launch(const starling::detail::kernel_call& call, void* stream) {
  return start(source_of<Kernel>, call, stream);
}

template <class Kernel>
bool enter_kernel(const kernel_file& file) noexcept {
  source_of<Kernel>.file = &file;
  enter(source_of<Kernel>);
  return starling::detail::enter<Kernel>(backend_kind::sycl, &launch<Kernel>);
}

}  // namespace detail

/// `template struct starling::sycl::instantiate<Kernel>;` in a .cpp file: see above. An optional
/// `static constexpr int block_size` of an index kernel is the most threads of a work-group (256).
template <kernel Kernel>
struct instantiate {
  static const bool entered;
};
template <kernel Kernel>
const bool instantiate<Kernel>::entered = detail::enter_kernel<Kernel>(detail::this_file);

}  // namespace starling::sycl
