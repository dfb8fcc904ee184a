// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/remote_memory.hpp>

#include <atomic>
#include <cstring>
#include <utility>

#include <starling/device/device.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling::detail {

remote_memory::remote_memory(arrival& a, input_archive& ar)
    : m_job(*a.space().others()), m_rank(a.from()), m_note(ar.read<offer_note>()) {
  if (m_note.way == memory_way::mapped) m_mapped = ar.read<mapped_note>();
  const bool is_inside = m_note.way == memory_way::inside;
  a.require(m_note.way <= memory_way::mapped && m_note.tag < transfer::tag_limit &&
                (is_inside ? m_note.bytes : 0) == ar.left(),
            "an offer of memory is none that a rank writes");
  a.require(m_mapped.reader.slot == 0 || m_mapped.reader.rank == a.from(),
            "an offer of memory is to be answered to another rank");
  if (!is_inside) return;
  m_inside = ar.rest();
  m_whole = a.take_message();
}

channel_offer load_offer(arrival& a, input_archive& ar, channel_name from) {
  auto memory = std::make_shared<remote_memory>(a, ar);
  const offer_note& note = memory->note();
  return {std::make_shared<const channel_name>(std::move(from)),
          note.type,
          nullptr,
          note.bytes,
          {},
          nullptr,
          nullptr,
          std::move(memory)};
}

void remote_memory::keep() {
  if (m_whole.size() == 0) return;
  m_kept.assign(m_inside.begin(), m_inside.end());
  m_inside = m_kept;
  m_whole = {};
}

bool remote_memory::ask_for_transfer() {
  const reply_address to = std::exchange(m_mapped.reader, {});
  if (to.slot == 0) return false;
  m_job.send(to.rank, make_reply_message(to, false));
  m_note.way = memory_way::transfer;
  return true;
}

namespace {

/// The transfer of an offer that was refused: it comes all the same.
class unwanted_memory final : private transfer {
 public:
  unwanted_memory(job& by, int rank, const offer_note& note)
      : transfer{rank, note.tag, nullptr, note.bytes, &on_done, {}}, m_job(by),
        m_memory(note.bytes) {
    data = m_memory.data();
  }
  static void start(std::unique_ptr<unwanted_memory> m) {
    m->m_job.start_receive(*m);
    static_cast<void>(m.release());
  }

 private:
  static void on_done(transfer& t, std::exception_ptr) noexcept {
    auto& self = static_cast<unwanted_memory&>(t);
    self.m_job.note_received();
    delete &self;
  }
  job& m_job;
  std::vector<std::byte> m_memory;
};

}  // namespace

void remote_memory::answer(stream* reader, const std::exception_ptr& error) {
  if (m_note.way == memory_way::transfer && error)
    return unwanted_memory::start(std::make_unique<unwanted_memory>(m_job, m_rank, m_note));
  const reply_address to = std::exchange(m_mapped.reader, {});
  if (to.slot == 0) return;
  if (error)
    send_failure(m_job, to, error);
  else if (reader != nullptr)
    m_job.tell_when_read(*reader, to);
  else
    m_job.send(to.rank, make_reply_message(to, true));
}

namespace {

/// From pinned memory to where it is wanted, in the order of the stream.
void hand_over(channel_request& request, buffer<std::byte> staging) {
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

buffer<std::byte> staging_for(const channel_request& request) {
  return request.at->device().allocate<std::byte>(memory_kind::pinned, request.bytes, *request.at);
}

}  // namespace

/// As a message to the worker that waits for its end.
class incoming_memory final : public work_item, private transfer, public pooled<block_kind::state> {
 public:
  incoming_memory(const remote_memory& from, channel_request request)
      : work_item(&run, &drop, &place), transfer{from.rank(),   from.note().tag, nullptr,
                                                 request.bytes, &on_done,        {}},
        m_job(from.by()), m_home(*worker::current()), m_request(std::move(request)) {
    if (m_request.at != nullptr) m_staging = staging_for(m_request);
    data = m_request.at != nullptr ? m_staging.data() : m_request.into;
  }
  /// It deletes itself at its end. @throws std::bad_alloc
  static void start(std::unique_ptr<incoming_memory> m, channel_end& to) {
    to.add_incoming(*m);
    m->m_end = &to;
    try {
      m->m_job.start_receive(*m);
    } catch (...) {
      to.remove_incoming(*m);
      throw;
    }
    static_cast<void>(m.release());
  }
  /// Its end of the channel is gone. Who waits is told now, or, where data may still come into the
  /// user's memory, when they cannot any more.
  void abandon() noexcept {
    m_end = nullptr;
    m_job.cancel_receive(*this);
    if (m_staging.empty()) return;
    const auto received = m_request.received;
    m_request.lent.reset();  // its end may go before this
    m_stage.exchange(stage::abandoned);
    received->finish(std::make_exception_ptr(operation_cancelled()));
  }

 private:
  static constexpr made_up_place place{"", "channel: memory of another rank"};
  enum class stage : int { active, over, abandoned };

  static void on_done(transfer& t, std::exception_ptr error) noexcept {
    auto& self = static_cast<incoming_memory&>(t);
    self.m_job.note_received();
    self.m_error = std::move(error);
    // Whoever is second deletes it.
    if (self.m_stage.exchange(stage::over) == stage::abandoned) return delete &self;
    detail::send(self.m_home, self, priority::high);
  }
  static void drop(void* item) noexcept { delete static_cast<incoming_memory*>(item); }
  static void run(void* item) noexcept {
    const std::unique_ptr<incoming_memory> self(static_cast<incoming_memory*>(item));
    self->end();
  }

  void end() noexcept {
    const auto received = m_request.received;
    if (m_end == nullptr) {
      if (m_staging.empty()) received->finish(std::make_exception_ptr(operation_cancelled()));
      return;
    }
    m_end->remove_incoming(*this);
    if (received->is_withdrawn()) return;  // the memory may be gone
    try {
      if (!m_error && m_request.at != nullptr) hand_over(m_request, std::move(m_staging));
    } catch (...) {
      m_error = std::current_exception();
    }
    m_request.lent.reset();  // who is resumed alone says how long it is lent
    received->finish(m_error);
  }

  job& m_job;
  worker& m_home;
  channel_end* m_end = nullptr;  // where it is listed; null: that is gone
  channel_request m_request;
  buffer<std::byte> m_staging;  // pinned; empty: the user's memory itself
  std::exception_ptr m_error;
  // active → over by the transport, active → abandoned by the worker: the exchange decides who
  // deletes it, and hands over what the other has written.
  std::atomic<stage> m_stage{stage::active};
};

void abandon_incoming(incoming_memory& m) noexcept { m.abandon(); }

namespace {

bool receive_inside(channel_offer& offer, channel_request& request) {
  const std::span<const std::byte> bytes = offer.remote->inside();
  if (request.at == nullptr) {
    std::memcpy(request.into, bytes.data(), bytes.size());
    return true;
  }
  buffer<std::byte> staging = staging_for(request);
  std::memcpy(staging.data(), bytes.data(), bytes.size());
  hand_over(request, std::move(staging));
  return true;
}

bool receive_transfer(channel_end& to, channel_offer& offer, channel_request& request) {
  incoming_memory::start(std::make_unique<incoming_memory>(*offer.remote, std::move(request)), to);
  return false;
}

bool receive_mapped(channel_end& to, channel_offer& offer, channel_request& request) {
  device& reader =
      request.at != nullptr ? request.at->device() : devices(*runtime::current()).here();
  device::mapped_memory found{};
  try {
    found = reader.import_memory(offer.remote->name());
  } catch (const device_error&) {
    if (!offer.remote->ask_for_transfer()) throw;
    return receive_transfer(to, offer, request);
  }
  offer.data = found.data;
  return to.read(offer, request,
                 found.is_here      ? distance::here
                 : found.is_reached ? distance::reached
                                    : distance::far);
}

}  // namespace

bool receive_remote(channel_end& to, channel_offer& offer, channel_request& request) {
  switch (offer.remote->note().way) {
    case memory_way::inside:
      return receive_inside(offer, request);
    case memory_way::transfer:
      return receive_transfer(to, offer, request);
    case memory_way::mapped:
      return receive_mapped(to, offer, request);
  }
  return true;
}

}  // namespace starling::detail
