// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace starling::bench {

/// A line of /proc/self/status that counts kB, in MiB: `VmRSS:`, the memory of this process, or
/// `VmHWM:`, the most it has had. Throws `std::runtime_error` where there is none.
[[nodiscard]] inline double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  double kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == name && status >> kilobytes) return kilobytes / 1024;
  throw std::runtime_error("the system does not tell '" + name + "' of this process");
}

/// From now on the most memory that this process has had is counted anew (proc(5), clear_refs).
/// Throws `std::runtime_error` where the system does not let it.
inline void forget_most_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  if (!file)
    throw std::runtime_error(
        "cannot write to /proc/self/clear_refs, which needs a kernel with CONFIG_PROC_PAGE_MONITOR "
        "and /proc that is not mounted read-only");
}

}  // namespace starling::bench
