// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/remote_memory.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

#include <starling/device/device.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling::detail {

remote_memory::remote_memory(received_call& a, input_archive& ar)
    : m_job(*a.space().current_job()), m_rank(a.from()), m_note(ar.read<offer_note>()) {
  if (m_note.way == memory_way::mapped) m_mapped = ar.read<mapped_note>();
  const bool is_inside = m_note.way == memory_way::inside;
  a.require(m_note.way <= memory_way::mapped && m_note.tag < transfer::tag_limit &&
                m_note.bytes <= most_offered && (is_inside ? m_note.bytes : 0) == ar.left(),
            "an offer of memory is invalid");
  a.require(m_mapped.reader.slot == 0 || m_mapped.reader.rank == a.from(),
            "an offer of memory is to be answered to another rank");
  if (!is_inside) return;
  m_inside = ar.rest();
  m_whole = a.take_message();
}

channel_offer load_offer(received_call& a, input_archive& ar, channel_name from) {
  auto memory = std::make_shared<remote_memory>(a, ar);
  const offer_note& note = memory->note();
  const offer_position position = note.position;
  return {std::move(from), note.type, nullptr,           note.bytes, {},
          nullptr,         nullptr,   std::move(memory), position};
}

std::vector<piece> pieces_of(std::size_t bytes, bool is_in_pieces) {
  const std::size_t most = is_in_pieces ? piece_of_staging : bytes;
  std::vector<piece> all;
  do {
    const std::size_t from = all.empty() ? 0 : all.back().from + all.back().bytes;
    all.push_back({from, std::min(most, bytes - from)});
  } while (all.back().from + all.back().bytes < bytes);
  return all;
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

/// A receive for an offer that was refused. The sender may have begun the transfer, so it must be
/// received, but without memory: the transport drops data that exceed the receive.
class unwanted_memory final : private transfer {
 public:
  unwanted_memory(job& by, int from, std::uint64_t under)
      : transfer{from, under, nullptr, 0, &on_done, {}}, m_job(by) {}
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
};

task<> reply_later(future<void> done, job& by, reply_address to) {
  std::exception_ptr error;
  try {
    co_await std::move(done);
    by.send(to.rank, make_reply_message(to, true));
    co_return;
  } catch (...) {
    error = std::current_exception();
  }
  send_failure(by, to, error);
}

}  // namespace

void remote_memory::answer(stream* reader, const std::exception_ptr& error) {
  if (m_note.way == memory_way::transfer && error) {
    for (std::size_t i = pieces_of(m_note.bytes, m_note.is_in_pieces).size(); i > 0; --i)
      unwanted_memory::start(std::make_unique<unwanted_memory>(m_job, m_rank, m_note.tag));
    return;
  }
  const reply_address to = std::exchange(m_mapped.reader, {});
  if (to.slot == 0) return;
  if (error)
    send_failure(m_job, to, error);
  else if (reader != nullptr)
    start_here(reply_later(reader->get_lazy_future(), m_job, to));
  else
    m_job.send(to.rank, make_reply_message(to, true));
}

namespace {

/// Whether the pinned memory that receives the elements is itself lent to the receiver.
bool lends_staging(const channel_request& request) {
  return request.lent != nullptr && request.at->backend() == backend_kind::host;
}

/// Returns the memory to which the elements are copied, in the order of the stream; null: the
/// pinned memory is lent.
std::byte* destination_of(channel_request& request) {
  if (request.lent == nullptr) return static_cast<std::byte*>(request.into);
  lent_memory& lent = *request.lent;
  lent.offer.bytes = request.bytes;
  if (lends_staging(request)) return nullptr;
  lent.copy = lent.from.copy_memory(*request.at, request.bytes);
  lent.data = lent.copy.data();
  return lent.copy.data();
}

void lend_staging(channel_request& request, buffer<std::byte> staging) {
  request.lent->staging = std::move(staging);
  request.lent->data = request.lent->staging.data();
}

buffer<std::byte> staging_for(const channel_request& request) {
  return request.at->device().allocate<std::byte>(memory_kind::pinned, request.bytes, *request.at);
}

/// Completes a receive with `error`, once the stream has passed the copies submitted so far. On the
/// worker of the receiver.
task<> finish_behind(future<void> passed, std::shared_ptr<channel_operation> received,
                     std::exception_ptr error) {
  try {
    co_await std::move(passed);
  } catch (...) {  // a lost device does not write to memory any more
  }
  received->finish(error);
}

}  // namespace

/// A receive of memory from another rank. On the worker of the receiver; owned by its transfers.
class memory_receive : public std::enable_shared_from_this<memory_receive> {
 public:
  explicit memory_receive(channel_request request) : m_request(std::move(request)) {
    if (m_request.at == nullptr) return;
    m_staging = staging_for(m_request);
    m_destination = destination_of(m_request);
  }
  /// @throws std::bad_alloc
  void start(const remote_memory& from, channel_end& to);
  /// Ends the receive, because its channel end is destroyed. Resumes the waiter: at once, or, if
  /// data may still be written to the user's memory, when that is no longer possible.
  void abandon() noexcept;

 private:
  class piece_receive;
  void take(const piece_receive& which, std::exception_ptr error) noexcept;
  void end() noexcept;
  void finish(const std::exception_ptr& error) noexcept;
  /// Returns the memory that the transfers fill.
  [[nodiscard]] std::byte* memory() noexcept {
    return m_request.at != nullptr ? m_staging.data() : static_cast<std::byte*>(m_request.into);
  }

  channel_end* m_end = nullptr;  // lists this receive; null: destroyed
  channel_request m_request;
  buffer<std::byte> m_staging;  // pinned; empty: the transfers fill the user's memory
  std::byte* m_destination = nullptr;
  bool m_writes = false;  // copies to the user's memory were submitted to the stream
  std::vector<piece_receive*> m_expected;
  std::exception_ptr m_error;
};

/// One transfer; when it is complete, a message to the worker of the receiver.
class memory_receive::piece_receive final : public work_item,
                                            private transfer,
                                            public pooled<block_kind::state> {
 public:
  piece_receive(const remote_memory& from, const piece& which, std::shared_ptr<memory_receive> of)
      : work_item(&run, &drop, &trace_name), transfer{from.rank(),
                                                      from.note().tag,
                                                      of->memory() + which.from,
                                                      which.bytes,
                                                      &on_done,
                                                      {}},
        m_job(from.by()), m_home(*worker::current()), m_of(std::move(of)), m_piece(which) {}
  void start() { m_job.start_receive(*this); }
  [[nodiscard]] const piece& what() const noexcept { return m_piece; }
  /// Makes the end of the transfer have no effect: the object then only deletes itself.
  void abandon() noexcept { m_stage.exchange(stage::abandoned); }
  void cancel() noexcept { m_job.cancel_receive(*this); }

 private:
  static constexpr named_location trace_name{"", "channel: memory of another rank"};
  enum class stage : int { active, over, abandoned };

  static void on_done(transfer& t, std::exception_ptr error) noexcept {
    auto& self = static_cast<piece_receive&>(t);
    self.m_job.note_received();
    self.m_error = std::move(error);
    // After `abandon` the object is deleted here, otherwise by its message.
    if (self.m_stage.exchange(stage::over) == stage::abandoned) return delete &self;
    detail::send(self.m_home, self, priority::high);
  }
  static void drop(void* item) noexcept { delete static_cast<piece_receive*>(item); }
  static void run(void* item) noexcept {
    const std::unique_ptr<piece_receive> self(static_cast<piece_receive*>(item));
    self->m_of->take(*self, std::move(self->m_error));
  }

  job& m_job;
  worker& m_home;
  std::shared_ptr<memory_receive> m_of;
  piece m_piece;
  std::exception_ptr m_error;
  // active → over by the transport, active → abandoned by the worker. The exchange decides which of
  // the two deletes the object, and publishes the writes of the first to the second.
  std::atomic<stage> m_stage{stage::active};
};

void memory_receive::start(const remote_memory& from, channel_end& to) {
  std::vector<std::unique_ptr<piece_receive>> all;
  for (const piece& each : pieces_of(from.note().bytes, from.note().is_in_pieces))
    all.push_back(std::make_unique<piece_receive>(from, each, shared_from_this()));
  m_expected.reserve(all.size());
  to.add_receive(*this);
  m_end = &to;
  try {
    for (auto& each : all) {
      each->start();
      m_expected.push_back(each.release());
    }
  } catch (...) {
    m_error = std::current_exception();
    if (!m_expected.empty())  // the remaining transfers would have no receiver
      return end_run_and_close(*worker::current(), m_error);
    to.remove_receive(*this);
    throw;
  }
}

void memory_receive::abandon() noexcept {
  const auto self = shared_from_this();
  m_end = nullptr;
  for (piece_receive* each : m_expected) each->cancel();
  if (m_request.at == nullptr) return;
  m_request.lent.reset();  // the lending end may be destroyed before this object
  for (piece_receive* each : std::exchange(m_expected, {})) each->abandon();
  finish(std::make_exception_ptr(operation_cancelled()));
}

/// Completes the receive. After an error this waits for the stream, because pieces may still be
/// copied from pinned memory to the user's memory.
void memory_receive::finish(const std::exception_ptr& error) noexcept {
  const auto received = m_request.received;
  if (error && m_writes && worker::current() != nullptr) {
    try {
      return start_here(finish_behind(m_request.at->get_future(), received, error));
    } catch (...) {  // no memory for the wait
    }
  }
  received->finish(error);
}

void memory_receive::take(const piece_receive& which, std::exception_ptr error) noexcept {
  std::erase(m_expected, &which);
  if (error && !m_error) m_error = std::move(error);
  if (m_end != nullptr && m_destination != nullptr && !m_error &&
      !m_request.received->is_withdrawn()) {
    try {
      const piece& what = which.what();
      m_request.at->copy_bytes(m_destination + what.from, m_staging.data() + what.from, what.bytes);
      m_writes = m_request.lent == nullptr;
    } catch (...) {
      m_error = std::current_exception();
    }
  }
  if (m_expected.empty()) end();
}

void memory_receive::end() noexcept {
  if (m_end == nullptr) {  // abandoned: a waiter for staged memory has been resumed
    if (m_request.at == nullptr) finish(std::make_exception_ptr(operation_cancelled()));
    return;
  }
  m_end->remove_receive(*this);
  if (m_request.received->is_withdrawn()) {  // memory and stream may be destroyed
    if (m_request.lent != nullptr) m_request.lent->copy = {};
    return;
  }
  if (!m_error && m_request.at != nullptr && lends_staging(m_request))
    lend_staging(m_request, std::move(m_staging));
  m_request.lent.reset();  // from now on only the waiter holds the lent memory
  finish(m_error);
}

void abandon_receive(memory_receive& m) noexcept { m.abandon(); }

namespace {

bool receive_inside(channel_offer& offer, channel_request& request) {
  const std::span<const std::byte> bytes = offer.remote->inside();
  if (request.at == nullptr) {
    std::ranges::copy(bytes, static_cast<std::byte*>(request.into));
    return true;
  }
  buffer<std::byte> staging = staging_for(request);
  std::ranges::copy(bytes, staging.data());
  std::byte* const to = destination_of(request);
  if (lends_staging(request))
    lend_staging(request, std::move(staging));
  else
    request.at->copy_bytes(to, staging.data(), bytes.size());
  return true;
}

bool receive_transfer(channel_end& to, channel_offer& offer, channel_request& request) {
  std::make_shared<memory_receive>(std::move(request))->start(*offer.remote, to);
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
  const bool is_near = found.is_here || (found.is_reached && offer.bytes <= request.most_in_place);
  return to.read(offer, request, is_near);
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
