// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string>

#include "cuda_device.hpp"
#include "cuda_error.hpp"

namespace starling::detail {

namespace {

/// Reads the list format of the Linux kernel, 0-7,16,18-19. Any other text ends the list.
std::vector<int> parse_cores(const std::string& list) {
  std::vector<int> cores;
  std::istringstream in(list);
  for (int first = 0; in >> first;) {
    int last = first;
    if (in.peek() == '-') in.ignore() >> last;
    for (int core = first; in && core <= last; ++core) cores.push_back(core);
    if (in.peek() != ',') break;
    in.ignore();
  }
  return cores;
}

/// Returns the processors that share the device's PCI root; empty if the system has no entry.
std::vector<int> cores_near(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/local_cpulist");
  std::string line;
  std::getline(file, line);
  return parse_cores(line);
}

}  // namespace

device_properties read_cuda_properties(int number) {
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, number), "cudaGetDeviceProperties");
  char bus_id[32] = {};
  check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, number), "cudaDeviceGetPCIBusId");
  device_properties p;
  p.name = found.name;
  p.memory_bytes = found.totalGlobalMem;
  p.compute_units = found.multiProcessorCount;
  p.group_scratch_bytes = found.sharedMemPerBlockOptin;
  p.bus_id = bus_id;
  p.nearby_cores = cores_near(p.bus_id);
  return p;
}

}  // namespace starling::detail
