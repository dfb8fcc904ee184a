// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <sycl/sycl.hpp>

#include <starling/core/error.hpp>

#include "../backend.hpp"
#include "sycl_device.hpp"
#include "sycl_environment.hpp"
#include "sycl_error.hpp"

namespace starling::detail {

namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;

class sycl_backend final : public backend {
 public:
  sycl_backend(std::vector<::sycl::device> devices, worker& home, tracer& log)
      : m_devices(std::move(devices)),
        m_context(m_devices.front().get_platform().khr_get_default_context()), m_home(&home),
        m_log(&log) {}

  [[nodiscard]] const backend_traits& traits() const noexcept override {
    static constexpr backend_traits own{backend_kind::sycl, sizeof(completion_word), false, false,
                                        false};
    return own;
  }
  [[nodiscard]] int device_count() const noexcept override {
    return static_cast<int>(m_devices.size());
  }
  [[nodiscard]] std::unique_ptr<backend_device> open(int index) override {
    return std::make_unique<sycl_device>(m_context, m_devices.at(static_cast<std::size_t>(index)),
                                         *m_home, *m_log);
  }

 private:
  std::vector<::sycl::device> m_devices;  // of one platform, whose devices share all pinned memory
  ::sycl::context m_context;
  worker* m_home;
  tracer* m_log;
};

// Not const, because ext_oneapi_can_build is not a const member.
bool is_usable(::sycl::device& d) {
  return d.has(::sycl::aspect::usm_device_allocations) &&
         d.has(::sycl::aspect::usm_host_allocations) &&
         d.ext_oneapi_can_build(experimental::source_language::sycl);
}

/// Returns the devices of the platform with the best device: GPUs, then accelerators, then
/// processors. GPUs and processors of one platform are not mixed.
std::vector<::sycl::device> find_devices() {
  const auto rank = [](const ::sycl::device& d) { return d.is_gpu() ? 0 : d.is_cpu() ? 2 : 1; };
  std::vector<::sycl::device> all = ::sycl::device::get_devices();
  std::erase_if(all, [](::sycl::device& d) { return !is_usable(d); });
  if (all.empty()) return all;
  const ::sycl::device best = *std::ranges::min_element(all, {}, rank);
  std::erase_if(all, [&](const ::sycl::device& d) {
    return d.get_platform() != best.get_platform() || rank(d) != rank(best);
  });
  return all;
}

}  // namespace

std::unique_ptr<backend> make_sycl_backend(const backend_request& request) {
  require_sycl_environment();
  const std::vector<::sycl::device> present = guarded("search for devices", &find_devices);
  if (present.empty())
    throw backend_unavailable(
        "SYCL finds no device here with USM and a kernel compiler (for processors: install "
        "intel-opencl-rt beside intel-sycl-rt, `tools/deps.sh sycl`); use the host backend "
        "(--starling-backend host)");
  const auto refuse = [&](int wanted) {
    throw option_error("--starling-devices: there is no SYCL device " + std::to_string(wanted) +
                       "; this machine has " + std::to_string(present.size()) + ", counted from 0");
  };
  const int count = static_cast<int>(present.size());
  std::vector<::sycl::device> chosen;
  for (const int number : request.which) {
    if (number < 0 || number >= count) refuse(number);
    chosen.push_back(present[static_cast<std::size_t>(number)]);
  }
  if (request.which.empty()) {
    if (request.count > count) refuse(request.count - 1);
    chosen.assign(present.begin(), present.begin() + (request.count > 0 ? request.count : count));
  }
  return guarded("making a context", [&] {
    return std::make_unique<sycl_backend>(std::move(chosen), *request.home,
                                          request.owner->tracer());
  });
}

}  // namespace starling::detail
