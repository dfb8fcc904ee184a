// SPDX-License-Identifier: Apache-2.0
#include "launcher.hpp"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace starling::launch {
namespace {

constexpr std::chrono::seconds kill_after(2);  // from SIGTERM to SIGKILL
constexpr std::chrono::seconds exit_time(2);   // for the kernel to tear down an exiting rank
constexpr std::chrono::milliseconds second_look(100);
constexpr int timeout_exit_code = 124;  // as timeout(1)

}  // namespace

int launcher::run() {
  start_all();
  if (!m_verdict && !m_job.resized.empty()) m_control.answer(true, m_job.resized);
  m_job.resized.clear();
  while (any_group_lives()) step();
  // Reads the last messages and the last output of the ranks.
  m_rendezvous.serve_all();
  for (labelled_stream& stream : m_streams) stream.read_the_rest();
  note_checkpoints();
  note_stop();
  if (m_verdict) {
    const int count = m_verdict->names_ended ? m_verdict->ended : 0;
    std::string ended;
    if (count == 1) ended = "; ended the other rank";
    if (count > 1) ended = fmt::format("; ended the other {} ranks", count);
    say(m_verdict->why + ended);
  }
  write_what_is_left();
  const int lost = lost_output();
  return m_verdict ? m_verdict->exit_code : lost;
}

/// Returns the exit code for output that could not be written; 0 if there is none. Prints an error
/// unless the reader has closed the output (EPIPE).
int launcher::lost_output() {
  if (m_output.fault() == EPIPE || m_errors.fault() == EPIPE) return 128 + SIGPIPE;
  if (m_output.fault() == 0 && m_errors.fault() == 0) return 0;
  if (m_output.fault() != 0)
    say(fmt::format("standard output cannot be written: {}; output of the ranks is lost",
                    std::strerror(m_output.fault())));
  write_what_is_left();
  return 1;
}

void launcher::step() {
  std::vector<pollfd> polled;
  polled.push_back({m_signals.get(), POLLIN, 0});
  for (const sink* out : {&m_output, &m_errors})  // poll() ignores -1
    polled.push_back({out->is_empty() ? -1 : out->fd(), POLLOUT, 0});
  const std::size_t first_stream = polled.size();
  std::vector<labelled_stream*> streams;
  for (labelled_stream& stream : m_streams) {
    if (!stream.wants_to_read()) continue;
    polled.push_back({stream.fd(), POLLIN, 0});
    streams.push_back(&stream);
  }
  m_control.wants(polled);
  m_rendezvous.wants(polled);
  if (::poll(polled.data(), polled.size(), milliseconds_to_deadline()) < 0 && errno != EINTR) {
    throw error(fmt::format("poll: {}", std::strerror(errno)));
  }
  if (polled[1].revents != 0) m_output.write_some();
  if (polled[2].revents != 0) m_errors.write_some();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (polled[first_stream + i].revents != 0) streams[i]->read_some();
  }
  // Ended processes first: a rank's end is judged, if possible, before its socket is served.
  if (polled[0].revents != 0) take_signals();
  m_control.serve(polled, *this);
  m_rendezvous.serve(polled);
  check_time();
}

int launcher::milliseconds_to_deadline() const {
  auto soonest = clock::time_point::max();
  for (const auto& time :
       {m_verdict ? std::nullopt : m_time_is_over, m_end_at, m_kill_at, m_judge_at, m_look_at})
    soonest = std::min(soonest, time.value_or(soonest));
  if (soonest == clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(soonest - clock::now());
  return static_cast<int>(std::clamp<long>(left.count(), 0, 1'000'000));
}

void launcher::check_time() {
  if (m_time_is_over && !m_verdict && clock::now() >= *m_time_is_over) {
    m_is_stopped = true;
    end_running(timeout_exit_code,
                fmt::format("the {} s of --timeout are over", m_options.timeout));
  }
  if (m_look_at && clock::now() >= *m_look_at) look_at_request();
  if (m_end_at && clock::now() >= *m_end_at) end_ranks();
  if (m_judge_at && clock::now() >= *m_judge_at) take_ended();
  if (m_kill_at && clock::now() >= *m_kill_at) {
    signal_all(SIGKILL);
    // No signal reports that a process has left a group, so check again.
    m_kill_at = clock::now() + second_look;
    take_ended();
  }
}

void launcher::take_signals() {
  signalfd_siginfo info{};
  while (::read(m_signals.get(), &info, sizeof info) == sizeof info) {
    take_signal(static_cast<int>(info.ssi_signo));
  }
}

void launcher::take_signal(int number) {
  if (stop_at_checkpoint(number)) return;
  switch (number) {
    case SIGCHLD:
      return take_ended();
    case SIGTSTP:
      return stop_and_continue();
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
      return signal_all(number);
    default:
      break;
  }
  if (m_verdict && m_kill_at) {  // second request: kill at once
    m_kill_at = clock::now();
    return;
  }
  m_is_stopped = true;
  end_running(128 + number, fmt::format("got signal {} ({})", number, ::strsignal(number)));
}

void launcher::take_ended() {
  // Reads messages that ranks sent before their end, such as a request to end the job.
  m_rendezvous.serve_all();
  note_stop();
  for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
    if (m_ranks[rank].group_lives) reap(static_cast<int>(rank));
  }
  // A rank may end because of a killed rank that the kernel is still tearing down.
  if (!m_verdict && !m_ended.empty() && any_rank(is_exiting)) {
    if (!m_judge_at) m_judge_at = clock::now() + exit_time;
    if (clock::now() < *m_judge_at) return;
  }
  m_judge_at.reset();
  // Killed ranks first: ranks that exit because of a killed rank are not the cause.
  std::ranges::stable_partition(m_ended, [](const end& e) { return e.how.si_code != CLD_EXITED; });
  for (const end& one : std::exchange(m_ended, {})) {
    judge(one);
    m_rendezvous.rank_ended(one.rank);
  }
  // Processes that ranks have left in their groups end with the last rank.
  if (running() == 0 && any_group_lives() && !m_ending) end_ranks();
}

void launcher::reap(int rank) {
  rank_state& mine = m_ranks[static_cast<std::size_t>(rank)];
  for (;;) {
    // This process is the subreaper: orphans of the group are its children, too.
    siginfo_t how{};
    const auto id = static_cast<id_t>(mine.pid);
    // The rank itself first: it may have moved to another group.
    if (mine.running && ::waitid(P_PID, id, &how, WEXITED | WNOHANG) != 0) mine.running = false;
    if (how.si_pid == 0 && ::waitid(P_PGID, id, &how, WEXITED | WNOHANG) != 0) {
      if (mine.running) return;
      mine.group_lives = false;
      // From now on the kernel may reuse the number of the group.
      m_guard.set_group(rank, 0);
      return;
    }
    if (how.si_pid == 0) return;
    if (how.si_pid != mine.pid) continue;
    mine.running = false;
    m_ended.push_back({rank, how});
  }
}

void launcher::judge(const end& one) {
  const auto& [rank, how] = one;
  if (how.si_code == CLD_EXITED && how.si_status == 0) return;
  // An abort that the rank sent shortly before its end takes precedence.
  m_rendezvous.serve_all();
  const pid_t pid = m_ranks[static_cast<std::size_t>(rank)].pid;
  if (how.si_code == CLD_EXITED) {
    end_soon(how.si_status,
             fmt::format("rank {} (pid {}) exited with code {}", rank, pid, how.si_status));
  } else {
    const bool is_ours = m_verdict && !m_ranks[static_cast<std::size_t>(rank)].is_dying;
    if (!is_ours && how.si_status != SIGABRT) m_has_lost_a_rank = true;
    end_soon(128 + how.si_status, fmt::format("rank {} (pid {}) was killed by signal {} ({})", rank,
                                              pid, how.si_status, ::strsignal(how.si_status)));
  }
}

void launcher::aborted(int rank, int exit_code, const std::string& why) {
  const bool is_code = exit_code >= 0 && exit_code <= 255;
  // Without the number of ended ranks: the rank asked for their end.
  end_all({is_code ? exit_code : 255, fmt::format("rank {} ended the job: {}", rank, why), false});
}

void launcher::exhausted(const std::string& why) { end_all({1, why}); }

/// Notes the ranks that are lost, although their end will be seen later than that of others.
void launcher::note_dying() {
  for (rank_state& one : m_ranks)
    if (one.running && (is_exiting(one.pid) || is_stopped(one.pid))) one.is_dying = true;
}

/// Records the failure of a rank. The other ranks have the grace time to report it and end by
/// themselves.
void launcher::end_soon(int exit_code, std::string why) {
  if (m_verdict) return;
  note_dying();
  m_verdict = verdict{exit_code, std::move(why)};
  m_end_at = clock::now() + std::chrono::duration_cast<clock::duration>(
                                std::chrono::duration<double>(m_options.grace));
}

/// Ends all ranks now, and adds the number of running ranks to `why`.
void launcher::end_running(int exit_code, const std::string& why) {
  const int ranks = running();
  end_all(
      {exit_code, fmt::format("{}; ended {} rank{}", why, ranks, ranks == 1 ? "" : "s"), false});
}

/// Ends all ranks now. `why` is the verdict unless there is one already.
void launcher::end_all(verdict why) {
  const bool are_ended = m_verdict && !m_end_at;
  if (!m_verdict) m_verdict = std::move(why);
  if (!are_ended) end_ranks();
}

/// Sends SIGTERM to all running ranks and sets the time of SIGKILL.
void launcher::end_ranks() {
  if (m_verdict) m_verdict->ended = running();
  note_dying();
  m_end_at.reset();
  m_ending = true;
  m_kill_at = clock::now() + kill_after;
  signal_all(SIGTERM);
}

void launcher::signal_all(int number) {
  for (const rank_state& one : m_ranks) {
    if (!one.group_lives) continue;
    ::kill(-one.pid, number);
    const bool has_left = one.running && ::getpgid(one.pid) != one.pid;
    if (has_left) ::kill(one.pid, number);
    if (number != SIGTERM) continue;
    // Stopped processes must continue to receive SIGTERM.
    ::kill(-one.pid, SIGCONT);
    if (has_left) ::kill(one.pid, SIGCONT);
  }
}

void launcher::stop_and_continue() {
  signal_all(SIGSTOP);
  ::raise(SIGSTOP);
  signal_all(SIGCONT);
}

void launcher::write_what_is_left() {
  for (sink* out : {&m_output, &m_errors}) {
    while (!out->is_empty()) {
      pollfd polled[2] = {{out->fd(), POLLOUT, 0}, {m_signals.get(), POLLIN, 0}};
      if (::poll(polled, 2, -1) < 0) continue;
      if (polled[0].revents != 0) out->write_some();
      signalfd_siginfo info{};
      if (polled[1].revents != 0 && ::read(m_signals.get(), &info, sizeof info) > 0 &&
          info.ssi_signo != SIGCHLD) {
        return;  // the output is blocked, and a signal asks to end
      }
    }
  }
}

int launcher::running() const {
  return static_cast<int>(std::ranges::count_if(m_ranks, &rank_state::running));
}

bool launcher::any_rank(bool (*holds)(pid_t)) const {
  return std::ranges::any_of(
      m_ranks, [holds](const rank_state& one) { return one.running && holds(one.pid); });
}

bool launcher::any_group_lives() const {
  return std::ranges::any_of(m_ranks, &rank_state::group_lives);
}

}  // namespace starling::launch
