// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace starling::bench {

/// Returns the CPUs that this process may use, the first one of each core: those to which Starling
/// binds its workers (`--starling-bind core`), in the same order. Determined at the first call,
/// which must precede the binding of any thread.
[[nodiscard]] inline const std::vector<int>& cores() {
  static const std::vector<int> found = [] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::vector<int> first_of_core;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return first_of_core;
    std::vector<std::string> seen;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(std::size_t(cpu), &allowed)) continue;
      std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                         "/topology/thread_siblings_list");
      std::string siblings;  // hardware threads of the same core, this one included
      if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
      bool is_new = true;
      for (const std::string& s : seen) is_new = is_new && s != siblings;
      if (is_new) first_of_core.push_back(cpu);
      seen.push_back(siblings);
    }
    return first_of_core;
  }();
  return found;
}

/// Binds the calling thread to CPU `index` of `cores()`, as Starling binds the worker of that index
/// if there is a core for each worker. Does nothing if there are fewer than `threads` cores: the
/// system schedules threads that share a core, as it does for Starling's workers.
inline void bind_to_core(int index, int threads) {
  const std::vector<int>& all = cores();
  if (index < 0 || std::size_t(index) >= all.size() || std::size_t(threads) > all.size()) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(std::size_t(all[std::size_t(index)]), &one);
  sched_setaffinity(0, sizeof one, &one);  // an error is ignored, as in Starling
}

}  // namespace starling::bench
