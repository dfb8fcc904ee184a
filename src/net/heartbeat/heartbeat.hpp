// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <starling/net/bootstrap.hpp>

#include "beat_socket.hpp"
#include "siphash.hpp"

namespace starling::detail {

/// Signs of life between the ranks of a job: finds those that were stopped, or whose host hangs,
/// and are not seen to have ended.
///
/// Each rank has a thread that sends a datagram to the next few ranks, in a ring, and listens for
/// those of the ranks before it. A process that computes goes on sending, one that is stopped does
/// not. Whoever misses a rank tells all others. A rank that was never heard of, because its host
/// cannot be reached so or it sends none, is not missed; nor does one that was stopped itself miss
/// anybody meanwhile. Datagrams bear a code that only ranks of the job can make.
class heartbeat {
 public:
  using clock = std::chrono::steady_clock;
  /// By the thread: `rank` has been silent for so long. Once for each.
  using loss_handler = std::function<void(int rank, std::chrono::milliseconds silence)>;
  /// A rank is lost after so many intervals of silence.
  static constexpr int patience = 4;

  /// Collective. `is_near[r]`: rank r is on this host. An interval of 0: this rank sends none and
  /// misses nobody. @throws bootstrap_error
  heartbeat(bootstrap& ranks, const std::vector<bool>& is_near, std::chrono::milliseconds interval,
            loss_handler on_loss);
  heartbeat(const heartbeat&) = delete;
  heartbeat& operator=(const heartbeat&) = delete;
  /// Says goodbye: this rank will not be missed.
  ~heartbeat();

  /// Of all ranks of the job, and known to them alone.
  [[nodiscard]] const siphash_key& key() const noexcept { return m_key; }

  /// From now on. @throws std::system_error
  void start();

 private:
  enum class what : std::uint64_t { alive, goodbye, lost };
  /// A datagram.
  struct beat {
    std::uint64_t from;
    std::uint64_t number;  // larger than that of any before
    std::uint64_t kind;
    std::uint64_t about;       // of `lost`: which rank
    std::uint64_t silence_ms;  // and for how long
    std::uint64_t code;
  };
  struct peer {
    std::optional<beat_address> address;
    const beat_socket* by = nullptr;
    std::uint64_t last_number = 0;
    std::optional<clock::time_point> heard;  // of those that are watched, once they were
    bool is_told = false;                    // that it is lost
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
  std::optional<beat_socket> m_far;  // where there are ranks elsewhere
  siphash_key m_key{};
  std::vector<peer> m_peers;
  std::uint64_t m_sent = 0;
  unique_fd m_end;  // a descriptor that becomes readable
  std::thread m_thread;
};

}  // namespace starling::detail
