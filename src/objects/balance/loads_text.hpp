// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <starling/objects/balance/snapshot.hpp>

/// Loads as JSON, for `starling balance` and for reports of runs.
namespace starling::balance {

inline constexpr const char* loads_format = "starling loads";
inline constexpr int loads_version = 1;
inline constexpr const char* history_format = "starling balance history";
inline constexpr int history_version = 1;

/// Loads of all workers and devices, in seconds of a step.
struct place_loads {
  std::vector<double> host_seconds;    ///< by worker, divided by its speed
  std::vector<double> device_seconds;  ///< by device, divided by its speed
};

/// Returns the loads for `worker_of`, which has the worker of each element.
[[nodiscard]] place_loads loads_of_places(const snapshot& loads,
                                          std::span<const std::uint32_t> worker_of);

/// Returns a JSON string; bytes above 127 are kept.
[[nodiscard]] std::string json_string(std::string_view text);
/// Returns the shortest text that is read as the same number; `null` for infinity and NaN.
[[nodiscard]] std::string json_number(double number);
/// Returns a JSON array of numbers.
[[nodiscard]] std::string json_array(std::span<const double> numbers);

/// Returns an object with the members `host_seconds` and `device_seconds`.
[[nodiscard]] std::string json_text(const place_loads& loads);
/// Returns an object of the form that docs/guide/balancing.md describes.
[[nodiscard]] std::string json_text(const snapshot& loads);

}  // namespace starling::balance
