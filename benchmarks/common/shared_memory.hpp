// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>

/// Finds shared memory that a job has left behind; used by benchmarks and tests of faults.
namespace starling::bench {

inline const std::string shared_memory_folder = "/dev/shm/";

/// Returns the files in /dev/shm that a living process maps, as far as /proc shows its maps.
inline std::set<std::string> mapped_shared_memory() {
  std::set<std::string> mapped;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream maps(process.path() / "maps");  // empty for other entries and ended processes
    for (std::string line; std::getline(maps, line);)
      if (const auto at = line.find(shared_memory_folder); at != std::string::npos)
        mapped.insert(line.substr(at + shared_memory_folder.size()));
  }
  return mapped;
}

/// Returns the System V segments that no process has attached and that are not marked for removal.
inline std::set<std::string> detached_segments() {
  std::set<std::string> names;
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line, key, id, size, creator, last;
  std::getline(segments, line);  // the header line
  constexpr unsigned goes_with_its_users = 01000;
  unsigned mode = 0;
  long attached = 0;
  while (segments >> key >> id >> std::oct >> mode >> std::dec >> size >> creator >> last >>
             attached &&
         std::getline(segments, line))
    if ((mode & goes_with_its_users) == 0 && attached == 0) names.insert("segment " + id);
  return names;
}

/// Returns the shared memory that has a name and that no living process uses: left behind by a job
/// whose processes have ended, or, for a moment, being created or removed by another job.
inline std::set<std::string> unused_shared_memory() {
  std::set<std::string> names = detached_segments();
  std::set<std::string> files;
  const auto skips = std::filesystem::directory_options::skip_permission_denied;
  std::error_code fault;  // another job has removed its folder while this looks: look again
  do {
    files.clear();
    for (std::filesystem::recursive_directory_iterator at(shared_memory_folder, skips), end;
         at != end; at.increment(fault)) {
      std::error_code ignored;
      if (!at->is_directory(ignored))
        files.insert(at->path().string().substr(shared_memory_folder.size()));
    }
  } while (fault);
  // Read after the names: a file that is created in between is not in the list of names.
  const std::set<std::string> mapped = mapped_shared_memory();
  std::set_difference(files.begin(), files.end(), mapped.begin(), mapped.end(),
                      std::inserter(names, names.end()));
  return names;
}

/// Waits until all shared memory that was left unused since `before` is removed. Call it when the
/// processes of the job have ended. Returns false if anything stays unused for ten seconds.
inline bool is_tidied_up(const std::set<std::string>& before) {
  std::set<std::string> left = unused_shared_memory();
  for (int i = 0; i < 100; ++i) {
    std::set<std::string> still;
    for (const std::string& name : unused_shared_memory())
      if (left.contains(name) && !before.contains(name)) still.insert(name);
    if (still.empty()) return true;
    left = still;
    ::usleep(100'000);  // no event reports that another job has removed its files
  }
  return false;
}

}  // namespace starling::bench
