// SPDX-License-Identifier: Apache-2.0
#include "resources.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include <starling/net/bootstrap.hpp>

namespace starling::detail {
namespace {

/// Returns the folder in which UCX makes files: `starling launch` sets one for each start of ranks.
std::string shared_folder() {
  const char* const set = std::getenv("UCX_POSIX_DIR");
  return set != nullptr ? set : "/dev/shm";
}

/// UCX 1.13 allocates 4.3 MiB for each rank at start and as much again when many messages wait.
constexpr std::uint64_t memory_of_rank = std::uint64_t{10} << 20;

/// Files that UCX opens at start, and at most for each rank.
constexpr int files_of_ucx = 16;
constexpr int files_of_rank = 2;

/// Returns the number of open files of this process, or 0 if it is unknown.
int open_files() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;  // ".", ".." and the folder itself
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace

std::uint64_t free_shared_memory() {
  struct statvfs found {};
  const std::string folder = shared_folder();
  if (::access(folder.c_str(), W_OK) != 0 || ::statvfs(folder.c_str(), &found) != 0) return 0;
  return std::uint64_t(found.f_bavail) * found.f_frsize;
}

bool has_room_for_ucx(const std::vector<process_location>& processes, int rank) {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t near = 0;
  bool is_first = true;
  for (int r = 0; r < int(processes.size()); ++r) {
    const process_location& p = processes[std::size_t(r)];
    if (!p.is_near()) continue;
    ++near;
    least = std::min(least, p.shared_memory);
    if (r < rank) is_first = false;
  }
  if (std::getenv("UCX_TLS") != nullptr || least / near >= memory_of_rank) return true;
  const std::string what =
      least == 0 ? fmt::format("{} cannot be written", shared_folder())
                 : fmt::format("{} has {} MiB free, too few for {} ranks (10 MiB each)",
                               shared_folder(), least >> 20, near);
  if (is_first && near > 1)
    std::fprintf(stderr,
                 "starling: %s: ranks of this host use other ways than POSIX shared memory, which "
                 "may be slower\n",
                 what.c_str());
  return false;
}

void require_open_files(int ranks) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const int open = open_files();
  const int more = files_of_ucx + files_of_rank * ranks;
  if (rlim_t(open + more) <= limit.rlim_cur) return;
  throw bootstrap_error(fmt::format(
      "a rank of {} needs up to {} open files more for the network, has {} open, and the limit is "
      "{} (ulimit -n): raise it",
      ranks, more, open, limit.rlim_cur));
}

}  // namespace starling::detail
