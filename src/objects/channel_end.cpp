// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/channel_end.hpp>

#include <algorithm>
#include <atomic>

#include <starling/core/error.hpp>
#include <starling/core/executor.hpp>
#include <starling/device/detail/memory_access.hpp>
#include <starling/objects/detail/send.hpp>
#include <starling/objects/ranks.hpp>

#include "channel_set.hpp"

namespace starling::detail {

namespace {

/// Returns a number that no other channel end of the job has.
std::uint64_t next_line() {
  static std::atomic<std::uint64_t> last{0};  // guards no other data
  constexpr int rank_from = 40;               // position of the rank's number
  return (std::uint64_t(this_rank().number) << rank_from) +
         last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void tell(worker& home, std::shared_ptr<channel_operation> operation, std::exception_ptr error,
          stream* at, event used) {
  const auto finish = [operation = std::move(operation), error = std::move(error), at,
                       used = std::move(used)]() mutable {
    if (operation->is_withdrawn()) return;  // the stream may be destroyed
    try {
      if (at != nullptr) at->wait(used);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    operation->finish(error);
  };
  send_call(home, finish, priority::high);
}

/// For a sender without a stream: completes the send when the reader's stream is `done`.
task<> tell_later(future<void> done, worker& home, std::shared_ptr<channel_operation> operation) {
  std::exception_ptr error;
  try {
    co_await std::move(done);
  } catch (...) {
    error = std::current_exception();
  }
  tell(home, std::move(operation), error, nullptr, {});
}

/// For a receiver without a stream, on its worker: completes the receive when the stream `by` has
/// made the copy.
task<> finish_later(std::shared_ptr<stream> by, std::shared_ptr<channel_operation> received,
                    channel_offer offer) {
  std::exception_ptr error;
  try {
    co_await by->get_future();
  } catch (...) {
    error = std::current_exception();
  }
  offer.answer(nullptr, error);
  received->finish(error);
}

bool is_read_in_place(const device& reader, const device& owner, std::size_t bytes,
                      std::size_t most) {
  return &reader == &owner || (bytes <= most && reader.reaches(owner));
}

/// Copies the data. A sender on another rank is notified by the host; `pull_bytes` does not make
/// later copies wait for that.
void copy_to(stream& by, void* into, const channel_offer& offer) {
  if (offer.remote != nullptr)
    by.pull_bytes(into, offer.data, offer.bytes);
  else
    by.copy_bytes(into, offer.data, offer.bytes);
}

/// Returns the stream that copies to a receiver without a stream: the sender's, or else one of this
/// rank's pool.
std::shared_ptr<stream> stream_for(const channel_offer& offer) {
  if (offer.available.at != nullptr) return {std::shared_ptr<stream>(), offer.available.at};
  return std::make_shared<stream>(devices(*runtime::current()).here().pool().acquire());
}

}  // namespace

void start_here(task<> t) { executor(*worker::current(), true, priority::high).post(std::move(t)); }

void channel_operation::finish(const std::exception_ptr& error) noexcept {
  if (std::exchange(m_is_over, true)) return;
  m_error = error;
  if (m_what == kind::receive) --m_channel->receives;
  m_channel->open->end();
  if (promise_base* c = std::exchange(m_waiting, nullptr)) resume_charged(*c);
}

void channel_operation::check() const {
  if (!m_is_over) throw_interrupted();
  if (m_error) std::rethrow_exception(m_error);
}

void channel_offer::keep() {
  if (remote != nullptr) remote->keep();
}

bool channel_offer::is_answered() const noexcept {
  return sent != nullptr || (remote != nullptr && remote->is_answered());
}

void channel_offer::answer(stream* reader, std::exception_ptr error) {
  if (remote != nullptr) return remote->answer(reader, error);
  if (sent == nullptr) return;
  auto operation = std::exchange(sent, nullptr);
  if (reader == nullptr || error)
    tell(*home, std::move(operation), std::move(error), nullptr, {});
  else if (available.at != nullptr)
    tell(*home, std::move(operation), nullptr, available.at, reader->record());
  else
    start_here(tell_later(reader->get_future(), *home, std::move(operation)));
}

// --- one end

channel_end::channel_end(chare_core& owner, channel_name self, channel_name peer, offer_sender to,
                         std::string name, std::uint32_t maker, asker ask)
    : m_owner(owner), m_self(std::move(self)), m_peer(std::move(peer)), m_to(std::move(to)),
      m_label(std::make_shared<const channel_label>(
          channel_label{std::move(name), transfers_of(owner)})),
      m_line(next_line()), m_ask(std::move(ask)), m_maker(maker),
      m_notes_readers(owner.element_state().local->array->space().current_job() != nullptr) {
  channel_set& set = channels_of(owner);
  const auto same = [this](const channel_end* e) { return e->is_from(m_peer); };
  if (std::ranges::any_of(set.ends, same))
    throw usage_error(m_label->name +
                      ": this end exists already; give each channel between two chares "
                      "its own id");
  const auto before = std::ranges::find(set.former, m_peer, &channel_set::former_end::peer);
  if (before != set.former.end()) {
    m_order = std::move(before->order);
    set.former.erase(before);
  }
  const auto mine = std::ranges::stable_partition(
      set.unclaimed, [this](const channel_offer& o) { return !is_from(o.from); });
  for (channel_offer& offer : mine) take(std::move(offer));
  set.unclaimed.erase(mine.begin(), mine.end());
  set.ends.push_back(this);
}

channel_end::~channel_end() {
  if (m_is_gone != nullptr) *m_is_gone = true;
  channel_set& set = *m_owner.element_state().channels;
  std::erase(set.ends, this);
  cancel();
  if (worker::current() == nullptr) return;  // the runtime ends: no waiter is left
  or_end_run(*worker::current(), [&] {
    if (m_order.has_begun()) set.former.push_back({m_peer, std::move(m_order)});
    const auto why =
        std::make_exception_ptr(usage_error(m_label->name + " is gone and will not receive"));
    for (channel_offer& offer : m_offers) offer.answer(nullptr, why);
    for (channel_offer& offer : m_early) offer.answer(nullptr, why);
  });
}

void channel_end::cancel() noexcept {
  // A resumed waiter may destroy this channel end.
  const auto active = std::exchange(m_receives, {});
  const auto requests = std::exchange(m_requests, {});
  for (memory_receive* m : active) abandon_receive(*m);
  for (const channel_request& r : requests)
    r.received->finish(std::make_exception_ptr(operation_cancelled()));
}

std::shared_ptr<channel_operation> channel_end::send(std::uint32_t type,
                                                     std::span<const std::byte> data,
                                                     const stream_point& available, bool answered) {
  worker* const home = m_owner.element_state().local->home;
  if (load_record* const load = m_owner.element_state().load.get()) [[unlikely]]
    load->sent.add({m_peer.array->id(), m_peer.number}, data.size());
  const bool may_overtake = m_owner.element_state().tracked != nullptr;
  channel_offer offer{m_self,      type,      data.data(),
                      data.size(), available, nullptr,
                      home,        nullptr,   {m_line, m_sent + 1, may_overtake}};
  if (answered)
    offer.sent = std::make_shared<channel_operation>(m_label, channel_operation::kind::send);
  auto sent = offer.sent;
  m_to(std::move(offer));
  ++m_sent;
  if (!answered) m_posted = m_sent;
  return sent;
}

std::shared_ptr<channel_operation> channel_end::receive(channel_request request,
                                                        std::uint32_t type) {
  m_type = type;
  request.received = std::make_shared<channel_operation>(m_label, channel_operation::kind::receive);
  auto received = request.received;
  if (m_owner.element_state().is_doomed) {
    received->finish(std::make_exception_ptr(operation_cancelled()));
    return received;
  }
  if (m_offers.empty()) {
    forget_withdrawn();
    m_requests.push_back(std::move(request));
    return received;
  }
  channel_offer offer = std::move(m_offers.front());
  m_offers.pop_front();
  match(std::move(offer), std::move(request));
  return received;
}

void channel_end::forget_withdrawn() noexcept {
  while (!m_requests.empty() && m_requests.front().received->is_withdrawn()) m_requests.pop_front();
}

void channel_end::take(channel_offer offer) {
  if (m_order.find(offer.position.line) == nullptr) [[unlikely]]
    if (const auto begun = channels_of(m_owner).take_line(offer.position.line))
      m_order.adopt(*begun);
  if (const turn when = m_order.take(offer.position); when != turn::now) [[unlikely]]
    return hold(std::move(offer), when);
  if (m_early.empty()) [[likely]]
    return accept(std::move(offer));
  accept_with_early(std::move(offer));
}

void channel_end::hold(channel_offer offer, turn when) {
  const auto same = [&](const channel_offer& o) {
    return o.position.line == offer.position.line && o.position.number == offer.position.number;
  };
  if (when == turn::past || std::ranges::any_of(m_early, same))
    throw archive_error(m_label->name + ": an offer of memory has arrived twice");
  offer.keep();
  m_early.push_back(std::move(offer));
}

void channel_end::accept_with_early(channel_offer offer) {
  bool is_gone = false;
  bool* const outer = std::exchange(m_is_gone, &is_gone);
  const auto is_next = [this](const channel_offer& o) {
    return m_order.take(o.position) == turn::now;
  };
  for (;;) {
    accept(std::move(offer));
    if (is_gone) break;
    const auto next = std::ranges::find_if(m_early, is_next);
    if (next == m_early.end()) break;
    offer = std::move(*next);
    m_early.erase(next);
  }
  if (!is_gone)
    m_is_gone = outer;
  else if (outer != nullptr)
    *outer = true;
}

void channel_end::accept(channel_offer offer) {
  forget_withdrawn();
  if (m_requests.empty()) {
    offer.keep();
    m_offers.push_back(std::move(offer));
    return;
  }
  channel_request request = std::move(m_requests.front());
  m_requests.pop_front();
  match(std::move(offer), std::move(request));
}

void channel_end::match(channel_offer offer, channel_request request) {
  const auto received = request.received;
  std::exception_ptr error = mismatch(offer, request);
  try {
    if (!error && !serve(offer, request)) return;
  } catch (...) {
    error = std::current_exception();
  }
  if (error) offer.answer(nullptr, error);
  request.lent.reset();  // from now on only the waiter holds the lent memory
  received->finish(error);
}

std::exception_ptr channel_end::mismatch(const channel_offer& offer,
                                         const channel_request& request) const {
  const auto refuse = [this](const std::string& why) {
    return std::make_exception_ptr(usage_error(m_label->name + ": " + why));
  };
  if (offer.type != m_type) return refuse("the two ends are for different types of elements");
  if (offer.bytes != request.bytes)
    return refuse(std::to_string(offer.bytes) + " bytes were sent where " +
                  std::to_string(request.bytes) + " are to be received");
  return nullptr;
}

/// Serves a request with a fitting offer. Returns true when the receive is complete.
bool channel_end::serve(channel_offer& offer, channel_request& request) {
  if (offer.remote != nullptr) return receive_remote(*this, offer, request);
  if (request.at != nullptr && offer.available.at != nullptr)
    try_to_reach(request.at->device(), offer.available.at->device());
  const bool is_near = request.at != nullptr && offer.available.at != nullptr &&
                       is_read_in_place(request.at->device(), offer.available.at->device(),
                                        offer.bytes, request.most_in_place);
  return read(offer, request, is_near);
}

bool channel_end::read(channel_offer& offer, channel_request& request, bool is_near) {
  if (m_notes_readers && request.at != nullptr) note_reader(*request.at);
  if (request.lent != nullptr) {
    lend(offer, request, is_near || request.at->backend() == backend_kind::host);
  } else if (request.at != nullptr) {
    if (offer.available.at != nullptr) request.at->wait(offer.available.ready);
    copy_to(*request.at, request.into, offer);
    offer.answer(request.at, nullptr);
  } else if (offer.available.at != nullptr || offer.remote != nullptr) {
    const auto by = stream_for(offer);
    by->copy_bytes(request.into, offer.data, offer.bytes);
    start_here(finish_later(by, request.received, std::move(offer)));
    return false;
  } else {
    std::copy_n(static_cast<const std::byte*>(offer.data), offer.bytes,
                static_cast<std::byte*>(request.into));
    offer.answer(nullptr, nullptr);
  }
  return true;
}

void channel_end::note_reader(stream& at) {
  const auto same = [&](const stream& s) { return &s.state() == &at.state(); };
  if (std::ranges::any_of(m_readers, same)) return;
  std::erase_if(m_readers, [](const stream& s) { return s.get_future().is_ready(); });
  m_readers.emplace_back(at.state());
}

bool channel_end::has_unread(std::uint64_t line) const noexcept {
  const auto is_of_line = [line](const channel_offer& o) { return o.position.line == line; };
  return m_label->receives != m_requests.size() || m_lent != 0 ||
         std::ranges::any_of(m_offers, is_of_line) || std::ranges::any_of(m_early, is_of_line);
}

void channel_end::lend(channel_offer& offer, channel_request& request, bool is_near) {
  lent_memory& lent = *request.lent;
  stream& at = *request.at;
  if (offer.available.at != nullptr) at.wait(offer.available.ready);
  if (is_near) {
    lent.data = offer.data;
    lent.offer = std::move(offer);
    lent.is_in_place = true;
    note_lent();
    return;
  }
  lent.copy = copy_memory(at, offer.bytes);
  copy_to(at, lent.copy.data(), offer);
  lent.data = lent.copy.data();
  lent.offer.bytes = offer.bytes;
  offer.answer(&at, nullptr);
}

/// Reuses returned memory of that size, so that graphs see the same address again.
buffer<std::byte> channel_end::copy_memory(stream& at, std::size_t bytes) {
  const auto fits = [&](const spare_memory& s) {
    return s.at == &at.state() && s.memory.size() == bytes;  // its last reader is this stream
  };
  const auto found = std::ranges::find_if(m_spare, fits);
  if (found == m_spare.end())
    return at.device().allocate<std::byte>(memory_kind::device, bytes, at);
  buffer<std::byte> memory = std::move(found->memory);
  m_spare.erase(found);
  return memory;
}

void channel_end::keep(buffer<std::byte> memory, stream& at) {
  constexpr std::size_t most = 8;  // enough for several sizes and streams in turn
  if (m_spare.size() == most) m_spare.erase(m_spare.begin());
  m_spare.push_back({std::move(memory), &at.state()});
}

lent_memory::~lent_memory() {
  if (!copy.empty()) from.keep(std::move(copy), at);
  if (is_in_place) from.note_returned();
  if (!offer.is_answered() || worker::current() == nullptr) return;
  or_end_run(*worker::current(), [this] { offer.answer(&at, nullptr); });
}

}  // namespace starling::detail
