// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <starling/objects/detail/job.hpp>

namespace starling::detail {

/// The bytes of messages in transit from this rank to each other rank, including messages in queues
/// and mailboxes there, and the coroutines that wait for room. Thread-safe.
///
/// Each rank adds up the bytes that it has processed for each sender and reports the sum to the
/// sender from time to time. Reports may overtake each other, so the largest one counts.
class flow_control {
 public:
  explicit flow_control(int ranks)
      : m_ranks(std::size_t(ranks)), m_of(std::make_unique<rank_flow[]>(m_ranks)) {}

  /// Returns the bytes that a message occupies, with its bookkeeping.
  [[nodiscard]] static constexpr std::uint64_t share(std::size_t bytes) noexcept {
    return bytes + 128;
  }

  // --- sent messages
  void sent(int to, std::uint64_t share) noexcept {
    of(to).sent.fetch_add(share, std::memory_order_relaxed);
  }
  /// Counts a message that other ranks may forward.
  void sent_by_tree(int to, std::uint64_t share) noexcept {
    m_by_tree.fetch_add(share, std::memory_order_relaxed);
    sent(to, share);
  }
  /// Returns the bytes sent to all ranks, without those sent by trees.
  [[nodiscard]] std::uint64_t sent_in_all() const noexcept;
  [[nodiscard]] std::uint64_t outstanding(int to) const noexcept {
    const rank_flow& f = of(to);
    // Read before `sent`, so that the difference is never negative.
    const std::uint64_t gone = f.acknowledged.load(std::memory_order_relaxed);
    return f.sent.load(std::memory_order_relaxed) - gone;
  }
  [[nodiscard]] bool has_room(int to) const noexcept {
    return outstanding(to) < job::room_for_messages;
  }
  /// Registers a waiter. Returns false, without registering it, when there is room.
  [[nodiscard]] bool enlist(room_wait& w) noexcept;
  /// Removes a waiter. Returns false when it is being resumed already.
  bool withdraw(room_wait& w) noexcept;
  /// Takes the report that rank `by` has processed `sum` bytes. Returns false when that is
  /// impossible.
  [[nodiscard]] bool take_report(int by, std::uint64_t sum) noexcept;

  // --- received messages
  /// Adds processed bytes of messages from rank `from`. Returns the sum to be reported to that
  /// rank; 0: no report is due.
  [[nodiscard]] std::uint64_t note_processed(int from, std::uint64_t share) noexcept;

 private:
  struct alignas(64) rank_flow {
    // Sums of shares. Relaxed: they publish no other data; waiters read them under the lock.
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> acknowledged{0};  // part of `sent` that the receiver has reported
    std::atomic<std::uint64_t> processed{0};     // processed bytes from that rank
    std::atomic<std::uint64_t> reported{0};      // part of `processed` reported to the sender
    std::mutex lock;
    room_wait* waits = nullptr;
  };
  [[nodiscard]] rank_flow& of(int rank) const noexcept { return m_of[std::size_t(rank)]; }

  std::size_t m_ranks;
  std::unique_ptr<rank_flow[]> m_of;
  std::atomic<std::uint64_t> m_by_tree{0};  // bytes sent by trees
};

}  // namespace starling::detail
