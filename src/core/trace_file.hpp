// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace starling::detail {

/// The rank and the job of this process, according to the launcher's environment.
struct launched_rank {
  int rank;
  std::string job;  ///< different for each job
};

/// Returns this process's rank; no value if the process was started without a launcher, or is the
/// only rank of `starling launch`.
[[nodiscard]] std::optional<launched_rank> find_launched_rank();

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, file_closer>;

/// Writes the events of one rank to an open file, separated by commas, with times in ns since
/// `zero_ns` of the steady clock.
using event_writer = std::function<void(std::FILE* out, std::uint64_t zero_ns)>;

/// Writes a timeline of one process. @throws error naming the file
void write_trace(const std::string& path, std::uint64_t start_ns, const event_writer& events);

/// Adds a rank's events to the timeline of its job. The first rank replaces the file's earlier
/// content. Ranks exclude each other by a lock of the file, and each replaces the whole file, so
/// that it remains valid if a process is killed: only the events of that rank are missing.
/// @throws error naming the file
void add_to_trace(const std::string& path, const launched_rank& mine, std::uint64_t start_ns,
                  const event_writer& events);

}  // namespace starling::detail
