// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <starling/objects/detail/job.hpp>

namespace starling::detail {

/// How many bytes of messages are on their way from this rank to each other one, in queues and in
/// mailboxes there, and who waits for them to become fewer. Thread-safe.
///
/// Each rank adds up what it has worked off of each other one, and tells that one the sum now and
/// then: sums may overtake each other, so the largest counts.
class send_flow {
 public:
  explicit send_flow(int ranks)
      : m_ranks(std::size_t(ranks)), m_of(std::make_unique<rank_flow[]>(m_ranks)) {}

  /// What a message takes, with what it is kept in.
  [[nodiscard]] static constexpr std::uint64_t share(std::size_t bytes) noexcept {
    return bytes + 128;
  }

  // --- of what this rank sends
  void sent(int to, std::uint64_t share) noexcept {
    of(to).sent.fetch_add(share, std::memory_order_relaxed);
  }
  /// What others may hand on.
  void sent_by_tree(int to, std::uint64_t share) noexcept {
    m_by_tree.fetch_add(share, std::memory_order_relaxed);
    sent(to, share);
  }
  /// To all ranks, straight to them.
  [[nodiscard]] std::uint64_t sent_in_all() const noexcept;
  [[nodiscard]] std::uint64_t outstanding(int to) const noexcept {
    const rank_flow& f = of(to);
    const std::uint64_t gone = f.worked_off.load(std::memory_order_relaxed);  // first: never more
    return f.sent.load(std::memory_order_relaxed) - gone;
  }
  [[nodiscard]] bool has_room(int to) const noexcept {
    return outstanding(to) < job::room_for_messages;
  }
  /// False: there is room, and it is not enlisted.
  [[nodiscard]] bool enlist(room_wait& w) noexcept;
  /// False: it goes on already.
  bool withdraw(room_wait& w) noexcept;
  /// Rank `by` has worked off so much in all. False: that cannot be.
  [[nodiscard]] bool take_report(int by, std::uint64_t sum) noexcept;

  // --- of what it gets
  /// What is to be reported to that rank; 0: nothing yet.
  [[nodiscard]] std::uint64_t worked_off(int from, std::uint64_t share) noexcept;

 private:
  struct alignas(64) rank_flow {
    // Sums of shares. Relaxed: they say how much, and hand nothing over; whoever waits looks at
    // them under the lock.
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> worked_off{0};  // of `sent`, as reported
    std::atomic<std::uint64_t> done{0};        // of what came from there
    std::atomic<std::uint64_t> told{0};        // of `done`
    std::mutex lock;
    room_wait* waits = nullptr;
  };
  [[nodiscard]] rank_flow& of(int rank) const noexcept { return m_of[std::size_t(rank)]; }

  std::size_t m_ranks;
  std::unique_ptr<rank_flow[]> m_of;
  std::atomic<std::uint64_t> m_by_tree{0};  // of what was sent
};

}  // namespace starling::detail
