// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <starling/net/bootstrap.hpp>

#include "beat_socket.hpp"
#include "siphash.hpp"

namespace starling::detail {

/// Heartbeats between the ranks of a job. They detect failures other than the end of a process: a
/// stopped process, a host that hangs.
///
/// Each rank has a thread that sends a datagram to the next few ranks, in a ring, and receives
/// those of the ranks before it. The thread of a busy process continues to send, that of a stopped
/// process does not. A rank that misses another rank reports this to all ranks. A rank from which
/// no heartbeat has ever arrived is not missed: its host may be unreachable, or its heartbeats are
/// switched off. A rank that was stopped itself ignores the silence of that time. Datagrams carry a
/// code that only ranks of the job can compute.
class heartbeat {
 public:
  using clock = std::chrono::steady_clock;
  /// Called by the heartbeat thread, once for each silent rank that this or another rank has
  /// missed.
  using loss_handler = std::function<void(int rank, std::chrono::milliseconds silence)>;
  /// Number of intervals of silence after which a rank counts as failed. The interval is the option
  /// --starling-heartbeat.
  static constexpr int patience = 4;

  /// Collective. `is_near[r]`: rank r is on this host. With an interval of 0 this rank sends no
  /// heartbeats and misses no rank. @throws bootstrap_error, resource_error, std::system_error
  heartbeat(bootstrap& ranks, const std::vector<bool>& is_near, std::chrono::milliseconds interval,
            loss_handler on_loss);
  heartbeat(const heartbeat&) = delete;
  heartbeat& operator=(const heartbeat&) = delete;
  /// Ends the thread and sends a goodbye to all ranks, so that this rank is not missed.
  ~heartbeat();

  /// Returns the secret key that all ranks of the job share.
  [[nodiscard]] const siphash_key& key() const noexcept { return m_key; }

  /// Starts the thread, unless the interval is 0. @throws resource_error
  void start();

 private:
  enum class what : std::uint64_t { alive, goodbye, lost };
  /// A datagram.
  struct beat {
    std::uint64_t from;
    std::uint64_t number;  // increases with each datagram of a sender
    std::uint64_t kind;
    std::uint64_t about;       // of `lost`: the silent rank
    std::uint64_t silence_ms;  // of `lost`: the duration of the silence
    std::uint64_t code;
  };
  struct peer {
    std::optional<beat_address> address;
    const beat_socket* by = nullptr;
    std::uint64_t last_number = 0;
    // Arrival of the last heartbeat; empty: none, or the rank is not watched.
    std::optional<clock::time_point> heard;
    bool is_told = false;  // m_on_loss was called
  };

  void run() noexcept;
  void wait_until(clock::time_point when) const noexcept;
  void listen();
  void take(const beat& b);
  void look();
  void lose(int rank, std::chrono::milliseconds silence);
  void send_alive() noexcept;
  void send(peer& to, what kind, int about = 0, std::chrono::milliseconds silence = {}) noexcept;
  [[nodiscard]] std::uint64_t code_of(const beat& b) const noexcept;
  [[nodiscard]] bool is_watched(int rank) const noexcept;

  int m_rank;
  std::chrono::milliseconds m_interval;
  loss_handler m_on_loss;
  beat_socket m_near{beat_socket::reach::host};
  std::optional<beat_socket> m_far;  // set if there are ranks of other hosts
  siphash_key m_key{};
  std::vector<peer> m_peers;
  std::uint64_t m_sent = 0;
  unique_fd m_end;  // becomes readable when the thread must end
  std::thread m_thread;
};

}  // namespace starling::detail
