// SPDX-License-Identifier: Apache-2.0
#include "shared_memory_folder.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>

namespace starling::launch {

shared_memory_folder::shared_memory_folder() {
  if (std::getenv("UCX_POSIX_DIR") != nullptr) return;
  std::string path = "/dev/shm/starling-XXXXXX";
  if (::mkdtemp(path.data()) != nullptr) m_path = path;  // mode 0700
}

void shared_memory_folder::remove(const std::string& path) noexcept {
  if (path.empty()) return;
  try {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  } catch (const std::bad_alloc&) {
    ::rmdir(path.c_str());
  }
}

}  // namespace starling::launch
