// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/remote_memory.hpp>

#include <utility>

#include <starling/core/executor.hpp>
#include <starling/device/device.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling::detail {
namespace {

/// Completes the send of an offer, if it has a waiter, on the worker of the sender: an offer to an
/// element that has left the rank is sent on by another worker.
void end_send(channel_offer& offer, const std::exception_ptr& error) noexcept {
  const auto sent = std::exchange(offer.sent, nullptr);
  if (sent == nullptr) return;
  if (offer.home == worker::current()) return sent->finish(error);
  or_end_run(*worker::current(), [&] {
    send_call(
        *offer.home, [sent, error] { sent->finish(error); }, priority::high);
  });
}

/// A transfer to another rank; when it is complete, a message to the worker that started it.
class outgoing_memory final : public work_item, private transfer, public pooled<block_kind::state> {
 public:
  outgoing_memory(int rank, std::uint64_t under, const void* memory, std::size_t size) noexcept
      : work_item(&run, &drop, &trace_name), transfer{rank, under,    const_cast<void*>(memory),
                                                      size, &on_done, {}},
        m_home(*worker::current()) {}

  /// Starts a transfer, which deletes itself at its end. @throws std::bad_alloc
  static void start(std::unique_ptr<outgoing_memory> m, job& by) {
    by.start_send(*m);
    static_cast<void>(m.release());
  }

  channel_offer offer;                               // its sender is answered
  std::shared_ptr<const buffer<std::byte>> staging;  // null: the user's memory is sent
  std::shared_ptr<const void> owner;                 // of the memory

 private:
  static constexpr named_location trace_name{"", "channel: memory for another rank"};
  static void on_done(transfer& t, std::exception_ptr error) noexcept {
    auto& self = static_cast<outgoing_memory&>(t);
    self.m_error = std::move(error);
    detail::send(self.m_home, self, priority::high);
  }
  static void drop(void* item) noexcept { delete static_cast<outgoing_memory*>(item); }
  static void run(void* item) noexcept {
    const std::unique_ptr<outgoing_memory> self(static_cast<outgoing_memory*>(item));
    end_send(self->offer, self->m_error);
  }

  worker& m_home;
  std::exception_ptr m_error;
};

}  // namespace

/// Waits until another rank has read memory that it has mapped.
class mapped_slot final : public reply_slot {
 public:
  mapped_slot(std::shared_ptr<channel_outbox> box, channel_offer offer, std::uint64_t tag) noexcept
      : m_box(std::move(box)), m_offer(std::move(offer)), m_tag(tag) {
    if (m_box->m_open != nullptr) m_box->m_open->begin();
  }

  void deliver(input_archive& ar) override {
    const auto is_read = ar.read<bool>();
    end_wait();
    if (is_read) {
      m_box->m_mapping = channel_outbox::mapping::works;
      return end_send(m_offer, nullptr);
    }
    m_box->m_mapping = channel_outbox::mapping::fails;
    channel_outbox::parcel p{std::move(m_offer), {}, {}};
    channel_outbox::stage(p);
    start_here(channel_outbox::send_staged(m_box, std::move(p), m_tag));
  }
  void fail(const std::exception_ptr& error) noexcept override {
    end_wait();
    end_send(m_offer, error);
  }

 private:
  void end_wait() noexcept {
    if (m_box->m_open != nullptr) m_box->m_open->end();
  }

  std::shared_ptr<channel_outbox> m_box;
  channel_offer m_offer;
  std::uint64_t m_tag;
};

channel_outbox::channel_outbox(job& by, int peer, offer_writer writer,
                               std::shared_ptr<open_transfers> open) noexcept
    : m_job(by), m_peer(peer), m_writer(std::move(writer)), m_open(std::move(open)),
      m_mapping(by.reach_of_memory(peer) ? mapping::unknown : mapping::fails) {}

void channel_outbox::send(channel_offer offer) {
  parcel p{std::move(offer), {}, {}};
  prepare(p);
  if (!m_is_sending && m_waiting.empty() && p.goes_ahead()) return dispatch(std::move(p));
  m_waiting.push_back(std::move(p));
  if (m_is_sending) return;
  start_here(send_all(shared_from_this()));
  m_is_sending = true;
  if (m_open != nullptr) m_open->begin();
}

void channel_outbox::send_owned(channel_offer offer, std::shared_ptr<const void> owner) {
  dispatch({std::move(offer), {}, {}, {}, std::move(owner)});
}

/// Prepares a parcel at the current point of the sender's stream: exports its memory, so that the
/// receiver can map it, or copies it to pinned memory.
void channel_outbox::prepare(parcel& p) {
  if (p.offer.available.at == nullptr) return;
  stream& at = *p.offer.available.at;
  if (m_mapping != mapping::fails) p.name = at.device().export_memory(p.offer.data);
  if (p.name && p.name->reach < *m_job.reach_of_memory(m_peer)) p.name.reset();
  if (!p.name) return stage(p);
  future<void> ready = at.get_future();
  if (!ready.is_ready()) return p.ready.push_back(std::move(ready));
  try {
    take_from(std::move(ready));
  } catch (...) {  // ends the run, as in send_all: otherwise the peer would wait for ever
    end_run_and_close(*worker::current(), std::current_exception());
    throw;
  }
}

void channel_outbox::stage(parcel& p) {
  stream& at = *p.offer.available.at;
  const auto staging = std::make_shared<buffer<std::byte>>(
      at.device().allocate<std::byte>(memory_kind::pinned, p.offer.bytes, at));
  for (const piece& each : pieces_of(p.offer.bytes, true)) {
    at.copy_bytes(staging->data() + each.from,
                  static_cast<const std::byte*>(p.offer.data) + each.from, each.bytes);
    p.ready.push_back(at.get_future());
  }
  p.staging = staging;
  // Work submitted to the stream from now on may overwrite the memory.
  end_send(p.offer, nullptr);
}

task<> channel_outbox::send_all(std::shared_ptr<channel_outbox> self) {
  const auto box = std::move(self);
  try {
    while (!box->m_waiting.empty()) {
      parcel p = std::move(box->m_waiting.front());
      box->m_waiting.pop_front();
      if (!p.goes_ahead()) co_await std::move(p.ready.front());
      box->dispatch(std::move(p));
    }
    box->m_is_sending = false;
    if (box->m_open != nullptr) box->m_open->end();
  } catch (...) {  // ends the run: otherwise the peer would wait for ever
    end_run_and_close(*worker::current(), std::current_exception());
  }
}

task<> channel_outbox::send_staged(std::shared_ptr<channel_outbox> self, parcel p,
                                   std::uint64_t tag) {
  const auto box = std::move(self);
  try {
    parcel staged = std::move(p);
    auto ready = staged.ready.begin();
    for (const piece& each : pieces_of(staged.offer.bytes, true)) {
      co_await std::move(*ready++);
      box->transfer(staged, tag, each);
    }
  } catch (...) {  // ends the run: otherwise the peer would wait for ever
    end_run_and_close(*worker::current(), std::current_exception());
  }
}

void channel_outbox::dispatch(parcel p) {
  if (p.name) return offer_mapped(std::move(p));
  if (p.offer.bytes <= most_inside) return send_inside(p);
  const std::uint64_t tag = m_job.next_tag();
  message m = m_writer(note_of(p, memory_way::transfer, tag), {});
  if (p.staging != nullptr)
    start_here(send_staged(shared_from_this(), std::move(p), tag));
  else
    transfer(p, tag, {0, p.offer.bytes});
  m_job.send(m_peer, std::move(m));
}

offer_note channel_outbox::note_of(const parcel& p, memory_way way, std::uint64_t tag) {
  return {p.offer.bytes, tag, p.offer.position, p.offer.type, way, p.offer.available.at != nullptr};
}

void channel_outbox::send_inside(parcel& p) {
  m_job.send(m_peer, m_writer(note_of(p, memory_way::inside, 0), {p.bytes(), p.offer.bytes}));
  end_send(p.offer, nullptr);
}

void channel_outbox::transfer(const parcel& p, std::uint64_t tag, const piece& which) {
  auto t = std::make_unique<outgoing_memory>(m_peer, tag, p.bytes() + which.from, which.bytes);
  t->staging = p.staging;
  t->owner = p.owner;
  if (p.offer.sent != nullptr) t->offer = p.offer;  // not for a transfer in pieces
  outgoing_memory::start(std::move(t), m_job);
}

void channel_outbox::offer_mapped(parcel p) {
  const offer_note note = note_of(p, memory_way::mapped, m_job.next_tag());
  mapped_note how{*p.name, {}};
  // An offer without a waiter needs no answer once an earlier answer has shown that mapping works.
  if (p.offer.sent != nullptr || m_mapping != mapping::works)
    how.reader = m_job.expect(
        std::make_unique<mapped_slot>(shared_from_this(), std::move(p.offer), note.tag));
  m_job.send(m_peer, m_writer(note, std::as_bytes(std::span(&how, 1))));
}

}  // namespace starling::detail
