// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

/// Whether jobs leave anything behind; for tests of faults, too.
namespace starling::bench {

/// What lies in the memory that processes share by name, or by number (System V).
inline std::set<std::string> shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    names.insert(entry.path().filename());
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line, key, id;
  std::getline(segments, line);  // what the columns are called
  constexpr unsigned goes_with_its_users = 01000;
  for (unsigned mode = 0;
       segments >> key >> id >> std::oct >> mode && std::getline(segments, line);)
    if ((mode & goes_with_its_users) == 0) names.insert("segment " + id);
  return names;
}

/// Nothing has stayed there since. Other programs may have something there for a moment.
inline bool is_tidied_up(const std::set<std::string>& before) {
  std::set<std::string> left = shared_memory();
  for (int i = 0; i < 100; ++i) {
    std::set<std::string> still;
    for (const std::string& name : shared_memory())
      if (left.contains(name) && !before.contains(name)) still.insert(name);
    if (still.empty()) return true;
    left = still;
    ::usleep(100'000);  // nothing says when others are done with theirs
  }
  return false;
}

}  // namespace starling::bench
