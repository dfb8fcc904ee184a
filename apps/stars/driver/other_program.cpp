// SPDX-License-Identifier: Apache-2.0
#include "driver/other_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include <starling/core.hpp>

#include "mesh/subgrid.hpp"

namespace stars {

void run_program_of(int wanted, char** argv) {
  if (wanted == edge) return;
  const char* name = wanted == 8 ? "stars" : "stars_16";
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  execv(path.c_str(), argv);
  throw starling::option_error(
      fmt::format("--sub-grid {}: cannot run {}: {}; build it with cmake --build <build folder> "
                  "--target {}, and keep both programs in one folder",
                  wanted, path.string(), std::strerror(errno), name));
}

}  // namespace stars
