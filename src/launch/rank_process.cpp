// SPDX-License-Identifier: Apache-2.0
#include "rank_process.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <starling/net/bootstrap.hpp>

namespace starling::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view old = *entry;
    const bool replaced = std::any_of(variables.begin(), variables.end(), [&](const auto& made) {
      return old.starts_with(std::string_view(made).substr(0, made.find('=') + 1));
    });
    if (!replaced) all.emplace_back(old);
  }
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

/// Adds the rank's share of devices and cores, unless the user has set these variables.
void add_shares(std::vector<std::string>& variables, const start_settings& all,
                const rank_settings& mine) {
  const auto unless_set = [&](const char* name, const std::string& value) {
    if (std::getenv(name) == nullptr) variables.push_back(fmt::format("{}={}", name, value));
  };
  unless_set("STARLING_DEVICES", fmt::format("{}/{}", mine.rank, all.ranks));
  if (!mine.processors)  // a bound rank finds only its own cores
    unless_set("STARLING_WORKERS",
               fmt::format("{}", std::max<std::size_t>(all.cores / std::size_t(all.ranks), 1)));
}

/// Returns the words behind the name in a line of /proc/…/stat. The name, in parentheses, may
/// contain any character.
std::string behind_name(const std::string& line) { return line.substr(line.rfind(')') + 1); }

/// Runs the program in the forked process.
[[noreturn]] void become_program(const start_settings& all, const rank_settings& mine,
                                 char* const* arguments, char* const* environment, pid_t launcher) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // the launcher ended before the line above
  if (mine.input >= 0) ::dup2(mine.input, 0);
  if (mine.output >= 0) ::dup2(mine.output, 1);
  if (mine.errors >= 0) ::dup2(mine.errors, 2);
  if (mine.processors) ::sched_setaffinity(0, sizeof *mine.processors, &*mine.processors);
  ::setrlimit(RLIMIT_NOFILE, &all.open_files);
  // The launcher ignores SIGPIPE for itself. Its other dispositions are inherited.
  std::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &all.signals, nullptr);
  ::execvpe(arguments[0], arguments, environment);
  const int failure = errno;
  (void)!::write(all.failed_starts, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace

pid_t start_rank(const start_settings& all, const rank_settings& mine) {
  std::vector<std::string> program = all.program;
  std::vector<std::string> variables = all.variables;
  variables.push_back(fmt::format("STARLING_LAUNCH_RANK={}", mine.rank));
  add_shares(variables, all, mine);
  std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> arguments = pointers(program);
  const std::vector<char*> entries = pointers(environment);
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int why = errno;
    rlimit processes{};
    ::getrlimit(RLIMIT_NPROC, &processes);
    throw bootstrap_error(fmt::format(
        "rank {} of {} cannot be started: {}; the limit of processes of this user "
        "(ulimit -u) is {}",
        mine.rank, all.ranks, std::strerror(why),
        processes.rlim_cur == RLIM_INFINITY ? "not set" : std::to_string(processes.rlim_cur)));
  }
  if (pid == 0) become_program(all, mine, arguments.data(), entries.data(), launcher);
  ::setpgid(pid, pid);  // in both processes: their order is not defined
  return pid;
}

bool is_exiting(pid_t process) {
  namespace fs = std::filesystem;
  constexpr unsigned long exiting = 4;  // PF_EXITING of <linux/sched.h>
  bool is_known = false;
  std::error_code gone;
  fs::directory_iterator thread(fmt::format("/proc/{}/task", process), gone);
  for (; !gone && thread != fs::directory_iterator(); thread.increment(gone)) {
    std::ifstream file(thread->path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;      // the thread has ended meanwhile
    std::istringstream words(behind_name(line));  // the flags are the seventh word
    std::string word;
    for (int i = 0; i < 6; ++i) words >> word;
    unsigned long flags = 0;
    if (!(words >> flags) || (flags & exiting) == 0) return false;
    is_known = true;
  }
  return is_known;
}

bool is_stopped(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  std::istringstream words(behind_name(line));
  std::string state;
  return words >> state && state == "T";
}

}  // namespace starling::launch
