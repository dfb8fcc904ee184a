// SPDX-License-Identifier: Apache-2.0
#include "driver/continuation.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include <starling/core/error.hpp>

#include "io/restart.hpp"

namespace stars {

namespace fs = std::filesystem;

namespace {

std::int64_t number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
}

/// Returns the step in the name of a restart file; -1 for other files.
long step_in(const std::string& name) {
  static const std::regex form("restart([0-9]{5,18})\\.h5");
  std::smatch found;
  return std::regex_match(name, found, form) ? std::stol(found[1]) : -1;
}

/// Returns the time of the last change, since 1970; 0 if the file is gone.
std::int64_t written_at(const fs::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return 0;
  return std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec;
}

/// Reads all of a file. Throws if it is not whole.
void check_whole(const fs::path& file) {
  constexpr int most = 64 * 512 / cells_per_subgrid;  // leaves at a time: 4 MB
  const int leaves = read_restart_header(file).state.grid.subgrid_count();
  for (int first = 0; first < leaves; first += most)
    static_cast<void>(read_restart_part(file, first, std::min(most, leaves - first)));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  return names;
}

void print_unusable(const found_restart& found) {
  for (const std::string& line : found.unusable) fmt::print(stderr, "stars: not used: {}\n", line);
}

void continue_from(settings& s, const fs::path& file) {
  s.restart_from = file.string();
  fmt::print("stars: continues from {}\n", s.restart_from);
}

/// Returns whether the job has written a file to continue from.
bool continue_own_job(settings& s, const launched_job& job) {
  remove_unfinished(s.output);
  const found_restart own = newest_restart(s.output, job.begin_ns);
  print_unusable(own);
  if (own.newest) continue_from(s, *own.newest);
  return own.newest.has_value();
}

}  // namespace

launched_job job_of_environment() {
  return {number_in("STARLING_LAUNCH_RESTARTS"), number_in("STARLING_LAUNCH_BEGIN")};
}

found_restart newest_restart(const fs::path& folder, std::int64_t not_before_ns) {
  std::vector<std::pair<long, fs::path>> files;
  for (const std::string& name : names_in(folder))
    if (const long step = step_in(name); step >= 0 && written_at(folder / name) >= not_before_ns)
      files.emplace_back(step, folder / name);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return b < a; });
  found_restart found;
  for (const auto& [step, file] : files) {
    try {
      check_whole(file);
      found.newest = file;
      return found;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      found.unusable.emplace_back(e.what());
    }
  }
  return found;
}

void remove_unfinished(const fs::path& folder) {
  static const std::regex form(
      "\\.(restart[0-9]+\\.h5|(plt[0-9]*|unphysical)(\\.vtkhdf)?)\\..*-[0-9]+-[0-9]+");
  for (const std::string& name : names_in(folder)) {
    if (!std::regex_match(name, form)) continue;
    std::error_code ignored;  // the run can do without
    fs::remove_all(folder / name, ignored);
  }
}

void choose_restart(settings& s, const launched_job& job) {
  if (job.restarts > 0 && continue_own_job(s, job)) return;
  if (s.restart_from != "latest") return;
  const found_restart any = newest_restart(s.output, 0);
  print_unusable(any);
  if (!any.newest && !any.unusable.empty())
    throw starling::option_error(fmt::format(
        "--restart latest: no restart file in {} is whole; move them away to begin anew",
        s.output));
  s.restart_from.clear();
  if (any.newest) continue_from(s, *any.newest);
}

}  // namespace stars
