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

/// One end of a channel, registered with its chare. Used on the chare's worker only.
class channel_end {
 public:
  channel_end(chare_core& owner, channel_name self, channel_name peer, offer_sender to,
              std::string name);
  channel_end(const channel_end&) = delete;
  channel_end& operator=(const channel_end&) = delete;
  ~channel_end();

  /// Offers memory to the peer. Returns the operation to wait for if `answered`, otherwise null.
  /// @throws device_error, std::bad_alloc; then no message was sent
  std::shared_ptr<channel_operation> send(std::uint32_t type, std::span<const std::byte> data,
                                          const stream_point& available, bool answered);
  std::shared_ptr<channel_operation> receive(channel_request request, std::uint32_t type);

  [[nodiscard]] bool is_from(const channel_name& sender) const noexcept { return m_peer == sender; }
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
  channel_offer offer;        // answered when the memory is returned
  buffer<std::byte> copy;     // copy for the reader; empty: none
  buffer<std::byte> staging;  // pinned memory that received the data of another rank
  // Keeps a lender without another owner in existence while the memory is lent.
  std::shared_ptr<channel_end> keep;
};

/// Passes an offer to its channel end, or keeps it until that end exists. @throws archive_error
/// when it has arrived before
void take_offer(chare_core& target, channel_offer offer);

/// Throws usage_error: an offer cannot follow its element to another rank.
[[noreturn]] void throw_left_rank(const std::string& chare);

/// A message that carries an offer.
template <class Peer>
class offer_message final : public work_item, public pooled<block_kind::state> {
 public:
  offer_message(const address<Peer>& to, channel_offer offer)
      : work_item(&run, &drop, &trace_name), m_address(to), m_offer(std::move(offer)) {}

  // See tracked_message::functions.
  static void deliver_to(work_item& m, local_elements& here, Peer& target) noexcept {
    auto& self = static_cast<offer_message&>(m);
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
  template <class F>
  static auto with_parts(work_item& m, job&, F f) {
    const address<Peer>& to = static_cast<offer_message&>(m).m_address;
    throw_left_rank(to.array().name_of(to.to));
    return f(0);
  }

 private:
  static constexpr named_location trace_name{"", "channel"};
  static void drop(void* item) noexcept { delete static_cast<offer_message*>(item); }
  static void run(void* item) noexcept {
    auto& self = *static_cast<offer_message*>(item);
    if (self.m_address.local->array->is_closed()) return delete &self;
    if (Peer* const target = self.m_address.find())
      return deliver_to(self, *self.m_address.local, *target);
    if (!pass_on_if_tracked(self.m_address, self)) miss(self);
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

/// Sends an offer to an element whose home is on this rank.
template <class Peer>
void send_within_rank(const address<Peer>& to, channel_offer&& offer) {
  auto& m = *new offer_message<Peer>(to, std::move(offer));
  if (to.local->specials() != 0) [[unlikely]]
    return send_specially(to, m, priority::high);
  send(*to.local->home, m, priority::high);
}

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
    return [box = std::make_shared<channel_outbox>(*array.space().current_job(),
                                                   int(to.local->index), write, transfers_of(by))](
               channel_offer&& offer) { box->send(std::move(offer)); };
  } else {
    refuse_to_travel<typename array_of<Self>::key, typename address<Peer>::key>("a channel");
  }
}

}  // namespace starling::detail
