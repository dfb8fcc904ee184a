// SPDX-License-Identifier: Apache-2.0
#include "cores.hpp"

#include <fstream>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace starling::launch {
namespace {

long read_topology(int processor, const std::string& name) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", processor, name));
  long value = -1;
  file >> value;
  return file ? value : -1;
}

}  // namespace

std::vector<core> group_by_core(const std::vector<int>& processors,
                                const std::function<long(int, const std::string&)>& topology) {
  std::map<std::tuple<long, long, int>, core> by_place;
  for (const int processor : processors) {
    const long number = topology(processor, "core_id");
    // Without topology information each processor counts as a core.
    const int alone = number < 0 ? processor : 0;
    by_place[{topology(processor, "physical_package_id"), number, alone}].push_back(processor);
  }
  std::vector<core> cores;
  for (auto& [place, members] : by_place) cores.push_back(std::move(members));
  return cores;
}

std::vector<core> usable_cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &usable)) processors.push_back(processor);
    }
  }
  return group_by_core(processors, read_topology);
}

cpu_set_t share_of(const std::vector<core>& cores, int rank, int size) {
  cpu_set_t share;
  CPU_ZERO(&share);
  const auto edge = [&](int of) {
    return cores.size() * static_cast<std::size_t>(of) / static_cast<std::size_t>(size);
  };
  for (std::size_t i = edge(rank); i < edge(rank + 1); ++i) {
    for (const int processor : cores[i]) CPU_SET(processor, &share);
  }
  return share;
}

}  // namespace starling::launch
