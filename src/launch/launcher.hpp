// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "control.hpp"
#include "guard.hpp"
#include "options.hpp"
#include "output.hpp"
#include "private_folder.hpp"
#include "rank_process.hpp"
#include "rendezvous.hpp"
#include "shared_memory_folder.hpp"
#include "stop_request.hpp"

namespace starling::launch {

/// What the launcher's process had before the launcher changed it, for the ranks.
struct inherited {
  sigset_t signals;  ///< signal mask
  rlimit open_files;
  std::chrono::steady_clock::time_point begin;  ///< of --timeout
  std::chrono::system_clock::time_point date;   ///< of the first start of the ranks
};
/// Blocks the signals that the launcher handles and raises the limit of open files. Called once,
/// before any resource is created.
[[nodiscard]] inherited take_over();

/// What the starts of one job have in common.
struct job_state {
  inherited before;
  int starts = 0;                ///< earlier starts of the ranks
  bool must_stop = false;        ///< a signal has asked for the end at the next checkpoint
  bool has_checkpoints = false;  ///< the program has opened some, in this start or an earlier one
  int stop_signal = 0;           ///< that the program took as a request then; 0: none
  std::string resized;           ///< answer to `starling resize` when the ranks have been started
};

/// Why all ranks have ended.
enum class outcome {
  ended,    ///< the job is over
  lost,     ///< a signal that is not the launcher's has killed or stopped a rank
  resized,  ///< they have stopped at a checkpoint, from which another number of ranks continues
};

/// Starts, serves and ends the ranks of one job of `starling launch`. One thread polls signals
/// (SIGCHLD included), the ranks' socket, their output, requests and the time limits.
class launcher final : private rendezvous_events, private control_events {
 public:
  /// After the first start of `job`, ranks restart from their latest checkpoint since the date in
  /// `job.before`. `requests`: where `starling resize` arrives.
  /// @throws bootstrap_error if a resource cannot be created
  launcher(options chosen, job_state& job, control& requests);

  /// Returns the exit code of the job.
  [[nodiscard]] int run();
  /// Returns why `run` has ended. An abort of a rank (SIGABRT) is an error of the program.
  [[nodiscard]] outcome how_it_ended() const;
  /// Returns the number of ranks with which the job is to continue after `resized` or `lost`.
  [[nodiscard]] int next_ranks() const;
  /// After `resized`: the number of the checkpoint.
  [[nodiscard]] std::uint64_t checkpoint() const { return m_stop.number(); }

 private:
  using clock = std::chrono::steady_clock;

  struct rank_state {
    pid_t pid = 0;
    bool running = false;      ///< the rank itself
    bool group_lives = false;  ///< the rank or a process of its group
    bool is_dying = false;     ///< was ending, or stopped, before the launcher ended the ranks
  };
  /// Cause of the job's end, other than the successful end of all ranks.
  struct verdict {
    int exit_code;
    std::string why;
    bool names_ended = true;  ///< the message has the number of ranks ended by the launcher
    int ended = 0;            ///< that number
  };

  // rendezvous_events
  void refused(const std::string& line) override {
    if (!m_ending) say(line);  // then messages of ended ranks are incomplete
  }
  void aborted(int rank, int exit_code, const std::string& why) override;
  void exhausted(const std::string& why) override;
  // control_events
  void resize_requested(const resize_request& wanted) override;
  void requester_left() override;

  void start_all();
  void start_one(const start_settings& all, int rank, const cpu_set_t* processors);
  bool all_were_started(int failed_starts);
  [[nodiscard]] std::vector<cpu_set_t> plan_binding();
  [[nodiscard]] start_settings common_settings(int failed_starts) const;
  [[nodiscard]] int input_of(int rank) const;

  void step();
  [[nodiscard]] int milliseconds_to_deadline() const;
  void take_signals();
  void take_signal(int number);
  void take_ended();
  struct end {
    int rank;
    siginfo_t how;
  };
  void reap(int rank);
  void judge(const end& one);
  void check_time();
  void note_dying();
  void end_soon(int exit_code, std::string why);
  void end_running(int exit_code, const std::string& why);
  void end_all(verdict why);
  void end_ranks();
  void signal_all(int number);
  void stop_and_continue();
  void note_checkpoints();
  bool stop_at_checkpoint(int number);
  void look_at_request();
  [[nodiscard]] bool loses_a_rank() const;
  void refuse_resize(const std::string& why);
  void note_stop();
  void write_what_is_left();
  int lost_output();
  void say(const std::string& line) { errors().put("starling launch: " + line + "\n"); }
  /// Returns the queue of stderr. It is that of stdout if both are one file, so that lines do not
  /// mix.
  [[nodiscard]] sink& errors() { return are_same_file(1, 2) ? m_output : m_errors; }

  [[nodiscard]] int running() const;
  [[nodiscard]] bool any_rank(bool (*holds)(pid_t)) const;
  [[nodiscard]] bool any_group_lives() const;

  options m_options;
  job_state& m_job;
  control& m_control;
  detail::unique_fd m_signals;
  sink m_output{1};
  sink m_errors{2};
  private_folder m_folder;
  shared_memory_folder m_shared;
  stop_request m_stop;
  guard m_guard;
  detail::wire::secret m_secret;
  rendezvous m_rendezvous;
  std::vector<rank_state> m_ranks;
  std::deque<labelled_stream> m_streams;
  std::vector<end> m_ended;  // ended ranks, not judged yet
  std::optional<verdict> m_verdict;
  std::optional<clock::time_point> m_time_is_over;  // end of --timeout
  std::optional<clock::time_point> m_end_at;        // SIGTERM to ranks still running, after --grace
  std::optional<clock::time_point> m_kill_at;       // SIGKILL
  std::optional<clock::time_point> m_judge_at;      // judgement although ranks are still exiting
  std::optional<clock::time_point> m_look_at;       // next look at the request to stop
  struct resize {
    resize_request wanted;
    clock::time_point until;
  };
  std::optional<resize> m_resize;  // requested, and not refused
  bool m_ending = false;           // the ranks got SIGTERM
  bool m_has_lost_a_rank = false;
  bool m_is_stopped = false;  // by a signal to the launcher, or --timeout
};

}  // namespace starling::launch
