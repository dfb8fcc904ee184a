// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <starling/core/detail/promise_base.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/object_space.hpp>

#include "flow_control.hpp"
#include "rank_tree.hpp"

namespace starling::detail {

/// The traffic of a rank with other ranks. Messages are received when they are passed to a worker;
/// transfers are counted when a receive is requested and when it is complete. A message counts as
/// its share (flow_control has the sum over the sent messages), a load as one. Relaxed: the counts
/// are added up only at quiescence, and the sums of two waves are compared.
struct rank_traffic {
  std::atomic<std::uint64_t> loads_sent{0};
  std::atomic<std::uint64_t> received{0};  // written within a poll only
  std::atomic<std::uint64_t> transfers_begun{0};
  std::atomic<std::uint64_t> transfers_over{0};
  std::atomic<std::uint64_t> refused{0};  // messages; run_ender is about to end the run
};

/// The counts of a rank, or of a subtree of ranks, at quiescence.
struct quiescence_counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t transfers_begun = 0;
  std::uint64_t transfers_over = 0;
  std::uint64_t waiting = 0;   // coroutines that wait for quiescence
  std::uint64_t stranded = 0;  // messages that wait for an object; loads without a mark
  std::uint64_t ended = 0;     // ranks on which an error or exit_run has ended the run, or will
  friend bool operator==(const quiescence_counts&, const quiescence_counts&) = default;
};

/// Detects that all ranks are quiescent and no message is in transit, and resumes the coroutines
/// that wait for it. If no coroutine waits for it, reports that the run hangs.
///
/// Rank 0 sends waves down a binary tree of ranks. Each rank answers when it and its subtree are
/// quiescent, with the sums of the subtree's counts so far. Two successive waves with the same
/// sums, and as much sent as received, show quiescence (Mattern's four-counter method: "Algorithms
/// for distributed termination detection", Distributed Computing 2, 1987). The detector's own
/// messages are not counted. Rank 0 sends the quiescence message to each rank directly. The next
/// wave can overtake that message, so a wave carries the number of quiescences so far, and a rank
/// handles a new one before it answers the wave. A transfer counts only from the request of its
/// receive on. While a receive is in progress, no quiescence is found.
///
/// Used on the rank's first worker, except where another thread is named.
class quiescence_detector {
 public:
  quiescence_detector(job& by, object_space& space, const rank_traffic& traffic,
                      const flow_control& flow) noexcept
      : m_job(by), m_space(space), m_traffic(traffic), m_flow(flow) {}

  /// Any thread: makes a coroutine, about to be suspended, ready when all ranks are quiescent.
  /// `before_others`: only on rank 0; other coroutines then wait for the next quiescence.
  void resume_at_quiescence(promise_base& c, bool before_others);
  /// Any thread: makes all waiting coroutines ready, as an error or exit_run has ended the run.
  void release_all() noexcept;
  /// Any thread of rank 0: starts waves to detect a hang, unless they are in progress.
  void look() noexcept;
  /// Any thread of rank 0: sets whether a thread waits for the run. Only then is a hang reported.
  void set_waited_for(bool waited_for) noexcept { m_is_waited_for.store(waited_for); }

  // --- messages of other ranks, or of this rank
  void on_wanted();
  void on_wave(std::uint64_t wave);
  /// Returns whether `wave` is the number of the next wave, and the previous wave has ended in this
  /// subtree.
  [[nodiscard]] bool is_next(std::uint64_t wave) const noexcept {
    return wave == m_wave + 1 && m_missing == 0;
  }
  /// Notes the answer of a child rank. Returns false when it has answered already or `from` is no
  /// child rank.
  [[nodiscard]] bool take_answer(int from, std::uint64_t wave) noexcept;
  void on_counts(const quiescence_counts& of_subtree);
  /// Returns whether a message that announces `count` quiescences can be true: each needs an answer
  /// of this rank, given after it was notified of the previous one, so at most one is unknown here.
  [[nodiscard]] bool may_have_been(std::uint64_t count) const noexcept {
    return count <= m_quiescences + 1;
  }
  /// Notes `count` quiescences: makes the coroutines ready that the last wave counted.
  void on_quiescence(std::uint64_t count);
  void on_question();
  void on_description(int rank, const std::string& text);

 private:
  template <class Handler, class... V>
  void tell(int rank, const V&... values);
  [[nodiscard]] rank_tree tree() const noexcept { return {m_job.rank(), m_job.size()}; }
  [[nodiscard]] std::uint64_t will_have_ended() const noexcept;
  void answer();
  void conclude();
  [[nodiscard]] bool release_first() noexcept;
  void report_hang();

  job& m_job;
  object_space& m_space;
  const rank_traffic& m_traffic;
  const flow_control& m_flow;

  std::mutex m_mutex;
  ready_list m_waiting;                   // guarded by m_mutex
  ready_list m_first;                     // guarded by m_mutex: resumed one by one before these
  std::size_t m_counted = 0;              // guarded by m_mutex: coroutines counted by the last wave
  bool m_is_over = false;                 // guarded by m_mutex: no coroutine waits any more
  std::atomic<bool> m_is_looking{false};  // claimed by one caller of `look`
  std::atomic<bool> m_is_waited_for{false};

  std::uint64_t m_quiescences = 0;  // quiescences with waiting coroutines since the run began

  // The wave in progress.
  std::uint64_t m_wave = 0;
  int m_missing = 0;                     // answers to come: of this rank and of the child ranks
  std::array<bool, 2> m_has_answered{};  // by child rank
  quiescence_counts m_counts;

  // Used on rank 0 only.
  bool m_is_active = false;
  bool m_is_first_left = false;  // `m_first` was not empty at the last quiescence
  bool m_was_wanted = false;     // on_wanted() was called since `m_is_active` was set
  quiescence_counts m_before;    // sums of the last wave
  bool m_has_before = false;
  int m_undescribed = 0;
  std::vector<std::string> m_descriptions;  // by rank
};

}  // namespace starling::detail
