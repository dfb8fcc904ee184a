// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/net/bootstrap.hpp>
#include <starling/net/message.hpp>

namespace starling {

/// The connection to a rank is gone: it ended, or was stopped, or the network lost it. The message
/// names the rank, its host and its last sign of life.
class rank_failure : public error {
 public:
  rank_failure(const std::string& message, int rank) : error(message), m_rank(rank) {}
  [[nodiscard]] int rank() const noexcept { return m_rank; }

 private:
  int m_rank;
};

/// Memory on its way from one rank to another: the same `tag` and the same size at both ends, first
/// sent, first received. Belongs to its user and stays where it is until `done` has been called.
struct transfer {
  static constexpr std::uint64_t tag_limit = std::uint64_t{1} << 40;

  int peer = 0;
  std::uint64_t tag = 0;  ///< less than `tag_limit`
  void* data = nullptr;   ///< host memory
  std::size_t bytes = 0;
  /// Called once, by progress() on some thread, or at once. The error is null, rank_failure with
  /// the rank to blame, operation_cancelled, or, for a receiver to which another size was sent,
  /// usage_error.
  void (*done)(transfer& t, std::exception_ptr error) noexcept = nullptr;

  /// The transport's, while it is on its way.
  struct {
    transfer* next = nullptr;
    transfer* previous = nullptr;
    void* owner = nullptr;
    void* request = nullptr;
    std::size_t arrived = 0;
    int status = 0;
    bool is_receive = false;
  } native;
};

/// Carries messages and transfers between the ranks of a job.
///
/// Messages that one thread sends to one rank reach their handlers in order. A rank holds at most
/// `options::window` bytes of messages of each other rank that nobody has destroyed yet; more of
/// them wait with the sender (`is_congested`).
///
/// `send`, `start_…` and `is_congested` may be called by any thread; `progress` too, one at a time:
/// others return at once.
class transport {
 public:
  struct options {
    std::size_t window = std::size_t{4} << 20;  ///< bytes on their way, or not destroyed, per pair
    /// How often a rank gives a sign of life; four that are missed in a row are a rank_failure. 0:
    /// never, so that it can be stopped by a debugger. Only ranks of other processes do.
    std::chrono::milliseconds heartbeat{1000};
  };
  /// Gets a message that rank `from` sent, by progress(). Must not throw. May send; what it is
  /// given it may keep while this transport lives, what message::share makes of it for longer.
  using handler = void (*)(void* context, int from, message m) noexcept;
  /// Is told, once, that a rank has gone. By progress(); must not throw.
  using failure_handler = void (*)(void* context, const rank_failure& what) noexcept;
  static constexpr unsigned handler_limit = 16;

  transport() = default;
  virtual ~transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// "loopback" or "ucx", for messages.
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Who gets messages with number `number` < handler_limit. Before the first progress().
  void set_handler(unsigned number, handler h, void* context);
  void set_failure_handler(failure_handler h, void* context);

  /// Sends `m` to a rank, this one among them, for the handler of that number there. Never blocks.
  /// To a rank that has gone it is dropped. @throws usage_error on a bad rank or number
  virtual void send(int to, unsigned number, message m) = 0;
  /// Messages for `to` wait here until that rank has worked off those before.
  [[nodiscard]] virtual bool is_congested(int to) const noexcept = 0;

  /// Starts a transfer. @throws usage_error on a bad rank or tag, std::bad_alloc
  virtual void start_send(transfer& t) = 0;
  virtual void start_receive(transfer& t) = 0;
  /// A receive that has begun and is not over: its memory will not be needed. It ends with
  /// operation_cancelled, by progress(), or as it would have if that is under way.
  virtual void cancel_receive(transfer& t) noexcept = 0;
  /// Ends all that is under way, sends too, with operation_cancelled, by progress(). The end of a
  /// rank's part: nothing should be begun after it, and what others send goes nowhere. Not from a
  /// handler or `done`.
  virtual void cancel_transfers() noexcept = 0;

  /// Moves things on. True: something has happened.
  virtual bool progress() noexcept = 0;
  /// What this rank has begun to send and what has not left it: its memory is still needed. Any
  /// thread.
  [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;

  /// A file descriptor that becomes readable when there is something for progress(), or −1. Valid
  /// after `arm` has returned true, which it does where nothing is there yet. That a rank has gone
  /// is seen by progress() alone: call it a few times in a second all the same.
  [[nodiscard]] virtual int event_descriptor() const noexcept { return -1; }
  [[nodiscard]] virtual bool arm() noexcept { return true; }

  /// Collective: until every rank has come here, and the messages that they sent each other before
  /// have been handled. Makes progress meanwhile. Transfers are their users' to await, or to
  /// cancel. @throws rank_failure
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
    handler run;
    void* context = nullptr;
  };
  static void nobody(void*, int from, message m) noexcept;
  static void end_program(void*, const rank_failure& what) noexcept;

  std::array<entry, handler_limit> m_handlers = make_handlers();
  failure_handler m_on_failure = &end_program;
  void* m_failure_context = nullptr;
  static std::array<entry, handler_limit> make_handlers() noexcept;
};

/// Which transports are linked.
enum class transport_kind { automatic, loopback, ucx };

/// The transport among the ranks of `ranks`: `loopback` for one, else `ucx`. Collective.
/// @throws backend_unavailable, bootstrap_error
[[nodiscard]] std::unique_ptr<transport> make_transport(
    bootstrap& ranks, transport_kind kind = transport_kind::automatic,
    const transport::options& options = {});

}  // namespace starling
