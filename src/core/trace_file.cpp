// SPDX-License-Identifier: Apache-2.0
#include "trace_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <starling/core/error.hpp>

namespace starling::detail {
namespace {

constexpr std::string_view end_of_events = "\n]}\n";

[[noreturn]] void fail(const std::string& path, const char* what, int code) {
  throw error(fmt::format("trace file {}: {}: {}", path, what, std::strerror(code)));
}

file_handle open_file(const std::string& path, const char* mode) {
  file_handle file(std::fopen(path.c_str(), mode));
  if (file == nullptr) fail(path, "cannot open", errno);
  return file;
}

/// Writes the file `part`: what `write` prints, then the end of the events. Errors of writing name
/// the file `path`.
template <class Write>
void write_file(const std::string& part, const std::string& path, const Write& write) {
  file_handle out = open_file(part, "we");
  try {
    write(out.get());
    fmt::print(out.get(), "{}", end_of_events);
  } catch (const std::system_error& e) {  // how fmt reports a failed write
    fail(path, "cannot write", e.code().value());
  }
  // Writing the last bytes may fail only here.
  if (std::fclose(out.release()) != 0) fail(path, "cannot write", errno);
}

/// Opens the file of a job, locked against the other ranks until it is closed.
file_handle open_locked(const std::string& path) {
  for (;;) {
    file_handle file = open_file(path, "a+e");
    while (::flock(::fileno(file.get()), LOCK_EX) != 0)
      if (errno != EINTR) fail(path, "cannot lock", errno);
    struct stat locked {};
    struct stat named {};
    const bool is_same = ::fstat(::fileno(file.get()), &locked) == 0 &&
                         ::stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
                         locked.st_dev == named.st_dev;
    if (is_same) return file;  // otherwise another rank has replaced the file: open the new one
  }
}

/// Returns the offset from the steady clock to the system clock, which the hosts of a job share, in
/// ns. Uses the reading of several that took the shortest time, as the thread may be preempted
/// between reading the two clocks.
std::int64_t system_clock_offset() {
  using std::chrono::nanoseconds;
  const auto since_epoch = [](auto time) {
    return std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
  };
  std::int64_t offset = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int reading = 0; reading < 10; ++reading) {
    const std::int64_t before = since_epoch(std::chrono::steady_clock::now());
    const std::int64_t system = since_epoch(std::chrono::system_clock::now());
    const std::int64_t took = since_epoch(std::chrono::steady_clock::now()) - before;
    if (took >= shortest) continue;
    shortest = took;
    offset = system - before;
  }
  return offset;
}

/// Returns the beginning of the file of a job, up to the time that counts as zero.
std::string job_header(const launched_rank& mine) {
  std::string job = mine.job;
  for (char& c : job)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"job\":\"{}\",\"zero_ns\":\"",
                     job);
}

/// Returns the zero of the times in a file of this job, in ns of the system clock; no value if the
/// file belongs to another job or to none.
std::optional<std::int64_t> zero_of(std::FILE* file, const std::string& header) {
  std::string first(header.size() + 64, '\0');
  std::rewind(file);
  first.resize(std::fread(first.data(), 1, first.size(), file));
  if (!first.starts_with(header)) return std::nullopt;
  return std::strtoll(first.c_str() + header.size(), nullptr, 10);
}

/// Copies a file without `end_of_events` at its end, which is written again later.
void copy_events(std::FILE* from, std::FILE* to) {
  std::fseek(from, 0, SEEK_END);
  long left = std::ftell(from) - long(end_of_events.size());
  std::rewind(from);
  char block[1 << 16];
  while (left > 0) {
    const std::size_t count = std::fread(block, 1, std::min(std::size_t(left), sizeof block), from);
    if (count == 0) break;
    fmt::print(to, "{}", std::string_view(block, count));
    left -= long(count);
  }
}

}  // namespace

std::optional<launched_rank> find_launched_rank() {
  const auto get = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string rank = get("STARLING_LAUNCH_RANK"); !rank.empty()) {
    if (get("STARLING_LAUNCH_SIZE") == "1") return std::nullopt;
    return launched_rank{std::atoi(rank.c_str()), get("STARLING_LAUNCH_SOCKET")};
  }
  if (const std::string rank = get("PMIX_RANK"); !rank.empty())
    return launched_rank{std::atoi(rank.c_str()), get("PMIX_NAMESPACE")};
  return std::nullopt;
}

void write_trace(const std::string& path, std::uint64_t start_ns, const event_writer& events) {
  write_file(path, path, [&](std::FILE* out) {
    fmt::print(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    events(out, start_ns);
  });
}

void add_to_trace(const std::string& path, const launched_rank& mine, std::uint64_t start_ns,
                  const event_writer& events) {
  constexpr std::int64_t hour = 3'600'000'000'000;
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
    return write_trace(path, start_ns, events);  // such as /dev/null, which must not be replaced
  const file_handle before = open_locked(path);
  char real[PATH_MAX];  // the target of a link is replaced, not the link
  const std::string place = ::realpath(path.c_str(), real) != nullptr ? real : path;
  const std::string part = fmt::format("{}.rank{}", place, mine.rank);
  const std::string header = job_header(mine);
  const std::int64_t offset = system_clock_offset();
  const auto zero = zero_of(before.get(), header);
  // The zero of the times is so early that ranks which started before the first writing rank have
  // positive times.
  const std::int64_t own_zero =
      zero.value_or((std::int64_t(start_ns) + offset) / hour * hour - hour);
  write_file(part, path, [&](std::FILE* out) {
    if (zero) {
      copy_events(before.get(), out);
      fmt::print(out, ",\n");
    } else {
      fmt::print(out, "{}{}\"}},\"traceEvents\":[\n", header, own_zero);
    }
    events(out, std::uint64_t(own_zero - offset));
  });
  if (std::rename(part.c_str(), place.c_str()) != 0) fail(path, "cannot replace", errno);
}

}  // namespace starling::detail
