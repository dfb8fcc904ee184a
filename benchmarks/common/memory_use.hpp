// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace starling::bench {

/// Returns a line of /proc/self/status that counts kB, in MiB: `VmRSS:`, the resident memory of
/// this process, or `VmHWM:`, its maximum. @throws std::runtime_error if there is none
[[nodiscard]] inline double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  double kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == name && status >> kilobytes) return kilobytes / 1024;
  throw std::runtime_error("the system does not tell '" + name + "' of this process");
}

/// Resets the maximum of this process's resident memory (proc(5), clear_refs).
/// @throws std::runtime_error if the system does not permit it
inline void forget_most_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  if (!file)
    throw std::runtime_error(
        "cannot write to /proc/self/clear_refs, which needs a kernel with CONFIG_PROC_PAGE_MONITOR "
        "and /proc that is not mounted read-only");
}

}  // namespace starling::bench
