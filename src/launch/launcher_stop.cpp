// SPDX-License-Identifier: Apache-2.0
// Stops at a checkpoint: by `starling resize`, and by a signal.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "launcher.hpp"

namespace starling::launch {
namespace {

constexpr std::chrono::seconds stop_time(10);  // for the ranks, to end after the checkpoint
constexpr std::chrono::milliseconds look_interval(20);  // while a request is made

}  // namespace

outcome launcher::how_it_ended() const {
  if (m_is_stopped) return outcome::ended;
  if (m_stop.state() != stop_state::stopped)
    return m_has_lost_a_rank ? outcome::lost : outcome::ended;
  const bool must_end = m_job.must_stop || m_stop.is_by_signal();
  return m_resize && !must_end ? outcome::resized : outcome::ended;
}

int launcher::next_ranks() const {
  if (m_resize) return m_resize->wanted.ranks;
  return m_options.shrink ? std::max(m_options.ranks - 1, 1) : m_options.ranks;
}

/// Keeps what the program has told of its checkpoints for requests during the next start.
void launcher::note_checkpoints() {
  if (!m_stop.has_checkpoints()) return;
  m_job.has_checkpoints = true;
  m_job.stop_signal = m_stop.signal();
}

void launcher::resize_requested(const resize_request& wanted) {
  note_checkpoints();
  if (!m_options.may_restart) return m_control.answer(false, "it was started without --restarts");
  if (m_is_stopped || m_job.must_stop) return m_control.answer(false, "it is ending");
  if (!m_job.has_checkpoints)
    return m_control.answer(false, "its program has not opened starling::checkpoints");
  if (wanted.ranks == m_options.ranks)
    return m_control.answer(true, fmt::format("the job has {} ranks already", wanted.ranks));
  m_resize = resize{wanted, clock::now() + std::chrono::duration_cast<clock::duration>(
                                               std::chrono::duration<double>(wanted.within))};
  m_stop.make();
  m_look_at = clock::now();
}

void launcher::requester_left() {
  // A checkpoint that has begun is the last one: the job has to be started again then.
  if (m_resize && !m_job.must_stop && m_stop.withdraw()) m_resize.reset();
}

void launcher::refuse_resize(const std::string& why) {
  m_resize.reset();
  m_control.answer(false, why);
}

/// Requests the end at the next checkpoint if `number` is the signal for it. Returns false if the
/// signal has its usual effect: it is another signal, or the second one.
bool launcher::stop_at_checkpoint(int number) {
  note_checkpoints();
  if (number != m_job.stop_signal || m_job.must_stop || m_verdict) return false;
  m_job.must_stop = true;
  m_stop.make();
  m_look_at = clock::now();
  say(fmt::format("got signal {} ({}): the job ends at its next checkpoint", number,
                  ::strsignal(number)));
  return true;
}

/// Returns whether a rank has ended or is exiting. Rank 0 may see a loss before this process does.
bool launcher::loses_a_rank() const {
  return m_verdict || !m_ended.empty() || any_rank(is_exiting);
}

/// Looks at the answer of rank 0, for which it does not wake the launcher.
void launcher::look_at_request() {
  m_look_at.reset();
  // Refuses nothing while a rank is being lost: the job then starts again with the wanted number of
  // ranks, or ends, and both answer the request.
  const auto refuse = [this](const std::string& why) {
    if (!loses_a_rank() && m_stop.withdraw()) refuse_resize(why);
  };
  switch (m_stop.state()) {
    case stop_state::stopped:
      return note_stop();
    case stop_state::failed:
      // A stopped rank is lost, too: it is the reason why the checkpoint could not be taken.
      if (m_job.must_stop)
        m_stop.make();  // at the next checkpoint
      else if (m_resize && !any_rank(is_stopped))
        refuse("its checkpoint could not be taken; it continues");
      break;
    case stop_state::wanted:
      if (m_resize && !m_job.must_stop && clock::now() >= m_resize->until)
        refuse(fmt::format("it has come to no checkpoint within {} s; it continues",
                           m_resize->wanted.within));
      break;
    default:
      break;
  }
  if (m_resize || m_job.must_stop) m_look_at = clock::now() + look_interval;
}

/// After the last checkpoint, whatever ranks do is no failure, and stopping them loses nothing.
void launcher::note_stop() {
  if (m_is_stopped || m_stop.state() != stop_state::stopped) return;
  const bool is_new = !m_verdict || m_verdict->exit_code != detail::stopped_exit_code;
  if (is_new && !m_ending) m_end_at = clock::now() + stop_time;
  m_verdict = verdict{detail::stopped_exit_code,
                      fmt::format("stopped at checkpoint {} as requested", m_stop.number()), true,
                      m_verdict ? m_verdict->ended : 0};
}

}  // namespace starling::launch
