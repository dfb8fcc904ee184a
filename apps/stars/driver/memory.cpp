// SPDX-License-Identifier: Apache-2.0
#include "driver/memory.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <starling/core/error.hpp>

#include "mesh/layout.hpp"

namespace stars {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

}  // namespace

double memory_needed(int level, residency place, bool on_host, int ranks) {
  const double subgrids = std::ldexp(1.0, 3 * level) / ranks;
  const double state = subgrids * sizeof(double) * compact.block;
  const double snapshots = 2 * state;  // in the order of the tree, and a copy for files
  if (place == residency::staged) return snapshots + 3 * state;  // one for each stage
  const double device = 3 * state + subgrids * sizeof(double) * speed_block;
  // Uploads and downloads use pinned staging memory, which the allocator keeps.
  return snapshots + 2 * state + (on_host ? device : 0.0);
}

double memory_available() {
  double least = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    least = std::min(least, double(limit.rlim_cur));
  // Without a limit the file contains "max"; the file of cgroup v1, if present, contains a huge
  // number.
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream text(file);
    if (double bytes = 0; text >> bytes && bytes > 0) least = std::min(least, bytes);
  }
  return least;
}

std::string memory_text(int level, double needed) {
  return fmt::format("--level {}: {}³ cells need {:.3g} GiB of memory", level, edge << level,
                     needed / gib);
}

void require_memory(int level, double needed, double available) {
  if (needed <= available) return;
  throw starling::option_error(
      fmt::format("{}, and this process can have {:.3g} GiB; choose a lower level or a machine "
                  "with more memory",
                  memory_text(level, needed), available / gib));
}

}  // namespace stars
