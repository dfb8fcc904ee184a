// SPDX-License-Identifier: Apache-2.0
#include "cpu_limit.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace starling::detail {
namespace {

namespace fs = std::filesystem;

/// Returns the number at a position of a file; 0 if the file is missing or has no number there
/// ("max").
double number_in(const fs::path& file, int position = 0) {
  std::ifstream in(file);
  std::string word;
  for (int i = 0; i <= position; ++i)
    if (!(in >> word)) return 0;
  std::istringstream text(word);
  double number = 0;
  return text >> number ? number : 0;
}

/// Returns the number of processors that a group allows; 0: no limit.
double quota_of(const fs::path& group) {
  double quota = number_in(group / "cpu.max");
  double period = number_in(group / "cpu.max", 1);
  if (quota <= 0) {
    quota = number_in(group / "cpu.cfs_quota_us");  // -1: no limit
    period = number_in(group / "cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/// Returns the least quota of the group `path` below `mount` and of its ancestors. In a container
/// the path may be the host's, which the mount does not contain; then only the mount itself counts.
double least_quota(const fs::path& mount, const fs::path& path) {
  double least = quota_of(mount);
  fs::path group = mount;
  for (const fs::path& name : path.relative_path()) {
    group /= name;
    const double quota = quota_of(group);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
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
  double least = 0;
  const auto take = [&least](double quota) {
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  };
  // Lines are "number:controllers:path"; v2 has number 0 and no controllers.
  std::ifstream list(fs::path(root) / "proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (controllers.empty()) {
      take(least_quota(groups, path));
      take(least_quota(groups / "unified", path));
    } else if (names_cpu(controllers)) {
      take(least_quota(groups / controllers, path));
      take(least_quota(groups / "cpu", path));
    }
  }
  return unsigned(std::ceil(std::min(least, 1e6)));
}

}  // namespace starling::detail
