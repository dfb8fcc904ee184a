// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/remote_channel.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include <starling/core/executor.hpp>
#include <starling/net/transport.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling::detail {

/// Memory on its way, as a message to the worker that waits for its end.
class channel_transfer final : public work_item,
                               private transfer,
                               public pooled<block_kind::state> {
 public:
  channel_transfer(job& by, int rank, std::uint64_t number, void* memory, std::size_t size) noexcept
      : work_item(&run, &drop, &place), transfer{rank, number, memory, size, &on_done, {}},
        m_job(by), m_home(*worker::current()) {}

  /// It deletes itself at its end.
  void send() { m_job.start_send(*this); }
  void receive(remote_channel& to) {
    m_channel = &to;
    to.m_receives.push_back(this);
    m_is_receive = true;
    m_job.start_receive(*this);
  }
  /// Of a receive: its channel is gone. Who waits is told now, or, where data may still come into
  /// the user's memory, when they cannot any more.
  void abandon() noexcept {
    m_channel = nullptr;
    m_job.cancel_receive(*this);
    if (staging.empty()) return;
    const auto received = request.received;
    m_stage.exchange(stage::abandoned);
    received->finish(std::make_exception_ptr(operation_cancelled()));
  }

  std::shared_ptr<channel_operation> sent;  // who is to be told of a send; null: nobody
  channel_request request;                  // of a receive
  buffer<std::byte> staging;                // pinned; empty: the user's memory itself

 private:
  static constexpr made_up_place place{"", "channel: memory of another rank"};
  enum class stage : int { active, over, abandoned };

  static void on_done(transfer& t, std::exception_ptr error) noexcept {
    auto& self = static_cast<channel_transfer&>(t);
    if (self.m_is_receive && !is_cancelled(error)) self.m_job.note_received();
    self.m_error = std::move(error);
    // Whoever is second deletes it.
    if (self.m_stage.exchange(stage::over) == stage::abandoned) return delete &self;
    detail::send(self.m_home, self, priority::high);
  }
  static bool is_cancelled(const std::exception_ptr& error) noexcept {
    if (!error) return false;
    try {
      std::rethrow_exception(error);
    } catch (const operation_cancelled&) {
      return true;
    } catch (...) {  // one of another size has been received, too
      return false;
    }
  }
  static void drop(void* item) noexcept { delete static_cast<channel_transfer*>(item); }
  static void run(void* item) noexcept {
    const std::unique_ptr<channel_transfer> self(static_cast<channel_transfer*>(item));
    if (self->m_is_receive)
      self->end_receive();
    else if (self->sent != nullptr)
      self->sent->finish(self->m_error);
  }

  void end_receive() noexcept {
    if (m_channel == nullptr) {
      if (staging.empty()) request.received->finish(std::make_exception_ptr(operation_cancelled()));
      return;
    }
    std::erase(m_channel->m_receives, this);
    if (request.received->is_withdrawn()) return;  // the memory may be gone
    try {
      if (!m_error && request.at != nullptr) hand_over();
    } catch (...) {
      m_error = std::current_exception();
    }
    request.lent.reset();  // who is resumed alone says how long it is lent
    request.received->finish(m_error);
  }

  /// From pinned memory to where it is wanted, in the order of the stream.
  void hand_over() {
    stream& at = *request.at;
    if (request.lent == nullptr) return at.copy_bytes(request.into, staging.data(), request.bytes);
    lent_memory& lent = *request.lent;
    lent.offer.bytes = request.bytes;
    if (at.backend() == backend_kind::host) {
      lent.staging = std::move(staging);
      lent.data = lent.staging.data();
      return;
    }
    lent.copy = lent.from.copy_memory(at, request.bytes);
    at.copy_bytes(lent.copy.data(), staging.data(), request.bytes);
    lent.data = lent.copy.data();
  }

  job& m_job;
  worker& m_home;
  remote_channel* m_channel = nullptr;  // where it is listed; null: that is gone
  std::exception_ptr m_error;
  bool m_is_receive = false;
  // active → over by the transport, active → abandoned by the worker: the exchange decides who
  // deletes it, and hands over what the other has written.
  std::atomic<stage> m_stage{stage::active};
};

/// What an end has sent, in order: waits for streams and for the other end's number.
class channel_outbox : public std::enable_shared_from_this<channel_outbox> {
 public:
  channel_outbox(job& by, int peer) noexcept : m_job(by), m_peer(peer) {}

  void connect(std::uint64_t tag) {
    m_tag = tag;
    m_is_connected = true;
    start();
  }
  void send(const void* data, std::size_t bytes, stream* at,
            const std::shared_ptr<channel_operation>& sent) {
    if (at == nullptr) {
      m_waiting.push_back({data, bytes, {}, {}, sent});
    } else {
      auto staging = at->device().allocate<std::byte>(memory_kind::pinned, bytes, *at);
      at->copy_bytes(staging.data(), data, bytes);
      m_waiting.push_back({nullptr, bytes, std::move(staging), at->get_future(), nullptr});
      if (sent != nullptr) sent->finish(nullptr);  // for what is submitted to `at` from now on
    }
    start();
  }

 private:
  struct parcel {
    const void* data;
    std::size_t bytes;
    buffer<std::byte> staging;  // where `ready` brings the data; empty: they are the user's
    future<void> ready;
    std::shared_ptr<channel_operation> sent;
  };
  void start() {
    if (!m_is_connected || m_is_sending) return;
    while (!m_waiting.empty() && m_waiting.front().staging.empty()) send_first();
    if (m_waiting.empty()) return;
    m_is_sending = true;
    executor(*worker::current(), true, priority::high).post(send_all(shared_from_this()));
  }
  static task<> send_all(std::shared_ptr<channel_outbox> self) {
    const auto box = std::move(self);
    try {
      while (!box->m_waiting.empty()) {
        if (!box->m_waiting.front().staging.empty())
          co_await std::move(box->m_waiting.front().ready);
        box->send_first();
      }
      box->m_is_sending = false;
    } catch (...) {  // the other end would wait for ever
      end_run_and_close(*worker::current(), std::current_exception());
    }
  }
  void send_first() {
    parcel p = std::move(m_waiting.front());
    m_waiting.pop_front();
    void* data = p.staging.empty() ? const_cast<void*>(p.data) : p.staging.data();
    auto& t = *new channel_transfer(m_job, m_peer, m_tag, data, p.bytes);
    t.staging = std::move(p.staging);
    t.sent = std::move(p.sent);
    t.send();
  }

  job& m_job;
  int m_peer;
  std::uint64_t m_tag = 0;
  bool m_is_connected = false;
  bool m_is_sending = false;
  std::deque<parcel> m_waiting;
};

remote_channel::remote_channel(job& by, int peer)
    : m_job(by), m_peer(peer), m_tag(by.next_tag()),
      m_outbox(std::make_shared<channel_outbox>(by, peer)) {}

remote_channel::~remote_channel() { cancel(); }

void remote_channel::connect(std::uint64_t tag) { m_outbox->connect(tag); }

void remote_channel::send(const void* data, std::size_t bytes, stream* at,
                          const std::shared_ptr<channel_operation>& sent) {
  m_outbox->send(data, bytes, at, sent);
}

void remote_channel::receive(channel_request request) {
  buffer<std::byte> staging;
  if (request.at != nullptr)
    staging =
        request.at->device().allocate<std::byte>(memory_kind::pinned, request.bytes, *request.at);
  void* into = request.at != nullptr ? staging.data() : request.into;
  auto& t = *new channel_transfer(m_job, m_peer, m_tag, into, request.bytes);
  t.staging = std::move(staging);
  t.request = std::move(request);
  t.receive(*this);
}

void remote_channel::cancel() noexcept {
  for (channel_transfer* t : std::exchange(m_receives, {})) t->abandon();
}

}  // namespace starling::detail
