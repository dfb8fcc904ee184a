// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/net/transport.hpp>

#include "../common/message_list.hpp"
#include "../common/send_window.hpp"

namespace starling::detail {

/// What the ranks of a loopback network share.
class loopback_hub {
 public:
  enum class verdict : int { good, wrong_size, peer_gone, cancelled };

  /// What has come for one rank. All under its lock; no other lock is taken inside.
  struct inbox final : message_keeper {
    inbox();
    ~inbox();
    void destroyed(int from, std::size_t bytes) noexcept override;
    /// Something has come.
    void ring() noexcept;
    /// False: something is there.
    [[nodiscard]] bool arm() noexcept;

    loopback_hub* hub = nullptr;
    int rank = 0;
    mutable spin_lock lock;
    message_list arrived;
    std::vector<transfer*> wanted;                   // this rank's, to receive
    std::vector<std::pair<int, transfer*>> offered;  // by a rank, to this one
    std::vector<transfer*> over;                     // this rank's, to be told
    std::vector<int> lost;                           // ranks that have gone, to be told
    bool is_armed = false;                           // whoever brings something rings
    int bell;                                        // an event descriptor
    std::atomic<bool> gone{false};                   // set once
    std::atomic<std::size_t> sending{0};             // messages that wait here
    std::atomic<std::size_t> sending_memory{0};      // transfers
  };

  loopback_hub(int size, const transport::options& options);
  /// Nobody is there who could send more.
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
  /// From one rank to another. An inbox' lock is taken inside.
  struct connection {
    explicit connection(std::size_t window) : room(window) {}
    spin_lock lock;
    send_window room;
    message_list waiting;
  };

  [[nodiscard]] connection& between(int from, int to) noexcept {
    return *m_connections[std::size_t(from) * std::size_t(m_size) + std::size_t(to)];
  }
  void pass_on(connection& c, inbox& to, message_block* b) noexcept;
  void give_back(int from, int to, std::size_t share) noexcept;
  void match(int from, int to, transfer& sent, transfer& received);
  void end(int rank, transfer& t, verdict v);
  void end_transfers_of(inbox& box, int gone);

  int m_size;
  std::vector<inbox> m_inboxes;
  std::vector<std::unique_ptr<connection>> m_connections;
};

}  // namespace starling::detail
