// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <starling/device/buffer.hpp>
#include <starling/device/device.hpp>
#include <starling/objects/detail/channel_offer.hpp>
#include <starling/objects/detail/remote_memory.hpp>
#include <starling/objects/proxy.hpp>

/// Channels, independent of the type of their elements.
namespace starling::detail {

/// Sends an offer to the peer of a channel end; empty for an end that only receives. Independent of
/// the type of the receiving chare.
using offer_sender = std::function<void(channel_offer&& offer)>;

/// Asks the peer of a channel end whether it has read the offers of a line up to a number. Empty
/// for an end whose chare cannot leave its rank.
using asker = std::function<future<bool>(std::uint64_t line, std::uint64_t number)>;

/// One end of a channel, registered with its chare. Used on the chare's worker only.
class channel_end {
 public:
  /// `maker`: number of the channel_maker that makes the end again on another rank.
  channel_end(chare_core& owner, channel_name self, channel_name peer, offer_sender to,
              std::string name, std::uint32_t maker = 0, asker ask = nullptr);
  channel_end(const channel_end&) = delete;
  channel_end& operator=(const channel_end&) = delete;
  ~channel_end();

  /// Offers memory to the peer. Returns the operation to wait for if `answered`, otherwise null.
  /// @throws device_error, std::bad_alloc; then no message was sent
  std::shared_ptr<channel_operation> send(std::uint32_t type, std::span<const std::byte> data,
                                          const stream_point& available, bool answered);
  std::shared_ptr<channel_operation> receive(channel_request request, std::uint32_t type);

  [[nodiscard]] const channel_name& peer() const noexcept { return m_peer; }
  [[nodiscard]] std::uint32_t maker() const noexcept { return m_maker; }

  [[nodiscard]] bool is_from(const channel_name& sender) const noexcept { return m_peer == sender; }
  [[nodiscard]] const offer_order& order() const noexcept { return m_order; }
  [[nodiscard]] std::uint64_t line() const noexcept { return m_line; }
  /// Returns the number of the last offer that no operation waits for, if the peer has not
  /// confirmed that it has read it; otherwise 0.
  [[nodiscard]] std::uint64_t unconfirmed() const noexcept {
    return m_confirmed < m_posted ? m_posted : 0;
  }
  /// @throws the exceptions of a call
  [[nodiscard]] future<bool> ask() const { return m_ask(m_line, m_posted); }
  void confirm(std::uint64_t number) noexcept { m_confirmed = number; }
  /// Returns whether offers of a line that have arrived are not read yet, as far as the host knows.
  [[nodiscard]] bool has_unread(std::uint64_t line) const noexcept;
  /// Returns the streams that may still read offered memory.
  [[nodiscard]] std::vector<stream> take_readers() noexcept { return std::exchange(m_readers, {}); }
  /// Returns whether elements that the peer has offered are read in place.
  [[nodiscard]] bool lends() const noexcept { return m_lent != 0; }
  void note_lent() noexcept { ++m_lent; }
  void note_returned() noexcept { --m_lent; }
  /// Takes an offer of the peer that has arrived, in its turn. @throws archive_error when it has
  /// arrived before
  void take(channel_offer offer);
  /// Reads an offer whose memory is accessible here, for a request that fits it. `is_near`: a
  /// request for lent memory gets the offered memory itself, not a copy. Returns true when the
  /// receive is complete.
  [[nodiscard]] bool read(channel_offer& offer, channel_request& request, bool is_near);
  [[nodiscard]] bool receives() const noexcept {
    return !m_requests.empty() || !m_receives.empty();
  }
  /// Returns the number of offers for which no request has been made yet.
  [[nodiscard]] std::size_t offers() const noexcept { return m_offers.size() + m_early.size(); }
  /// Returns the number of requests for which no offer has arrived yet.
  [[nodiscard]] std::size_t requests() const noexcept { return m_requests.size(); }
  /// Ends the pending receives of this end with operation_cancelled.
  void cancel() noexcept;

  [[nodiscard]] buffer<std::byte> copy_memory(stream& at, std::size_t bytes);
  void keep(buffer<std::byte> memory, stream& at);
  void add_receive(memory_receive& m) { m_receives.push_back(&m); }
  void remove_receive(memory_receive& m) noexcept { std::erase(m_receives, &m); }

 private:
  struct spare_memory {
    buffer<std::byte> memory;
    const stream_state* at;  // stream that has read the memory last
  };
  void forget_withdrawn() noexcept;
  /// Keeps an offer that has arrived before an earlier one.
  void hold(channel_offer offer, turn when);
  /// Serves the next request with an offer, or keeps the offer until there is one. The resumed
  /// waiter may destroy this channel end.
  void accept(channel_offer offer);
  /// As above, then the offers that have waited for this one.
  void accept_with_early(channel_offer offer);
  void note_reader(stream& at);
  /// Serves a request with an offer. The resumed waiter may destroy this channel end.
  void match(channel_offer offer, channel_request request);
  [[nodiscard]] bool serve(channel_offer& offer, channel_request& request);
  void lend(channel_offer& offer, channel_request& request, bool is_near);
  [[nodiscard]] std::exception_ptr mismatch(const channel_offer& offer,
                                            const channel_request& request) const;

  chare_core& m_owner;
  channel_name m_self;
  channel_name m_peer;
  offer_sender m_to;
  std::shared_ptr<const channel_label> m_label;
  std::uint64_t m_line;  // of the offers that this end sends
  std::uint64_t m_sent = 0;
  std::uint32_t m_type = 0;
  offer_order m_order;  // of the offers that arrive
  std::vector<channel_offer> m_early;
  bool* m_is_gone = nullptr;  // set by the destructor
  std::size_t m_lent = 0;
  std::uint64_t m_posted = 0;     // number of the last offer that no operation waits for
  std::uint64_t m_confirmed = 0;  // up to which the peer has read
  asker m_ask;
  std::uint32_t m_maker;
  bool m_notes_readers;  // the peer may leave its rank
  std::vector<stream> m_readers;
  std::deque<channel_offer> m_offers;
  std::deque<channel_request> m_requests;
  std::vector<memory_receive*> m_receives;
  // Kept for copies of those lent elements that are not read in place.
  std::vector<spare_memory> m_spare;
};

/// Memory that an end lends to its user. The destruction of this object returns the memory: only
/// work submitted to `at` before may read it.
struct lent_memory {
  lent_memory(channel_end& lender, stream& reader) noexcept : from(lender), at(reader) {}
  lent_memory(const lent_memory&) = delete;
  lent_memory& operator=(const lent_memory&) = delete;
  ~lent_memory();

  channel_end& from;
  stream& at;
  const void* data = nullptr;
  bool is_in_place = false;   // the sender's memory itself is lent
  channel_offer offer;        // answered when the memory is returned
  buffer<std::byte> copy;     // copy for the reader; empty: none
  buffer<std::byte> staging;  // pinned memory that received the data of another rank
  // Keeps a lender without another owner in existence while the memory is lent.
  std::shared_ptr<channel_end> keep;
};

/// Passes an offer to its channel end, or keeps it until that end exists. @throws archive_error
/// when it has arrived before
void take_offer(chare_core& target, channel_offer offer);

/// Sends an offer to another rank in the messages that `writer` makes, and answers its sender. A
/// remote offer is received first. On any worker. @throws device_error, std::bad_alloc
void relay_offer(channel_offer offer, job& by, int rank, offer_writer writer);

template <class Peer>
struct remote_tracked_offer;

/// A message that carries an offer.
template <class Peer>
class offer_message final : public work_item, public pooled<block_kind::state> {
 public:
  offer_message(const address<Peer>& to, channel_offer offer)
      : work_item(&run, &drop, &trace_name), m_address(to), m_offer(std::move(offer)) {}

  // See message_functions.
  static void deliver_to(work_item& m, local_elements& here, Peer& target) noexcept {
    auto& self = static_cast<offer_message&>(m);
    target.note_wait();  // offers before this one may have delayed a departure
    or_end_run(*here.home, [&] { take_offer(target, std::move(self.m_offer)); });
    delete &self;
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<offer_message&>(m);
    const address<Peer>& to = self.m_address;
    or_end_run(*to.local->home, [&] { self.m_offer.keep(); });
    if (to.hold_or_make(m)) return;
    if (!to.local->array->is_closed()) or_end_run(*to.local->home, [&] { self.refuse(); });
    delete &self;
  }
  static void note_forwarded(work_item& m) noexcept {
    static_cast<offer_message&>(m).m_offer.position.may_overtake = true;
  }
  static void relay(work_item& m, const address<Peer>& to, std::size_t worker, const ticket& at) {
    job& j = *to.array().space().current_job();
    const auto [rank, on_rank] = j.location_of(worker);
    channel_offer& offer = static_cast<offer_message&>(m).m_offer;
    auto write = [to, way = remote_way{on_rank, at.priority}, at,
                  from = save_channel_name(offer.from)](const offer_note& note,
                                                        std::span<const std::byte> rest) {
      return make_remote<remote_tracked_offer<Peer>>(way, to.array().id(), to.to, at, from, note,
                                                     last_bytes{rest});
    };
    relay_offer(std::move(offer), j, rank, std::move(write));
  }
  /// For the state of a destroyed element: the offer is refused, and its number is not used.
  static void write(work_item& m, job& j, const value_user& use) {
    static_cast<offer_message&>(m).refuse();
    skip_message<Peer> skipped;
    skip_message<Peer>::write(skipped, j, use);
  }

 private:
  static constexpr named_location trace_name{"", "channel"};
  static void drop(void* item) noexcept { delete static_cast<offer_message*>(item); }
  static void run(void* item) noexcept {
    auto& self = *static_cast<offer_message*>(item);
    if (self.m_address.local->array->is_closed()) return delete &self;
    if (Peer* const target = self.m_address.find())
      return deliver_to(self, *self.m_address.local, *target);
    if (!pass_on_if_tracked(self.m_address, self, functions_of<Peer, offer_message>)) miss(self);
  }
  void refuse() {
    if (m_offer.is_answered())
      m_offer.answer(nullptr, m_address.missing(channel_info));
    else
      m_address.fail(channel_info, m_address.missing(channel_info));
  }

  address<Peer> m_address;
  channel_offer m_offer;
};

/// Sends an offer to an element of a home that has tracked elements, in a job of several ranks. The
/// channel's numbers give its order, as an offer that leaves the rank may wait for its data.
template <class Peer>
void send_loosely(const address<Peer>& to, channel_offer&& offer) {
  array_of<Peer>& array = to.array();
  const worker& here = *worker::current();
  const auto& e = array.entry(here.index(), to.to);
  if (e.known.version != 0) offer.position.may_overtake = true;  // so it does not go by the home
  const ticket position{.sender = array.worker_number(here),
                        .version = e.known.version,
                        .priority = priority::high,
                        .is_loose = true};
  send_to_worker(array, e.known.worker,
                 make_tracked<Peer>(to, *new offer_message<Peer>(to, std::move(offer)),
                                    functions_of<Peer, offer_message<Peer>>, position));
}

/// Sends an offer to an element whose home is on this rank.
template <class Peer>
void send_within_rank(const address<Peer>& to, channel_offer&& offer) {
  if constexpr (migrates_between_ranks<Peer>)
    if (to.local->has_tracked() && to.array().space().current_job() != nullptr) [[unlikely]]
      return send_loosely(to, std::move(offer));
  auto& m = *new offer_message<Peer>(to, std::move(offer));
  if (to.local->specials() != 0) [[unlikely]]
    return send_specially<Peer>(to, m, functions_of<Peer, offer_message<Peer>>, priority::high);
  send(*to.local->home, m, priority::high);
}

/// Handler of an offer to an element that has migrated, for the worker that is its home or had it.
template <class Peer>
struct remote_tracked_offer {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    auto& array = read_array<Peer>(a.space(), ar);
    const auto k = read_key(array, ar);
    const ticket at = read_ticket(array, ar);
    const auto from = load_channel_name(ar.read<std::vector<std::byte>>());
    const address<Peer> to{array.locate(k).local, k};
    auto m = make_tracked<Peer>(to, *new offer_message<Peer>(to, load_offer(a, ar, from)),
                                functions_of<Peer, offer_message<Peer>>, at);
    m->queued().home = array.local(a.worker_index()).home;
    array.receive_tracked(*m.release());
  }
};

template <class Self, class Peer>
struct remote_offer {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto to = read_address<Peer>(a, ar);
    const auto& array = read_array<Self>(a.space(), ar);
    const auto from = read_key(array, ar);
    const auto id = ar.read<int>();
    perform_as(*new offer_message<Peer>(to, load_offer(a, ar, name_end<Self>(array, from, id))), a);
  }
};

/// Returns the function that sends offers to the chare `peer`. @throws usage_error when it is on
/// another rank and an index cannot travel
template <class Self, class Peer>
[[nodiscard]] offer_sender sender_to(chare_core& by, const array_of<Self>& array,
                                     const typename array_of<Self>::key& from,
                                     const element<Peer>& peer, int id) {
  const address<Peer>& to = peer.address();
  if (to.local->home != nullptr)
    return [to](channel_offer&& offer) { send_within_rank(to, std::move(offer)); };
  if constexpr (travels<typename array_of<Self>::key> && travels<typename address<Peer>::key>) {
    const auto write = [&array, from, to, way = peer.urgent().way(), id](
                           const offer_note& note, std::span<const std::byte> rest) {
      return make_remote<remote_offer<Self, Peer>>(way, to.array().id(), to.to, array.id(), from,
                                                   id, note, last_bytes{rest});
    };
    auto box = std::make_shared<channel_outbox>(*array.space().current_job(), int(to.local->index),
                                                write, transfers_of(by));
    if constexpr (migrates_between_ranks<Peer>)
      return [to, box = std::move(box)](channel_offer&& offer) {
        if (to.local->has_tracked()) [[unlikely]]
          return send_loosely(to, std::move(offer));
        box->send(std::move(offer));
      };
    else
      return [box = std::move(box)](channel_offer&& offer) { box->send(std::move(offer)); };
  } else {
    refuse_to_travel<typename array_of<Self>::key, typename address<Peer>::key>("a channel");
  }
}

template <class Self, class Peer>
struct channel_maker;

template <class Self, class Peer>
[[nodiscard]] asker asker_of(const element<Peer>& peer) {
  if constexpr (migrates_between_ranks<Self> && travels<typename address<Peer>::key>)
    return [to = peer.urgent()](std::uint64_t line, std::uint64_t number) {
      return to.template call<&chare_core::has_read>(line, number);
    };
  else
    return nullptr;
}

/// Makes the end of `self` of its channel `id` with `peer`. @throws usage_error when there is one,
/// or an index cannot travel to the peer's rank
template <class Self, class Peer>
[[nodiscard]] std::unique_ptr<channel_end> make_channel_end(Self& self, const element<Peer>& peer,
                                                            int id) {
  chare_core& core = self;
  const auto& array = array_of<Self>::of(*core.element_state().local);
  const address<Peer>& to = peer.address();
  return std::make_unique<channel_end>(
      core, name_end<Self>(array, array.key_of(self), id), name_end<Peer>(to.array(), to.to, id),
      sender_to<Self, Peer>(core, array, array.key_of(self), peer, id),
      "channel " + std::to_string(id) + " of " + array.name_of(core) + " to " +
          to.array().name_of(to.to),
      number_of_maker<channel_maker<Self, Peer>>, asker_of<Self>(peer));
}

/// Makes the end of a chare whose state is read.
template <class Self, class Peer>
struct channel_maker {
  using result = Self;
  static constexpr auto made = remote_function::kind::channel;
  static std::unique_ptr<channel_end> make(chare_core& self, input_archive& ar) {
    if constexpr (travels<typename array_of<Peer>::key>) {
      const channel_name peer = read_channel_name<Peer>(ar);
      auto& array = array_named<Peer>(receiving_space(), peer.array->id());
      const auto to = chare_array<Peer>(array)[array.table().index_of(key_of<Peer>(peer))];
      return make_channel_end(static_cast<Self&>(self), to, peer.id);
    } else {
      ar.refuse(type_text<Peer>, "its index cannot travel");
    }
  }
};
/// Packs an end as a part of the state of its chare. @throws usage_error
[[nodiscard]] std::vector<std::byte> save_channel_end(const channel_end& end);
/// Makes the end again, for the chare whose state is read. @throws archive_error, not_made_yet,
/// usage_error
[[nodiscard]] std::unique_ptr<channel_end> load_channel_end(std::span<const std::byte> bytes);

}  // namespace starling::detail
