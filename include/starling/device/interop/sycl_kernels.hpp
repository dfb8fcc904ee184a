// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include <starling/device/kernel.hpp>

// The path of this source file, and its include folders and macro definitions as lists of strings,
// all defined by CMake's `starling_add_kernels`. Without it, the path is __BASE_FILE__ and the
// lists are empty.
#ifndef STARLING_KERNEL_FILE
#  define STARLING_KERNEL_FILE __BASE_FILE__
#  define STARLING_KERNEL_FOLDERS ""
#  define STARLING_KERNEL_DEFINITIONS ""
#endif

/// Compiles portable kernels for SYCL, from a .cpp file of the program or of a shared library:
///
///     #include <starling/device/interop/sycl_kernels.hpp>
///     #include "my_kernels.hpp"
///     template struct starling::sycl::instantiate<my_kernel>;
///
/// The instantiation registers the kernel in the launch table before main. Building the program
/// needs no SYCL compiler: at the first use of one of the file's kernels, the SYCL runtime compiles
/// the file a second time, for the device, all its kernels together (seconds; later runs use the
/// runtime's cache on disk). The file and its includes must therefore exist at run time and contain
/// kernels only: no `main`, no header that a device compiler cannot compile. List it in CMake's
/// `starling_add_kernels(program file.cpp)`: then both compilations use the include folders and
/// definitions of that target. Do not put it into a static library: the linker would drop the
/// object file, because no symbol of it is referenced.
///
/// Kernels must have external linkage and a name: no lambdas, no types of an unnamed namespace.
/// Multiplications and additions are not contracted, so that results equal those of a host without
/// contraction. Needs no SYCL header; without the SYCL backend the instantiation has no effect.
namespace starling::sycl {

namespace detail {

/// A source file that is compiled at run time.
struct kernel_file {
  const char* path;
  const char* header;              // path of this header
  const char* const* folders;      // include folders; null-terminated, empty strings are skipped
  const char* const* definitions;  // `name` or `name=value`; terminated likewise
};

// A set for each file that includes this header. Constant-initialised: no initialisation order.
namespace {
constexpr const char* these_folders[] = {STARLING_KERNEL_FOLDERS, nullptr};
constexpr const char* these_definitions[] = {STARLING_KERNEL_DEFINITIONS, nullptr};
constexpr kernel_file this_file{STARLING_KERNEL_FILE, __FILE__, these_folders, these_definitions};
}  // namespace

/// A kernel and the file that instantiated it; exists until the program ends.
struct kernel_source {
  starling::detail::kernel_entry* entry;
  const kernel_file* file;
  bool per_group;
  int block_size;  // most threads of a group that runs an index kernel
  kernel_source* next;
};

/// Registers a kernel. Called before main.
void enter(kernel_source& source) noexcept;

/// Starts `call` on `stream`, a `sycl_stream` of the backend. Returns 0. @throws device_error, with
/// the compiler's messages if the kernel does not compile; usage_error if the range is too large
/// or the kernel has no external name
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

/// Registers `Kernel` for SYCL where instantiated explicitly in a .cpp file: see above. An optional
/// `static constexpr int block_size` of an index kernel limits the threads of a work-group (default
/// 256).
template <kernel Kernel>
struct instantiate {
  static const bool entered;
};
template <kernel Kernel>
const bool instantiate<Kernel>::entered = detail::enter_kernel<Kernel>(detail::this_file);

}  // namespace starling::sycl
