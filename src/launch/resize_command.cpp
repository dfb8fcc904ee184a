// SPDX-License-Identifier: Apache-2.0
#include "resize_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <starling/core/error.hpp>

#include "control.hpp"
#include "net/bootstrap/local/wire.hpp"

namespace starling::launch {
namespace {

constexpr int usage_exit_code = 2;

constexpr const char* resize_footer = R"(
The launcher asks the program to stop at its next checkpoint, and starts it again from this
checkpoint with N ranks. The job has to be started by `starling launch --restarts K` on this host,
by the same user, and its program has to take checkpoints with starling::checkpoints. A resize is
not counted as one of the K restarts. The command returns when the N ranks have been started.

If the job comes to no checkpoint in time (--within), or the checkpoint cannot be written, the job
continues as before. If the command is interrupted before the checkpoint, the job continues, too.
If a rank is lost meanwhile, one of the K restarts continues from the latest checkpoint on N ranks.

The exit code is 0 when the job runs on N ranks, 1 when it was not resized, and 2 for a wrong
command line.

Examples:
  starling resize 8
  starling resize --job 4711 --within 600 2)";

struct command_line {
  resize_request wanted{0, 60};
  pid_t job = 0;
};

void describe(CLI::App& app, command_line& into) {
  app.footer(resize_footer);
  app.add_option("ranks", into.wanted.ranks, "How many ranks the job is to have")
      ->option_text("N")
      ->required()
      ->check(CLI::Range(1, detail::wire::rank_limit));
  app.add_option("--job", into.job,
                 "The process number of `starling launch`, if several jobs are running")
      ->option_text("PID")
      ->check(CLI::Range(1, std::numeric_limits<pid_t>::max()));
  app.add_option("--within", into.wanted.within,
                 "How many seconds the job may take to come to its next checkpoint (default 60)")
      ->option_text("S")
      ->check(CLI::Range(0.0, 1e7));
}

/// Returns the only job of this user. @throws error if there is none, or several
pid_t only_job() {
  std::ifstream sockets("/proc/net/unix");
  if (!sockets)
    throw error(
        "/proc/net/unix cannot be read; name the process number of `starling launch` by "
        "--job");
  const std::vector<pid_t> found = launchers_in(sockets, ::geteuid());
  if (found.empty()) throw error("no job of `starling launch` of this user runs on this host");
  if (found.size() > 1)
    throw error(fmt::format("several jobs are running: choose one by --job {}",
                            fmt::join(found, ", or --job ")));
  return found.front();
}

/// Sends a request and returns the answer: '+' or '-', then a text. @throws error
std::string ask(pid_t job, const resize_request& wanted) {
  const detail::unique_fd to(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!to) throw error(fmt::format("no socket can be made: {}", std::strerror(errno)));
  const control_address of(::geteuid(), job);
  if (::connect(to.get(), reinterpret_cast<const sockaddr*>(&of.address), of.length) != 0)
    throw error(
        errno == ECONNREFUSED
            ? fmt::format("process {} is no `starling launch` of this user on this host", job)
            : fmt::format("job {} does not answer: {}", job, std::strerror(errno)));
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(to.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      peer.uid != ::geteuid())
    throw error(fmt::format("job {} belongs to user {}", job, peer.uid));
  const std::string packet = pack(wanted);
  char answer[1 << 13];
  ssize_t count = ::send(to.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  if (count >= 0) do {
      count = ::recv(to.get(), answer, sizeof answer, 0);
    } while (count < 0 && errno == EINTR);
  if (count <= 0) throw error(fmt::format("job {} has ended before it answered", job));
  return {answer, static_cast<std::size_t>(count)};
}

}  // namespace

std::vector<pid_t> launchers_in(std::istream& sockets, uid_t user) {
  constexpr unsigned long accepts = 1 << 16;  // __SO_ACCEPTCON of <linux/net.h>
  std::vector<pid_t> found;
  for (std::string line; std::getline(sockets, line);) {
    // Number, references, protocol, flags, type, state, inode, name.
    std::istringstream words(line);
    std::string word, name;
    unsigned long flags = 0;
    words >> word >> word >> word >> std::hex >> flags >> word >> word >> word >> name;
    if (!words || (flags & accepts) == 0) continue;
    if (const auto launcher = launcher_of(name, user)) found.push_back(*launcher);
  }
  std::ranges::sort(found);
  return found;
}

int run_resize(int argc, char** argv) {
  CLI::App app(resize_summary, "starling resize");
  command_line given;
  describe(app, given);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return app.exit(stop);  // help
    fmt::print(stderr, "starling resize: {}\nSee `starling resize --help`.\n", stop.what());
    return usage_exit_code;
  }
  try {
    const pid_t job = given.job != 0 ? given.job : only_job();
    const std::string answer = ask(job, given.wanted);
    if (answer.front() == '+') {
      fmt::print("{}\n", answer.substr(1));
      return 0;
    }
    throw error(fmt::format("job {} is not resized: {}", job, answer.substr(1)));
  } catch (const error& fault) {
    fmt::print(stderr, "starling resize: {}\n", fault.what());
    return 1;
  }
}

}  // namespace starling::launch
