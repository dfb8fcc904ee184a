// SPDX-License-Identifier: Apache-2.0
#include <starling/device/detail/device_load.hpp>

#include <unistd.h>

#include <functional>
#include <string>

#include "device_impl.hpp"

namespace starling::detail {
namespace {

/// Names a device on this network: by its bus address, or within the process if it has none.
std::string global_name(const device& d) {
  char host[256] = "";
  static_cast<void>(::gethostname(host, sizeof host - 1));
  const std::string& bus = d.properties().bus_id;
  if (!bus.empty()) return std::string(host) + " " + bus;
  return std::string(host) + " " + std::to_string(::getpid()) + " " +
         std::to_string(reinterpret_cast<std::uintptr_t>(&d));
}

}  // namespace

void settle_device_times(runtime& rt) {
  device_set* const set = rt.existing_service<device_set>();
  if (set == nullptr) return;
  for (std::size_t i = 0; i < set->count(); ++i) set->device(i).internals().times.settle();
}

std::vector<worker_device> devices_of_workers(runtime& rt) {
  std::vector<worker_device> result;
  device_set* const set = rt.existing_service<device_set>();
  if (set == nullptr) return result;
  std::vector<worker_device> devices;
  for (std::size_t i = 0; i < set->count(); ++i) {
    const device& d = set->device(i);
    devices.push_back({std::hash<std::string>()(global_name(d)), d.properties().memory_bytes});
  }
  for (unsigned w = 0; w < rt.worker_count(); ++w)
    result.push_back(devices[std::size_t(set->on_worker(int(w)).id().value)]);
  return result;
}

}  // namespace starling::detail
