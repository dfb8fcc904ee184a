// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace starling {

/// Binding of workers to cores.
enum class binding {
  /// Binds workers if there is exactly one for each core that the process may use, and no other
  /// runtime of the process has bound workers.
  automatic,
  /// Binds each worker in turn to the allowed core with the fewest bound workers of the process.
  core,
  none  ///< leaves the placement to the operating system
};

/// The options of a runtime. Each field has a `--starling-…` flag and a `STARLING_…` variable (flag
/// before variable before default); `--starling-help` lists them.
struct runtime_options {
  /// Worker threads; 0: one for each core the process may use, within the CPU limit of its control
  /// groups (cgroup v1 and v2), rounded up.
  unsigned workers = 0;
  binding bind = binding::automatic;
  unsigned spin_us = 50;               ///< time that an idle worker searches before it sleeps
  std::optional<std::uint64_t> chaos;  ///< seed of chaos mode: random order, delays, placement
  /// Perfetto/Chrome JSON written at the end; empty: none. A file that cannot be opened is an
  /// option_error of the constructor.
  std::string trace_file;
  bool summary = false;        ///< table of tasks, kernels and copies at the end
  bool hang_diagnosis = true;  ///< end a hung run
  /// Options of other modules by name without the prefix, e.g. {"completion", "word"}.
  std::map<std::string, std::string> extra;

  /// Returns the value of an option in `extra`, or `fallback`.
  [[nodiscard]] std::string get(const std::string& name, const std::string& fallback) const {
    const auto found = extra.find(name);
    return found == extra.end() ? fallback : found->second;
  }

  /// Reads the environment only. @throws option_error naming variable, value and accepted values
  [[nodiscard]] static runtime_options from_environment();

  /// Reads environment and command line. Removes the runtime's arguments from `argv`; the remaining
  /// arguments are the program's. `--starling-help` prints the list and exits with 0.
  /// @throws option_error naming option, value and accepted values
  [[nodiscard]] static runtime_options parse(int& argc, char** argv);
};

}  // namespace starling
