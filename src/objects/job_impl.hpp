// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <starling/core/poller.hpp>
#include <starling/core/trace.hpp>
#include <starling/net/transport.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/send.hpp>

#include "broadcast_tree.hpp"
#include "flow_control.hpp"
#include "network_watch.hpp"
#include "quiescence_detector.hpp"
#include "run_ender.hpp"

namespace starling::detail {

/// A run of a job on one rank: connects the rank's object_space with those of the other ranks, from
/// the meeting of the ranks until they leave the job.
///
/// Workers poll the network; a separate thread watches it while they sleep. The polling thread
/// passes each message to the worker that it is for.
class job_impl final : public job, private poller {
 public:
  /// Collective: returns when all ranks have met. The transport and the space outlive it.
  /// @throws rank_failure; usage_error when ranks differ in the functions that messages can name
  /// `is_of_process`: the network connects the launcher's ranks, each of them a process.
  job_impl(object_space& space, transport& network, bool is_of_process);
  ~job_impl() override;

  // --- job
  int rank() const noexcept override { return m_network.rank(); }
  int size() const noexcept override { return m_network.size(); }
  void send(int to, message m) noexcept override;
  std::span<const int> other_ranks() const noexcept override { return m_other_ranks; }
  void send_to(std::span<const int> ranks, const message& m) override;
  std::uint64_t outstanding(int to) const noexcept override { return m_flow.outstanding(to); }
  bool enlist(room_wait& w) noexcept override { return m_flow.enlist(w); }
  bool withdraw(room_wait& w) noexcept override { return m_flow.withdraw(w); }
  void require_bounded(int to) const override;
  void note_processed(int from, std::uint64_t share) noexcept override;
  location location_of(std::size_t worker) const noexcept override;
  std::size_t first_worker(int rank) const noexcept override {
    return m_first_worker[std::size_t(rank)];
  }
  reply_address expect(std::unique_ptr<reply_slot> slot) override;
  std::unique_ptr<reply_slot> take_slot(std::uint64_t number) override;
  void put_back(std::uint64_t number, std::unique_ptr<reply_slot> slot) override;
  std::optional<memory_reach> reach_of_memory(int rank) const noexcept override;
  std::uint64_t next_tag() noexcept override { return m_last_tag.fetch_add(1) + 1; }
  void start_send(transfer& t) override;
  void start_receive(transfer& t) override;
  void cancel_receive(transfer& t) noexcept override { m_network.cancel_receive(t); }
  void note_received() noexcept override { bump(m_traffic.transfers_over); }
  void begin_awake(std::uint64_t ns) noexcept override {
    m_awake_scopes.fetch_add(1, std::memory_order_relaxed);
    // Times add up, since the receiver copies the memory of one message after the other.
    std::uint64_t until = m_awake_until.load(std::memory_order_relaxed);
    while (!m_awake_until.compare_exchange_weak(until, std::max(until, tracer::now()) + ns,
                                                std::memory_order_relaxed)) {
    }
  }
  void end_awake() noexcept override { m_awake_scopes.fetch_sub(1, std::memory_order_relaxed); }
  void end_run(const std::exception_ptr& error) noexcept override;
  void resume_at_quiescence(promise_base& c) override {
    m_quiescence.resume_at_quiescence(c, false);
  }
  void resume_first_at_quiescence(promise_base& c) override {
    m_quiescence.resume_at_quiescence(c, true);
  }

  // --- the end of the run, by the threads that called `run`
  /// On all ranks except rank 0: waits until rank 0 ends the run and returns the status of the run.
  /// @throws rank_failure
  [[nodiscard]] int serve();
  /// On rank 0: ends the run on all ranks, with `status`. `regular`: it was not cut short.
  void tell_end(int status, bool regular);
  /// On rank 0: sends the end of the run again to a rank that reports an error afterwards, perhaps
  /// while it handles the first message. `error`: what the rank has reported.
  void tell_end_again(int rank, const std::exception_ptr& error);
  /// Collective: leaves the job when all ranks have called it.
  void leave();

  // --- for message handlers
  /// Notes the end of the run on this rank. `lost`: the failure of a rank, or null.
  void over(int status, bool regular, std::exception_ptr lost) noexcept;
  /// On rank 0: notes an error of another rank, which has printed it.
  void note_told(const std::exception_ptr& error) noexcept;
  [[nodiscard]] bool has_been_told(const std::exception_ptr& error) noexcept;
  [[nodiscard]] quiescence_detector& quiescence() noexcept { return m_quiescence; }
  [[nodiscard]] flow_control& flow() noexcept { return m_flow; }
  [[nodiscard]] broadcast_tree& broadcasts() noexcept { return m_broadcasts; }

  // --- for broadcast_tree
  /// Sends a load to a child rank in its tree. Its bytes count for its origin.
  void send_load(int to, message m) noexcept;
  /// Returns the header of a message that rank `from` made. @throws archive_error if it is invalid
  [[nodiscard]] checked_header check_header(int from, std::span<const std::byte> bytes) const;

 private:
  /// Identifies where a rank runs.
  struct residence {
    std::uint64_t host;
    std::uint64_t process;
  };
  static constexpr unsigned message_number = 0;
  static constexpr unsigned meeting_number = 1;
  static constexpr unsigned load_number = 2;
  struct introduction {
    std::uint32_t workers;
    remote_function_list functions;
    residence home;
  };
  template <unsigned Number>
  static void on_message(void* self, int from, message m) noexcept {
    static_cast<job_impl*>(self)->accept(Number, from, std::move(m));
  }
  static void on_meeting(void* self, int from, message m) noexcept;
  static void on_failure(void* self, const rank_failure& what) noexcept;
  void meet();
  void take_introduction(int from, const message& m);
  void take(unsigned number, int from, message m);
  void accept(unsigned number, int from, message m) noexcept;
  void refuse(const std::exception_ptr& error) noexcept;
  void send_numbered(int to, unsigned number, message m) noexcept;
  [[nodiscard]] message make_end(int status, bool regular);
  [[nodiscard]] bool has_lost_a_rank();
  void hand_over(int from, message m);
  void post(promise_base& c) const noexcept;
  static void bump(std::atomic<std::uint64_t>& count) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
  }
  /// Called within a poll. Only one thread polls at a time, so no atomic addition is needed.
  void note_handed_over(std::uint64_t weight) noexcept {
    const std::uint64_t before = m_traffic.received.load(std::memory_order_relaxed);
    m_traffic.received.store(before + weight, std::memory_order_relaxed);
  }
  /// Called within a poll. `is_of_all`: the other ranks notice the failure themselves.
  void fail(const std::exception_ptr& error, bool is_of_all) noexcept;
  void let_go() noexcept;
  [[nodiscard]] worker& worker_at(std::size_t index) const noexcept {
    return *m_space.workers()[index];
  }

  void poll(ready_list& ready) noexcept override;
  std::size_t in_flight() const noexcept override { return 0; }
  bool needs_polling() const noexcept override { return is_kept_awake() || !m_watch->begin(); }
  [[nodiscard]] bool is_kept_awake() const noexcept {
    return m_awake_scopes.load(std::memory_order_relaxed) > 0 &&
           tracer::now() < m_awake_until.load(std::memory_order_relaxed);
  }

  object_space& m_space;
  transport& m_network;
  const bool m_is_of_process;
  std::vector<int> m_other_ranks;
  std::vector<std::size_t> m_first_worker;  // by rank; then the number of all workers
  std::vector<std::uint32_t> m_rank_of;     // by worker
  std::vector<residence> m_homes;           // by rank
  rank_traffic m_traffic;
  flow_control m_flow;
  std::uint64_t m_send_limit;
  broadcast_tree m_broadcasts;
  std::atomic<std::uint64_t> m_last_tag{0};     // guards no other data
  std::atomic<int> m_awake_scopes{0};           // guards no other data
  std::atomic<std::uint64_t> m_awake_until{0};  // their end in ns; likewise
  std::atomic<bool> m_is_over{false};           // guards no other data: messages are dropped
  std::atomic<int> m_end_status{0};             // on rank 0; stored before m_has_told_end
  std::atomic<bool> m_end_is_regular{false};    // the same
  std::atomic<bool> m_has_told_end{false};      // on rank 0
  std::atomic<bool> m_has_told_error{false};    // guards no other data: selects the first error

  // The meeting of the ranks; accessed by the constructing thread.
  std::vector<std::optional<introduction>> m_met;
  std::string m_refusal;
  bool m_has_met = false;
  bool m_is_open = false;  // messages can be handled; set before workers poll
  struct early_message {
    unsigned number;
    int from;
    message bytes;
  };
  std::vector<early_message> m_early;

  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::unordered_map<std::uint64_t, std::unique_ptr<reply_slot>> m_slots;
  std::uint64_t m_last_slot = 0;
  std::optional<int> m_status;      // set when the run is over
  std::exception_ptr m_failure;     // the first failure
  std::exception_ptr m_told_error;  // error of another rank, which has printed it

  quiescence_detector m_quiescence;
  mutable std::optional<network_watch> m_watch;  // until the ranks leave
  std::optional<run_ender> m_ender;              // from the meeting on
};

}  // namespace starling::detail
