// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdint>
#include <exception>
#include <string>

#include <fmt/format.h>

#include <starling/core.hpp>
#include <starling/core/print_once.hpp>
#include <starling/device.hpp>

#include "common/report.hpp"

namespace apps {

inline constexpr int exit_check_failed = 1;
inline constexpr int exit_bad_usage = 2;
inline constexpr int exit_failed = 3;

/// Prints an error that ends the program and returns its exit code. A wrong option is printed by
/// one rank only.
inline int tell(const char* name, const std::exception& e) {
  const std::string line = fmt::format("{}: {}", name, e.what());
  const bool is_wrong_option = dynamic_cast<const starling::option_error*>(&e) != nullptr;
  if (is_wrong_option)
    starling::print_once_per_job(line);
  else
    fmt::print(stderr, "{}\n", line);
  return is_wrong_option ? exit_bad_usage : exit_failed;
}

/// Returns the result of `run`. If `run` throws, prints the error and returns its exit code.
template <class Run>
int run_program(const char* name, Run run) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is then an error like a full disk
  try {
    return run();
  } catch (const std::exception& e) {
    return tell(name, e);
  }
}

/// Returns a description of the devices, such as "1 × host (…), completion by word".
inline std::string describe_devices(starling::runtime& rt) {
  const starling::device_set& all = starling::devices(rt);
  return fmt::format("{} × {} ({}), completion by {}", all.count(),
                     starling::to_string(all.backend()), all.device(0).properties().name,
                     starling::to_string(all.completion()));
}

/// Adds workers, backend and devices to a report.
inline void fill_devices(starling::runtime& rt, report& out) {
  const starling::device_set& all = starling::devices(rt);
  out.config("workers", std::int64_t(rt.worker_count()));
  out.config("backend", std::string(starling::to_string(all.backend())));
  out.config("devices", std::int64_t(all.count()));
  out.config("device", all.device(0).properties().name);
  out.config("completion", std::string(starling::to_string(all.completion())));
}

}  // namespace apps
