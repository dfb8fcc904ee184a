// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/core/options.hpp>
#include <starling/net/bootstrap.hpp>
#include <starling/net/message.hpp>

namespace starling {

/// Failure of a rank: its process ended or was stopped, or the connection to it broke. The message
/// names the rank; over UCX also its process, host and last sign of life.
class rank_failure : public error {
 public:
  rank_failure(const std::string& message, int rank) : error(message), m_rank(rank) {}
  [[nodiscard]] int rank() const noexcept { return m_rank; }

 private:
  int m_rank;
};

/// Send or receive of memory between two ranks, with equal `tag` and size at both ends. Transfers
/// with equal tag match in the order of their start. Owned by the user; must neither be moved nor
/// destroyed before `done` is called.
struct transfer {
  static constexpr std::uint64_t tag_limit = std::uint64_t{1} << 40;

  int peer = 0;
  std::uint64_t tag = 0;  ///< less than `tag_limit`
  void* data = nullptr;   ///< host memory
  std::size_t bytes = 0;
  /// Called once on any thread: by progress(), or by another call of the transport if the transfer
  /// is started after cancel_transfers(). The error is null, rank_failure naming the rank that
  /// caused it, operation_cancelled, or usage_error at a receiver if the sent size differs.
  void (*done)(transfer& t, std::exception_ptr error) noexcept = nullptr;

  /// State of the transport while the transfer is in progress.
  struct {
    transfer* next = nullptr;
    transfer* previous = nullptr;
    void* owner = nullptr;
    void* request = nullptr;
    std::size_t received = 0;
    int status = 0;
    bool is_receive = false;
  } state;
};

/// Carries messages and transfers between the ranks of a job.
///
/// Messages that one thread sends to one rank reach their handlers in order. A receiver holds at
/// most `options::window` bytes of messages from each sender that are not destroyed yet; further
/// messages wait at the sender (`is_congested`).
///
/// Any thread may call `send`, `start_…`, `is_congested` and `progress`. One thread at a time makes
/// progress: concurrent calls of `progress` return false at once.
class transport {
 public:
  struct options {
    std::size_t window = std::size_t{4} << 20;  ///< bytes sent and not destroyed, per direction
    /// Interval of heartbeats; a rank that misses four in a row is reported by rank_failure. 0:
    /// none are sent, so that a debugger may stop the process. Loopback has no heartbeats.
    std::chrono::milliseconds heartbeat{1000};

    /// Reads them from a runtime's options. @throws option_error
    [[nodiscard]] static options read(const runtime_options& chosen);
  };
  /// Handler of messages from rank `from`, called by progress(). Must not throw. May send. May keep
  /// `m` as long as the transport exists, and the result of message::share(m) longer.
  using handler = void (*)(void* context, int from, message m) noexcept;
  /// Handler called once for each failed rank, by progress(). Must not throw.
  using failure_handler = void (*)(void* context, const rank_failure& what) noexcept;
  static constexpr unsigned handler_limit = 16;

  transport() = default;
  virtual ~transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Returns "loopback" or "ucx", for messages.
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Registers the handler of messages with `number`. Call before the first progress().
  /// @throws usage_error unless `number` < handler_limit
  void set_handler(unsigned number, handler h, void* context);
  /// Replaces the default handler, which prints the failure and ends the process.
  void set_failure_handler(failure_handler h, void* context);

  /// Sends `m` to the handler `number` of rank `to`, which may be this rank. Never blocks. Messages
  /// to failed ranks are dropped. @throws usage_error on a bad rank or number, std::bad_alloc
  virtual void send(int to, unsigned number, message m) = 0;
  /// Returns whether messages to `to` wait here until that rank has destroyed earlier ones.
  [[nodiscard]] virtual bool is_congested(int to) const noexcept = 0;

  /// Starts a transfer. @throws usage_error on a bad rank or tag, std::bad_alloc
  virtual void start_send(transfer& t) = 0;
  virtual void start_receive(transfer& t) = 0;
  /// Cancels a receive for which `done` has not been called. It completes by progress(): with
  /// operation_cancelled, or with its own result if it is too late to cancel.
  virtual void cancel_receive(transfer& t) noexcept = 0;
  /// Cancels all transfers in progress, sends included: progress() completes them with
  /// operation_cancelled. Ends the rank's communication: start no transfer and send no message
  /// afterwards; data that other ranks send is dropped. Not to be called by a handler or `done`.
  virtual void cancel_transfers() noexcept = 0;

  /// Polls the network, runs handlers and completes transfers. Returns whether there were any.
  virtual bool progress() noexcept = 0;
  /// Returns the number of messages and transfers to be sent that have not left this rank: their
  /// memory is still needed. Any thread.
  [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;

  /// Returns a file descriptor that becomes readable when progress() has work, or −1. Valid after
  /// `arm` has returned true; it returns false when there is work already. Only progress() detects
  /// that a rank has failed: call it a few times a second nevertheless.
  [[nodiscard]] virtual int event_descriptor() const noexcept { return -1; }
  [[nodiscard]] virtual bool arm() noexcept { return true; }

  /// Collective. Waits until every rank has called it and all messages sent before are handled.
  /// Makes progress meanwhile. Does not wait for transfers: users await or cancel them.
  /// @throws rank_failure
  virtual void finish() = 0;

 protected:
  void deliver(unsigned number, int from, message m) const noexcept {
    m_handlers[number].run(m_handlers[number].context, from, std::move(m));
  }
  void tell_failure(const rank_failure& what) const noexcept;
  void check_address(int to, unsigned number) const;
  void check(const transfer& t) const;
  [[nodiscard]] static std::exception_ptr wrong_size(const transfer& t, std::size_t sent);

 private:
  struct entry {
    handler run = &no_handler;
    void* context = nullptr;
  };
  static void no_handler(void*, int from, message m) noexcept;
  static void end_program(void*, const rank_failure& what) noexcept;

  std::array<entry, handler_limit> m_handlers;
  failure_handler m_on_failure = &end_program;
  void* m_failure_context = nullptr;
};

/// Choice of the transport; `automatic`: loopback for a single rank, else ucx.
enum class transport_kind { automatic, loopback, ucx };

/// Makes the transport between the ranks of `ranks`. Collective.
/// @throws backend_unavailable if UCX is not linked; bootstrap_error, also for loopback with
/// several ranks
[[nodiscard]] std::unique_ptr<transport> make_transport(
    bootstrap& ranks, transport_kind kind = transport_kind::automatic,
    const transport::options& options = {});

}  // namespace starling
