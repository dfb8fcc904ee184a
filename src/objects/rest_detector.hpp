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

#include "rank_tree.hpp"
#include "send_flow.hpp"

namespace starling::detail {

/// What a rank has sent others and has got from them: messages when they have been handed to a
/// worker, transfers when they are asked for and when they are over. A message counts as its share
/// (of which send_flow has the sum of those sent), what goes down a tree as one. Relaxed: summed up
/// only where nothing moves, and compared twice.
struct rank_traffic {
  std::atomic<std::uint64_t> loads_sent{0};
  std::atomic<std::uint64_t> received{0};  // written within a poll alone
  std::atomic<std::uint64_t> transfers_begun{0};
  std::atomic<std::uint64_t> transfers_over{0};
  std::atomic<std::uint64_t> refused{0};  // messages: run_ender is about to end the run
};

/// What a rank, or a part of the tree of ranks, has counted at rest.
struct rest_counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t transfers_begun = 0;
  std::uint64_t transfers_over = 0;
  std::uint64_t waiting = 0;   // coroutines that wait for quiescence
  std::uint64_t stranded = 0;  // messages that wait for what they name, or for what names them
  std::uint64_t ended = 0;     // ranks where the run has ended by an error or exit_run, or will
  friend bool operator==(const rest_counts&, const rest_counts&) = default;
};

/// Finds out when all ranks are at rest and no message is on its way, and tells who waits for that;
/// if nobody does, that the run is hung.
///
/// Rank 0 sends waves down a binary tree of ranks; each answers, when it and those below it are at
/// rest, with the messages counted so far, by weight. Two waves with the same counts, as much sent
/// as received, are quiescence (Mattern's four-counter method: "Algorithms for distributed
/// termination detection", Distributed Computing 2, 1987). Its own messages are not counted. Rank 0
/// sends the quiescence message to each rank directly. The next wave can overtake it, so a wave
/// carries the number of quiescences so far, which a rank acts on before it answers.
/// Transfers that nobody receives do not count, either, when they have stood still for a while.
///
/// Used on the rank's first worker, but for `resume_at_rest` and `look`.
class rest_detector {
 public:
  rest_detector(job& by, object_space& space, const rank_traffic& traffic,
                const send_flow& flow) noexcept
      : m_job(by), m_space(space), m_traffic(traffic), m_flow(flow) {}

  /// Any thread: makes a coroutine, about to be suspended, ready at rest.
  void resume_at_rest(promise_base& c);
  /// Any thread: the run has ended by an error or exit_run, so that what waits goes on to its end.
  void release_all() noexcept;
  /// Any thread of rank 0: looks for a hang, unless that is under way.
  void look() noexcept;
  /// By rank 0: whether somebody waits for the run, so that it can be hung.
  void set_waited_for(bool waited_for) noexcept { m_is_waited_for.store(waited_for); }

  // --- messages of other ranks, or to oneself
  void on_wanted();
  void on_wave(std::uint64_t wave);
  /// The last one is over, as far as this part of the tree goes.
  [[nodiscard]] bool is_next(std::uint64_t wave) const noexcept {
    return wave == m_wave + 1 && m_missing == 0;
  }
  /// Notes that a rank answers. False: it has, or is not one of those that do.
  [[nodiscard]] bool take_answer(int from, std::uint64_t wave) noexcept;
  void on_counts(const rest_counts& of_part);
  /// Whether there may have been `count` quiescences: each needs an answer of this rank that is
  /// sent after it knows of the one before.
  [[nodiscard]] bool may_have_been(std::uint64_t count) const noexcept {
    return count <= m_quiescences + 1;
  }
  /// There have been `count` quiescences: makes the coroutines ready that the last wave counted.
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
  void report_hang();

  job& m_job;
  object_space& m_space;
  const rank_traffic& m_traffic;
  const send_flow& m_flow;

  std::mutex m_mutex;
  ready_list m_waiting;                   // guarded by m_mutex
  std::size_t m_counted = 0;              // of these, by the last wave
  bool m_is_over = false;                 // guarded by m_mutex: none waits any more
  std::atomic<bool> m_is_looking{false};  // claims the one look
  std::atomic<bool> m_is_waited_for{false};

  std::uint64_t m_quiescences = 0;  // that coroutines waited for, since the run began

  // The wave under way.
  std::uint64_t m_wave = 0;
  int m_missing = 0;                     // answers: our own and those from below
  std::array<bool, 2> m_has_answered{};  // of those
  rest_counts m_counts;

  // Of rank 0.
  bool m_is_active = false;
  bool m_was_wanted = false;  // since it has been
  rest_counts m_before;       // of the last wave
  bool m_has_before = false;
  int m_undescribed = 0;
  std::vector<std::string> m_descriptions;  // by rank
};

}  // namespace starling::detail
