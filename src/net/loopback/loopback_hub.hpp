// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/detail/system_resources.hpp>
#include <starling/net/transport.hpp>

#include "../bootstrap/local/unique_fd.hpp"
#include "../common/message_list.hpp"
#include "../common/send_window.hpp"

namespace starling::detail {

/// State shared by the ranks of a loopback network.
class loopback_hub {
 public:
  enum class verdict : int { good, wrong_size, peer_gone, cancelled };
  /// Transfers, each with the rank at its other end, in the order of their start.
  using transfers = std::vector<std::pair<int, transfer*>>;

  /// Arrivals for one rank. Lists and `is_armed` are guarded by `lock`, the innermost lock.
  struct inbox final : message_keeper {
    void destroyed(int from, std::size_t bytes) noexcept override;
    /// Signals the event descriptor `bell` if the inbox is armed. Called with `lock` held.
    void ring() noexcept;
    /// Returns false if there are arrivals already.
    [[nodiscard]] bool arm() noexcept;

    loopback_hub* hub = nullptr;
    int rank = 0;
    mutable spin_lock lock;
    message_list received;
    transfers wanted;             // receives without a matching send
    transfers offered;            // sends to this rank without a matching receive
    std::vector<transfer*> over;  // completed, `done` not called yet
    std::vector<int> lost;        // failed ranks, not reported yet
    bool is_armed = false;        // the next arrival signals `bell`
    // Event descriptor by which arrivals are announced.
    unique_fd bell{make_event_descriptor("a rank of the loopback network")};
    std::atomic<bool> gone{false};               // set once
    std::atomic<std::size_t> sending{0};         // messages of this rank that wait for room
    std::atomic<std::size_t> sending_memory{0};  // sends of memory not completed
  };

  loopback_hub(int size, const transport::options& options);
  /// All transports have been destroyed: no credit is returned.
  ~loopback_hub();

  [[nodiscard]] int size() const noexcept { return m_size; }
  [[nodiscard]] inbox& of(int rank) noexcept { return m_inboxes[std::size_t(rank)]; }

  void send(int from, int to, message_block* b) noexcept;
  [[nodiscard]] bool is_congested(int from, int to) noexcept;
  void start_send(int from, transfer& t);
  void start_receive(int to, transfer& t);
  void cancel_receive(int to, transfer& t);
  void cancel_transfers(int rank);
  void kill(int rank);

 private:
  /// State of messages from one rank to another, guarded by `lock`, inside which an inbox's lock
  /// may be taken.
  struct connection {
    explicit connection(std::size_t limit) : window(limit) {}
    spin_lock lock;
    send_window window;
    message_list waiting;
  };

  [[nodiscard]] connection& between(int from, int to) noexcept {
    return *m_connections[std::size_t(from) * std::size_t(m_size) + std::size_t(to)];
  }
  void pass_on(connection& c, inbox& to, message_block* b) noexcept;
  void give_back(int from, int to, std::size_t share) noexcept;
  void match(int from, int to, transfer& sent, transfer& received);
  void end(int rank, transfer& t, verdict v);

  int m_size;
  std::vector<inbox> m_inboxes;
  std::vector<std::unique_ptr<connection>> m_connections;
};

}  // namespace starling::detail
