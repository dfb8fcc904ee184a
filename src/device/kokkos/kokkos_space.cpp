// SPDX-License-Identifier: Apache-2.0
#include "kokkos_space.hpp"

#include <cstdlib>
#include <mutex>
#include <string>

#include <Kokkos_Core.hpp>

#include <starling/core/error.hpp>
#include <starling/device/interop/kokkos_instance.hpp>
#include <starling/device/interop/kokkos_kernels.hpp>

namespace starling::detail {

namespace {

using kokkos::kernel_space;

template <class Space>
concept cuda_space = requires(const Space& s) {
  s.cuda_stream();
  s.cuda_device();
};

template <class Space>
int cuda_device_of(const Space& space) {
  if constexpr (cuda_space<Space>)
    return space.cuda_device();
  else
    return -1;
}

template <class Space>
std::shared_ptr<const void> instance_on(void* native_stream) {
  if constexpr (cuda_space<Space>)
    return std::make_shared<Space>(
        static_cast<decltype(std::declval<const Space&>().cuda_stream())>(native_stream));
  else
    return nullptr;
}

}  // namespace

bool kokkos_needs_cuda() noexcept { return cuda_space<kernel_space>; }

kokkos_facts open_kokkos() {
  static std::mutex opening;
  const std::lock_guard lock(opening);
  if (!Kokkos::is_initialized()) {
    if (kokkos::is_over())
      throw backend_unavailable(
          "Kokkos has been finalised, and cannot be initialised again; let its ScopeGuard outlive "
          "the last runtime");
    Kokkos::initialize();
    // The hook runs before the destruction of Kokkos' statics, which exist by now.
    static_cast<void>(std::atexit([] {
      if (Kokkos::is_initialized()) Kokkos::finalize();
    }));
  }
  return {KOKKOS_VERSION, kernel_space::name(), cuda_device_of(kernel_space())};
}

std::shared_ptr<const void> make_kokkos_instance(void* native_stream) {
  return instance_on<kernel_space>(native_stream);
}

void launch_on_instance(const kernel_call& call, const void* instance, bool captured,
                        void (*check)(const char* kernel)) {
  kokkos::detail::launch_site site{instance, 0, call.units, captured, check};
  try {
    static_cast<void>(call.entry->launcher(backend_kind::kokkos)(call, &site));
  } catch (const error&) {
    throw;  // an error of Starling itself
  } catch (const std::exception& e) {
    throw device_error(std::string("launch of kernel ") + call.entry->name() +
                       " through Kokkos failed: " + e.what());
  }
}

void run_on_host_instance(const kernel_call& call, std::int64_t first, std::int64_t last) {
  const kokkos::instance<kernel_space> lent;
  kokkos::detail::launch_site site{&lent.get(), first, last};
  static_cast<void>(call.entry->launcher(backend_kind::kokkos)(call, &site));
}

}  // namespace starling::detail
