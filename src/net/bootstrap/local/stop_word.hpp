// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::detail {

/// Exit code of a job that has stopped at a checkpoint as requested: EX_TEMPFAIL of <sysexits.h>,
/// which stands for "try again later".
inline constexpr int stopped_exit_code = 75;

/// Progress of the request to stop at a checkpoint.
enum class stop_state : std::uint32_t {
  none = 0,
  wanted = 1,    ///< set by the launcher, which may withdraw it
  accepted = 2,  ///< set by rank 0 at the checkpoint; cannot be withdrawn any more
  stopped = 3,   ///< set by rank 0: the checkpoint is complete on disk, and the ranks end
  failed = 4,    ///< set by rank 0: the checkpoint could not be taken, and the job continues
};

/// Memory that `starling launch` shares with rank 0 of its job: the content of the file
/// STARLING_LAUNCH_REQUESTS. Rank 0 polls it, because a rank has no thread that listens to the
/// launcher. Both processes run on one host.
struct stop_word {
  static constexpr std::uint32_t expected_mark = 0x31525453;  // "STR1"; changes with the layout

  std::uint32_t mark;  ///< constant
  /// 1: the program has opened checkpoints, and `signal` is valid (release, acquire).
  std::atomic<std::uint32_t> has_checkpoints;
  std::atomic<std::int32_t> signal;  ///< that rank 0 takes as a request to stop; 0: none
  /// A stop_state. Release and acquire: `stopped` publishes the fields below.
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> by_signal;  ///< 1: rank 0 itself has got the signal
  std::atomic<std::uint64_t> number;     ///< of the checkpoint
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// Changes the state from `from` to `to`; returns false if it is another one.
inline bool change_state(stop_word& word, stop_state from, stop_state to) noexcept {
  auto expected = static_cast<std::uint32_t>(from);
  // Acquire and release: the winner of wanted → none or accepted alone decides about the request.
  return word.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(to),
                                            std::memory_order_acq_rel);
}

}  // namespace starling::detail
