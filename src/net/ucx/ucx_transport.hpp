// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/net/transport.hpp>

#include "../common/farewells.hpp"
#include "../common/message_list.hpp"
#include "../common/peer_state.hpp"
#include "../common/send_window.hpp"
#include "../common/transfer_list.hpp"
#include "../heartbeat/heartbeat.hpp"
#include "held_blocks.hpp"
#include "process_watch.hpp"
#include "service_lock.hpp"
#include "ucx_worker.hpp"
#include "wire_header.hpp"

namespace starling::detail {

/// Transport over UCX: messages are active messages, transfers are tagged messages. UCX selects
/// shared memory, TCP or a network. It sends small messages eagerly, and large messages by
/// rendezvous: the receiver fetches the data.
///
/// Two locks: `m_progress` is held by the thread that makes progress and runs handlers, `m_lock`
/// for calls of UCX. `m_lock` can be held for long, while many messages arrive or connections end.
/// No thread that sends or starts a transfer waits for it. If `m_lock` is taken, the message or
/// transfer is submitted, and the holder of the lock begins it before it releases the lock.
class ucx_transport final : public transport, message_keeper {
 public:
  ucx_transport(bootstrap& ranks, const options& o, const std::vector<process_location>& processes);
  ~ucx_transport() override;

  int rank() const noexcept override { return m_rank; }
  int size() const noexcept override { return static_cast<int>(m_peers.size()); }
  const char* name() const noexcept override { return "ucx"; }

  void send(int to, unsigned number, message m) override;
  bool is_congested(int to) const noexcept override;
  void start_send(transfer& t) override { begin(t, false); }
  void start_receive(transfer& t) override { begin(t, true); }
  void cancel_receive(transfer& t) noexcept override;
  void cancel_transfers() noexcept override;
  bool progress() noexcept override;
  std::size_t in_flight() const noexcept override;
  int event_descriptor() const noexcept override { return m_worker.event_descriptor(); }
  bool arm() noexcept override;
  void finish() override;

 private:
  using clock = std::chrono::steady_clock;

  struct peer;
  static_assert(sizeof(wire_header) + 2 * sizeof(void*) <= message_block::room_bytes);
  /// Returns the address of the header, directly in front of the message's bytes.
  [[nodiscard]] static const std::byte* header_place(const message_block& b) noexcept {
    return b.room + message_block::room_bytes - sizeof(wire_header);
  }
  static void write_header(message_block& b, const wire_header& h) noexcept {
    std::memcpy(b.room + message_block::room_bytes - sizeof h, &h, sizeof h);
  }
  /// Returns the receiver of a message to be sent, or the sender of a received one.
  [[nodiscard]] static peer*& peer_of(message_block& b) noexcept {
    return *reinterpret_cast<peer**>(b.room);
  }
  /// A message as UCX delivers it.
  struct raw_message {
    wire_header header;
    std::span<const std::byte> first;  // bytes of the message that arrived with the header
    void* data;                        // the remaining bytes, or UCX's descriptor of them
    std::size_t bytes;
    bool is_to_be_fetched;
  };
  static constexpr unsigned active_message = 1;
  static constexpr unsigned credit_number = 0xfffe;
  static constexpr unsigned leave_number = 0xfffd;

  /// Content of a goodbye: the rank that the sender has lost, or the receiver's rank if none; and
  /// the time since the lost rank's last sign of life, or −1 if it did not fail by silence.
  struct goodbye {
    std::int32_t lost;
    std::int32_t silent_ms;
  };

  /// Cause of a failure. The default: the connection was reset.
  struct failure_cause {
    ucs_status_t status = UCS_ERR_CONNECTION_RESET;
    std::optional<std::chrono::milliseconds> silence{};  // set if heartbeats are missed
    const char* forgery = nullptr;                       // description of an invalid message
  };

  /// State of a transfer to which UCX refers. It may outlive the transfer.
  struct pending_transfer {
    ucx_transport* owner;
    transfer* of;
    void* request = nullptr;  // null: failed; reported with the failure of its rank
    bool is_orphan = false;   // the transfer is completed; listed in `orphans`
    pending_transfer* next = nullptr;
  };
  /// States of transfers completed before UCX completed them, which it may never do.
  struct orphans {
    orphans() = default;
    orphans(const orphans&) = delete;
    orphans& operator=(const orphans&) = delete;
    ~orphans() {
      while (pending_transfer* p = first) {
        first = p->next;
        delete p;
      }
    }
    pending_transfer* first = nullptr;
  };

  struct peer {
    explicit peer(std::size_t limit) : window(limit) {}

    ucx_transport* owner = nullptr;
    int rank = 0;
    std::string name;  // process and host, for messages
    std::uint64_t code_to = 0, code_from = 0, tag_code = 0;
    std::unique_ptr<process_watch> process;  // set for processes of this host only
    // Guarded by m_lock, except where noted:
    ucx_endpoint endpoint;
    send_window window;
    message_list waiting;
    std::uint64_t next_sent = 0;
    std::uint64_t next_taken = 0;
    message_list early;           // received before their turn, ordered by position
    std::uint64_t returned = 0;   // credit received since the start
    peer_state state;             // changed by react() and end_failed() only
    failure_cause cause;          // valid if it has failed
    ucs_status_t error = UCS_OK;  // the last one, while it is suspected
    std::size_t sending = 0;      // messages to it that m_sending counts
    // UCX may still hold cancelled transfers: do not wait for such sends.
    bool keeps_sends = false;
    bool keeps_receives = false;
    const message_block* last_words = nullptr;  // the goodbye to it, while UCX holds it
    ucs_status_ptr_t flush = nullptr;           // used by close_endpoints()
    clock::time_point heard = clock::now();
    // Read by any thread:
    std::atomic<bool> is_congested{false};    // messages wait; written under m_lock, relaxed
    std::atomic<std::uint64_t> destroyed{0};  // window shares of its messages destroyed here
    std::atomic<std::uint64_t> credited{0};   // part sent to it as credit; written under m_lock
  };

  void destroyed(int from, std::size_t bytes) noexcept override;

  /// Guard that holds m_lock. Its constructor and its destructor begin the submitted messages and
  /// transfers.
  class section {
   public:
    explicit section(ucx_transport& of) noexcept : m_of(of) {
      m_of.m_lock.lock();
      m_of.begin_submitted();
    }
    section(ucx_transport& of, std::adopt_lock_t) noexcept : m_of(of) { m_of.begin_submitted(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    ~section() { m_of.leave_section(); }

   private:
    ucx_transport& m_of;
  };
  void submit(message_block* b, transfer* t) noexcept;

  // --- called with m_lock held
  void begin_submitted() noexcept;
  void leave_section() noexcept;
  void begin_send(peer& to, message_block* b) noexcept;
  void begin_transfer(transfer& t) noexcept;
  void count_sending(peer& p, std::ptrdiff_t n) noexcept {
    if (p.state.has_failed()) return;
    p.sending += std::size_t(n);
    // Written under m_lock only, so no atomic addition is needed.
    m_sending.store(m_sending.load(std::memory_order_relaxed) + std::size_t(n),
                    std::memory_order_relaxed);
  }
  void post(peer& to, unsigned number, message_block* b) noexcept;
  [[nodiscard]] static ucs_status_ptr_t hand_over(const peer& to, message_block* b) noexcept;
  bool post_control(peer& to, unsigned number, std::span<const std::byte> bytes = {}) noexcept;
  void pump(peer& to) noexcept;
  void retire(message_block* b) noexcept;
  void drop_waiting(peer& p) noexcept {
    while (message_block* b = p.waiting.pop()) retire(b);
    p.is_congested.store(false, std::memory_order_relaxed);
  }
  void send_credit() noexcept;
  void take(peer& from, message_block* b) noexcept;
  ucs_status_t fetch(peer& from, void* description, message_block* b,
                     std::span<std::byte> to) noexcept;
  void suspect(peer& p, ucs_status_t why) noexcept;
  void fail(peer& p, const failure_cause& why) noexcept { react(p, peer_event::failure, why); }
  [[nodiscard]] ucs_status_t refuse(peer& p, const failure_cause& why) noexcept;
  void react(peer& p, peer_event e) noexcept { react(p, e, failure_cause()); }
  void react(peer& p, peer_event e, const failure_cause& why) noexcept;
  void refuse_unauthenticated() noexcept;
  void drop_unauthenticated_memory() noexcept;
  ucs_status_t receive(const raw_message& m) noexcept;
  void look_for_dead() noexcept;
  void fail_suspects() noexcept;
  [[nodiscard]] bool take_goodbye(peer& p) noexcept;
  /// Fails a rank without a sign of life for `silence`. Takes m_lock.
  void miss(int rank, std::chrono::milliseconds silence) noexcept;
  /// Called with m_progress held, too. Returns the failures to report.
  std::vector<rank_failure> end_failed();
  void disconnect(peer& p) noexcept;
  void end_transfers_with(const peer& p, ucs_status_t why) noexcept;
  void transfer_over(transfer& t, ucs_status_t status, std::size_t bytes) noexcept;
  [[nodiscard]] goodbye goodbye_to(const peer& p) const noexcept;
  [[nodiscard]] const peer* first_lost() const noexcept;
  void leave(peer& p, const message& why) noexcept;
  void leave() noexcept;
  void close_endpoints() noexcept;
  void answer_connecting() noexcept;
  bool drive(ucs_status_ptr_t request, clock::time_point limit) noexcept;

  // --- called with m_progress held
  void handle(message m, int from, unsigned number) noexcept;
  void end(transfer& t) noexcept;

  void connect(bootstrap& ranks, const std::vector<std::string>& addresses);
  void begin(transfer& t, bool is_receive);
  void wake() noexcept;
  [[nodiscard]] rank_failure describe(const peer& p) const;

  // Callbacks, run within calls of UCX.
  static void on_sent(void* request, ucs_status_t status, void* block) noexcept;
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes,
                                 const ucp_am_recv_param_t* how) noexcept;
  static void on_data(void* request, ucs_status_t status, std::size_t bytes, void* block) noexcept;
  static void on_transfer_sent(void* request, ucs_status_t status, void* pending) noexcept;
  static void on_transfer_received(void* request, ucs_status_t status,
                                   const ucp_tag_recv_info_t* info, void* pending) noexcept;
  static void on_transfer_over(pending_transfer* p, ucs_status_t status,
                               std::size_t bytes) noexcept;
  static void on_error(void* p, ucp_ep_h endpoint, ucs_status_t status) noexcept;

  int m_rank;
  options m_options;
  std::vector<std::unique_ptr<peer>> m_peers;

  service_lock m_lock;
  message_list m_received;
  message_list m_retired;     // sent or dropped, with attached memory: destroyed without m_lock
  transfer_list m_refused;    // started after leave(): completed without m_lock
  transfer_list m_transfers;  // in progress
  transfer_list m_over;       // completed, `done` not called yet
  pending_transfer* m_begun = nullptr;  // being started by a call of UCX
  bool m_has_failures = false;
  bool m_has_suspects = false;
  bool m_has_left = false;
  unsigned m_doubtful_rounds = 0;  // of progress(), with suspects
  std::atomic<bool> m_is_armed{false};
  unsigned m_rounds = 0;
  std::uint64_t m_unauthenticated = 0;     // messages from outside the job
  clock::time_point m_now = clock::now();  // read every rounds_a_look rounds
  clock::time_point m_next_look = m_now;
  std::atomic<bool> m_credit_is_due{false};
  std::atomic<std::size_t> m_sending{0};         // messages
  std::atomic<std::size_t> m_sending_memory{0};  // transfers

  spin_lock m_submit_lock;  // never held for more than a few instructions
  message_list m_submitted;
  transfer_list m_submitted_transfers;
  // Whether m_submitted and m_submitted_transfers have entries. Sequentially consistent, as m_lock
  // is: either the submitting thread finds m_lock free, or the thread that releases m_lock reads
  // true here.
  std::atomic<bool> m_has_submitted{false};
  std::atomic<std::size_t> m_submitted_messages{0};  // messages submitted and not begun

  service_lock m_progress;  // held while messages are handled
  farewells m_farewells;
  std::optional<rank_failure> m_lost;

  orphans m_orphans;
  held_blocks m_held;
  ucx_worker m_worker;  // destroyed before the members above, which its callbacks use
  std::optional<heartbeat> m_heartbeat;
};

}  // namespace starling::detail
