// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sycl_environment.hpp"

namespace starling::detail {

namespace {

/// Returns the folder of the loaded libsycl, with a slash at the end; empty if it is not loaded.
std::string folder_of_runtime() {
  std::string folder;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* result) {
        const std::string_view path = library->dlpi_name;
        const std::size_t at = path.rfind("/libsycl.so");
        if (at == std::string_view::npos) return 0;
        *static_cast<std::string*>(result) = path.substr(0, at + 1);
        return 1;
      },
      &folder);
  return folder;
}

bool prepare() {
  const std::string folder = folder_of_runtime();
  const std::string driver = folder + "libintelocl.so";
  if (!folder.empty() && access(driver.c_str(), R_OK) == 0) {
    setenv("OCL_ICD_FILENAMES", driver.c_str(), 0);
    // The system's libOpenCL may ignore that variable, and the libOpenCL that is loaded first (also
    // by a plugin of hwloc) serves the whole process. So the libOpenCL of this folder is loaded
    // here, after its dependencies, which it does not find by itself. A missing library is skipped.
    for (const char* name :
         {"libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so", "libOpenCL.so.1"})
      dlopen((folder + name).c_str(), RTLD_NOW);
  }
  setenv("SYCL_CACHE_PERSISTENT", "1", 0);
  setenv("SYCL_QUEUE_THREAD_POOL_SIZE", "16", 0);
  return true;
}

// Runs before main, because the environment may be written only while there is one thread.
const bool g_prepared = prepare();

}  // namespace

void require_sycl_environment() noexcept { static_cast<void>(g_prepared); }

}  // namespace starling::detail
