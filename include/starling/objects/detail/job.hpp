// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <starling/core/future.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/net/transport.hpp>
#include <starling/objects/detail/portable_error.hpp>
#include <starling/objects/detail/remote.hpp>

namespace starling::detail {

/// Waits on this rank for a result from another rank.
class reply_slot {
 public:
  virtual ~reply_slot() = default;
  /// @throws archive_error, not_made_yet; a later call may succeed then
  virtual void deliver(input_archive& ar) = 0;
  virtual void fail(const std::exception_ptr& error) noexcept = 0;
};

/// Identifies a reply_slot for other ranks.
struct reply_address {
  std::int32_t rank = 0;
  std::uint16_t worker = 0;  // worker of that rank that receives the result
  std::uint64_t slot = 0;
};

/// A coroutine that waits for room for messages to a rank. Stored in its frame.
struct room_wait : described_wait {
  class job* by = nullptr;
  int to = 0;
  promise_base* waiting = nullptr;
  room_wait* next = nullptr;
  bool is_withdrawn = false;

  [[nodiscard]] bool withdraw() noexcept;
};

/// The job as seen by one rank: sends messages to the other ranks. Thread-safe.
class job {
 public:
  virtual ~job() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Sends a message made by make_remote. Drops it after the end of the job.
  virtual void send(int to, message m) noexcept = 0;
  /// Returns the numbers of all other ranks, ascending.
  [[nodiscard]] virtual std::span<const int> other_ranks() const noexcept = 0;
  /// Sends a copy to each of `ranks`, which are in ascending order and without this rank. Some
  /// ranks may forward a large, counted message to other ranks; no later message of this rank
  /// overtakes it.
  /// @throws std::bad_alloc
  virtual void send_to(std::span<const int> ranks, const message& m) = 0;
  void send_to_other_ranks(const message& m) { send_to(other_ranks(), m); }

  // --- back-pressure: bytes of messages that the receiving rank has not processed
  static constexpr std::uint64_t room_for_messages = std::uint64_t{4} << 20;
  [[nodiscard]] virtual std::uint64_t outstanding(int to) const noexcept = 0;
  [[nodiscard]] bool has_room(int to) const noexcept { return outstanding(to) < room_for_messages; }
  /// Registers a waiter. Returns false when there is room.
  [[nodiscard]] virtual bool enlist(room_wait& w) noexcept = 0;
  virtual bool withdraw(room_wait& w) noexcept = 0;
  /// @throws usage_error when more bytes to that rank are outstanding than allowed
  virtual void require_bounded(int to) const = 0;
  /// Notes that `share` bytes of messages from rank `from` have been processed.
  virtual void note_processed(int from, std::uint64_t share) noexcept = 0;

  struct location {
    int rank;
    std::uint16_t worker;  // number of the worker on that rank
  };
  [[nodiscard]] virtual location location_of(std::size_t worker) const noexcept = 0;
  /// `rank` ≤ size(); for size(), returns the number of all workers.
  [[nodiscard]] virtual std::size_t first_worker(int rank) const noexcept = 0;

  /// Keeps the slot until its result is delivered: on the calling worker, or on worker 0 if the
  /// caller is no worker.
  [[nodiscard]] virtual reply_address expect(std::unique_ptr<reply_slot> slot) = 0;
  /// Removes and returns the slot with this number; null if it does not exist or exists no longer.
  [[nodiscard]] virtual std::unique_ptr<reply_slot> take_slot(std::uint64_t number) = 0;
  /// Keeps a slot again whose delivery failed.
  virtual void put_back(std::uint64_t number, std::unique_ptr<reply_slot> slot) = 0;
  /// Destroys a slot whose result will not come by a message.
  void forget(std::uint64_t slot) noexcept { static_cast<void>(take_slot(slot)); }

  // --- memory, transferred directly to another rank's memory
  /// Returns the reach that device memory must have for that rank to read it; empty: it cannot.
  [[nodiscard]] virtual std::optional<memory_reach> reach_of_memory(int rank) const noexcept = 0;
  /// Returns a transfer tag that this rank has not used yet.
  [[nodiscard]] virtual std::uint64_t next_tag() noexcept = 0;
  virtual void start_send(transfer& t) = 0;
  /// Starts a receive. Quiescence waits until note_received is called for it.
  virtual void start_receive(transfer& t) = 0;
  virtual void cancel_receive(transfer& t) noexcept = 0;
  virtual void note_received() noexcept = 0;

  /// For `awake_scope`.
  virtual void begin_awake(std::uint64_t ns) noexcept = 0;
  virtual void end_awake() noexcept = 0;

  /// Ends the run on all ranks, with an error of this rank.
  virtual void end_run(const std::exception_ptr& error) noexcept = 0;

  /// Makes a coroutine of this rank, about to be suspended, ready when all ranks are quiescent.
  virtual void resume_at_quiescence(promise_base& c) = 0;
  /// As above, on rank 0, and the other coroutines that wait for quiescence wait for that after the
  /// work of this one.
  virtual void resume_first_at_quiescence(promise_base& c) = 0;
};

/// Returns the job for which the calling thread writes a message, otherwise that of the calling
/// worker's rank; null: there are no other ranks.
[[nodiscard]] job* current_job() noexcept;
/// As above. @throws usage_error when there are no other ranks
[[nodiscard]] job& require_job();

/// Scope in which the calling thread, not necessarily a worker, writes a message for the ranks of
/// a job: replies named in the message are sent through that job.
class writing_for {
 public:
  explicit writing_for(job& j) noexcept;
  writing_for(const writing_for&) = delete;
  writing_for& operator=(const writing_for&) = delete;
  ~writing_for();

 private:
  job* m_before;
};

/// Scope in which this rank expects a message soon. Up to two of its idle workers go on polling,
/// because a worker that has to wake up would process the message later. They do so for at most
/// `ns` nanoseconds; the times of several scopes add up.
class awake_scope {
 public:
  awake_scope(job& j, std::uint64_t ns) noexcept : m_job(j) { m_job.begin_awake(ns); }
  awake_scope(const awake_scope&) = delete;
  awake_scope& operator=(const awake_scope&) = delete;
  ~awake_scope() { m_job.end_awake(); }

 private:
  job& m_job;
};

/// Calls make_call with values of the user. Any thread.
template <class Handler, class... V>
[[nodiscard]] message make_call_for(job& j, const remote_way& way, const V&... values) {
  const writing_for here(j);
  return make_call<Handler>(way, values...);
}

void send_failure(job& by, const reply_address& to, const std::exception_ptr& error) noexcept;

/// Reads a reply address from a message. @throws archive_error when there is no such worker
[[nodiscard]] reply_address read_reply_address(input_archive& ar);

/// Handlers of messages that deliver a result, or a portable_error, to a slot.
struct reply_delivery {
  static void run(received_call& a);
};
struct failure_delivery {
  static void run(received_call& a);
};

/// Makes the message that delivers a result to the waiter at `to`.
template <class... V>
[[nodiscard]] message make_reply_message(const reply_address& to, const V&... value) {
  return make_call<reply_delivery>({to.worker, priority::high}, to.slot, value...);
}

/// A promise whose future is on another rank.
template <class R>
class remote_promise {
 public:
  remote_promise(job& by, const reply_address& to) noexcept : m_job(&by), m_to(to) {}
  remote_promise(remote_promise&& other) noexcept
      : m_job(std::exchange(other.m_job, nullptr)), m_to(other.m_to) {}
  remote_promise& operator=(remote_promise&&) = delete;
  ~remote_promise() {
    if (m_job != nullptr) set_exception(std::make_exception_ptr(broken_promise()));
  }

  /// @throws archive_error, std::bad_alloc: the promise is not yet fulfilled
  void set_value() requires std::is_void_v<R> { keep(make_reply_message(m_to)); }
  template <class V>
  requires std::is_same_v<V, R>
  void set_value(const V& value) { keep(make_reply_message(m_to, value)); }
  void set_exception(const std::exception_ptr& error) noexcept {
    send_failure(*std::exchange(m_job, nullptr), m_to, error);
  }
  /// Gives up the duty to fulfil the promise and returns the address for the one that takes it.
  [[nodiscard]] reply_address release() noexcept {
    m_job = nullptr;
    return m_to;
  }

 private:
  void keep(message m) noexcept { std::exchange(m_job, nullptr)->send(m_to.rank, std::move(m)); }

  job* m_job;
  reply_address m_to;
};

/// The slot of a future that a remote_promise of another rank fulfils.
template <class R>
class promise_slot final : public reply_slot {
 public:
  explicit promise_slot(promise<R> keep) noexcept : m_promise(std::move(keep)) {}
  void deliver(input_archive& ar) override {
    if constexpr (std::is_void_v<R>)
      m_promise.set_value();
    else
      m_promise.set_value(ar.read<R>());
  }
  void fail(const std::exception_ptr& error) noexcept override { m_promise.set_exception(error); }

 private:
  promise<R> m_promise;
};

template <class R>
inline constexpr bool result_travels = std::is_void_v<R> || travels<R>;

/// Returns the address at which another rank can fulfil the promise. @throws std::bad_alloc
template <class R>
[[nodiscard]] reply_address address_of(job& j, promise<R>& reply) {
  return j.expect(std::unique_ptr<reply_slot>(new promise_slot<R>(std::move(reply))));
}
template <class R>
[[nodiscard]] reply_address address_of(job&, remote_promise<R>& reply) noexcept {
  return reply.release();
}

template <class Promise>
inline constexpr bool is_remote_promise = false;
template <class R>
inline constexpr bool is_remote_promise<remote_promise<R>> = true;

/// Calls `f(address)`, which packs a message with the address of `reply`. If `f` throws, the waiter
/// for the reply receives the exception. @throws std::bad_alloc, the exceptions of `f`
template <class R>
void with_address_of(job& j, promise<R>& reply, function_ref<void(const reply_address&)> f) {
  const reply_address to = address_of(j, reply);
  try {
    f(to);
  } catch (...) {
    if (const auto slot = j.take_slot(to.slot)) slot->fail(std::current_exception());
    throw;
  }
}
template <class R>
void with_address_of(job& j, remote_promise<R>& reply, function_ref<void(const reply_address&)> f) {
  const reply_address to = address_of(j, reply);
  try {
    f(to);
  } catch (...) {
    send_failure(j, to, std::current_exception());
    throw;
  }
}

/// Calls `Handler::run` on another rank with the address of `reply` and `values`. Returns the bytes
/// of the message. @throws archive_error, std::bad_alloc
template <class Handler, class R, class... V>
std::size_t ask(job& j, int rank, const remote_way& way, promise<R> reply, const V&... values) {
  const reply_address to = address_of(j, reply);
  try {
    message m = make_call_for<Handler>(j, way, to, values...);
    const std::size_t bytes = m.size();
    j.send(rank, std::move(m));
    return bytes;
  } catch (...) {
    j.forget(to.slot);
    throw;
  }
}

}  // namespace starling::detail
