// SPDX-License-Identifier: Apache-2.0
#include "cpu_limit.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace starling::detail {
namespace {

namespace fs = std::filesystem;

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// Returns the number of processors that a group allows.
double quota_of(const fs::path& group) {
  double quota = 0;
  double period = 0;  // both remain 0 if a file is missing or has no number ("max")
  if (!(std::ifstream(group / "cpu.max") >> quota >> period)) {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;  // -1: no limit
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : no_limit;
}

/// Returns the least quota of the group `path` below `mount` and of its ancestors. In a container
/// the path may be the host's, which the mount does not contain; then only the mount itself counts.
double least_quota(const fs::path& mount, const fs::path& path) {
  double least = quota_of(mount);
  fs::path group = mount;
  for (const fs::path& name : path.relative_path())
    least = std::min(least, quota_of(group /= name));
  return least;
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');)
    if (name == "cpu") return true;
  return false;
}

}  // namespace

unsigned cpu_limit(const std::string& root) {
  const fs::path groups = fs::path(root) / "sys/fs/cgroup";
  double least = no_limit;
  // Lines are "number:controllers:path"; v2 has number 0 and no controllers.
  std::ifstream list(fs::path(root) / "proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min({least, least_quota(groups, path), least_quota(groups / "unified", path)});
    } else if (names_cpu(controllers)) {
      least = std::min(
          {least, least_quota(groups / controllers, path), least_quota(groups / "cpu", path)});
    }
  }
  return least == no_limit ? 0 : unsigned(std::ceil(std::min(least, 1e6)));
}

}  // namespace starling::detail
