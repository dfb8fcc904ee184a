// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <starling/net/bootstrap.hpp>

#include "core/cpu_limit.hpp"
#include "cores.hpp"
#include "launcher.hpp"

namespace starling::launch {
namespace {

/// Files that the launcher opens for itself, and at most for each rank.
constexpr int files_of_launcher = 32;
constexpr int files_of_rank = 3;

[[noreturn]] void fail(const char* what) {
  throw bootstrap_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

detail::wire::secret new_secret() {
  detail::wire::secret made;
  if (::getrandom(made.data(), made.size(), 0) != static_cast<ssize_t>(made.size())) {
    fail("no random numbers");
  }
  return made;
}

struct pipe_ends {
  detail::unique_fd out;
  detail::unique_fd in;
};

/// Makes a pipe for a launcher of `ranks` ranks. @throws bootstrap_error
pipe_ends new_pipe(int ranks) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    throw bootstrap_error(fmt::format(
        "no pipe can be made: {}; the launcher of {} ranks needs up to {} open files, "
        "and the limit is {} (ulimit -n)",
        std::strerror(errno), ranks, files_of_launcher + files_of_rank * ranks, files.rlim_cur));
  }
  return {detail::unique_fd(ends[0]), detail::unique_fd(ends[1])};
}

rlimit raise_limit_of_files() {
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit raised = old;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return old;
}

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Returns the signals that the launcher handles. Signals that were ignored at its start (nohup, a
/// shell without job control) stay ignored, also in the ranks.
sigset_t signals_taken() {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP}) {
    if (!is_ignored(number)) ::sigaddset(&taken, number);
  }
  return taken;
}

/// Blocks the handled signals and returns the previous mask.
sigset_t block_signals() {
  // If SIGCHLD is ignored, ended children cannot be waited for. The ranks inherit the default.
  std::signal(SIGCHLD, SIG_DFL);
  const sigset_t taken = signals_taken();
  sigset_t old;
  ::sigprocmask(SIG_BLOCK, &taken, &old);
  return old;
}

}  // namespace

inherited take_over() {
  return {block_signals(), raise_limit_of_files(), std::chrono::steady_clock::now(),
          std::chrono::system_clock::now()};
}

launcher::launcher(options chosen, job_state& job, control& requests)
    : m_options(std::move(chosen)), m_job(job), m_control(requests), m_stop(m_folder.requests()),
      m_guard(m_folder.path(), m_shared.path(), m_options.ranks), m_secret(new_secret()),
      m_rendezvous(m_folder.socket(), m_secret, m_options.ranks, *this),
      m_ranks(static_cast<std::size_t>(m_options.ranks)) {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t taken = signals_taken();
  m_signals.reset(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!m_signals) fail("signalfd");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (m_options.timeout > 0) {
    m_time_is_over = m_job.before.begin + std::chrono::duration_cast<clock::duration>(
                                              std::chrono::duration<double>(m_options.timeout));
  }
  if (m_job.must_stop) {  // the signal came before a rank was lost
    m_stop.make();
    m_look_at = clock::now();
  }
}

start_settings launcher::common_settings(int failed_starts) const {
  start_settings all;
  all.program = m_options.program;
  all.variables = {"STARLING_LAUNCH_SOCKET=" + m_folder.socket(),
                   "STARLING_LAUNCH_SECRET=" + detail::wire::to_hex(m_secret),
                   fmt::format("STARLING_LAUNCH_SIZE={}", m_options.ranks),
                   "STARLING_LAUNCH_REQUESTS=" + m_folder.requests(),
                   fmt::format("STARLING_LAUNCH_RESTARTS={}", m_job.starts),
                   fmt::format("STARLING_LAUNCH_BEGIN={}",
                               m_job.before.date.time_since_epoch() / std::chrono::nanoseconds(1))};
  if (!m_shared.path().empty()) all.variables.push_back("UCX_POSIX_DIR=" + m_shared.path());
  all.ranks = m_options.ranks;
  all.cores = usable_cores().size();
  if (const unsigned limit = detail::cpu_limit("/"); limit != 0)
    all.cores = std::min<std::size_t>(all.cores, limit);
  all.signals = m_job.before.signals;
  all.open_files = m_job.before.open_files;
  all.failed_starts = failed_starts;
  return all;
}

void launcher::start_all() {
  const std::vector<cpu_set_t> shares = plan_binding();
  pipe_ends failed_starts = new_pipe(m_options.ranks);
  const start_settings all = common_settings(failed_starts.in.get());
  for (int rank = 0; rank < m_options.ranks; ++rank) {
    try {
      start_one(all, rank, shares.empty() ? nullptr : &shares[static_cast<std::size_t>(rank)]);
    } catch (const error& fault) {
      end_all({1, fault.what()});
      break;
    }
  }
  failed_starts.in.reset();
  if (!all_were_started(failed_starts.out.get())) signal_all(SIGKILL);
}

void launcher::start_one(const start_settings& all, int rank, const cpu_set_t* processors) {
  rank_settings mine;
  mine.rank = rank;
  // Only one rank can read standard input. No rank reads a terminal, which would stop a process
  // outside its foreground group.
  const detail::unique_fd nothing(
      rank == 0 && ::isatty(0) == 0 ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  mine.input = nothing.get();
  if (processors != nullptr) mine.processors = *processors;
  std::vector<detail::unique_fd> given;
  if (m_options.label) {
    for (const bool is_output : {true, false}) {
      pipe_ends pipe = new_pipe(m_options.ranks);
      ::fcntl(pipe.out.get(), F_SETFL, O_NONBLOCK);
      (is_output ? mine.output : mine.errors) = pipe.in.get();
      sink& to = is_output ? m_output : errors();
      m_streams.emplace_back(std::move(pipe.out), rank, to);
      given.push_back(std::move(pipe.in));
    }
  }
  rank_state& state = m_ranks[static_cast<std::size_t>(rank)];
  state.pid = start_rank(all, mine);
  state.running = state.group_lives = true;
  m_guard.set_group(rank, state.pid);
}

bool launcher::all_were_started(int failed_starts) {
  int failure = 0;  // errno
  if (::read(failed_starts, &failure, sizeof failure) != sizeof failure) return true;
  const bool is_absent = failure == ENOENT;
  end_all(
      {is_absent ? 127 : 126,
       fmt::format("cannot run '{}': {}; name a program's file, as in ./app, or a program in PATH",
                   m_options.program.front(), std::strerror(failure)),
       false});
  return false;
}

std::vector<cpu_set_t> launcher::plan_binding() {
  std::vector<cpu_set_t> shares;
  if (!m_options.bind_cores) return shares;
  const std::vector<core> cores = usable_cores();
  if (cores.size() < m_ranks.size()) {
    say(fmt::format("--bind core: {} ranks have only {} core{}: not bound", m_ranks.size(),
                    cores.size(), cores.size() == 1 ? "" : "s"));
    return shares;
  }
  for (int rank = 0; rank < m_options.ranks; ++rank) {
    shares.push_back(share_of(cores, rank, m_options.ranks));
  }
  return shares;
}

}  // namespace starling::launch
