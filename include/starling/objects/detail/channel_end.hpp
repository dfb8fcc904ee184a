// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
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

/// The destination of a channel end's offers, independent of the type of the receiving chare.
class channel_peer {
 public:
  virtual ~channel_peer() = default;
  virtual void send(channel_offer offer) const = 0;
  [[nodiscard]] virtual std::string name() const = 0;
};

/// One end of a channel, registered with its chare. Used on the chare's worker only.
class channel_end {
 public:
  channel_end(chare_core& owner, channel_name self, channel_name peer,
              std::unique_ptr<const channel_peer> to, const std::string& name);
  channel_end(const channel_end&) = delete;
  channel_end& operator=(const channel_end&) = delete;
  ~channel_end();

  /// Offers memory to the peer. Returns the operation to wait for if `answered`, otherwise null.
  /// @throws device_error, std::bad_alloc; then no message was sent
  std::shared_ptr<channel_operation> send(std::uint32_t type, const void* data, std::size_t bytes,
                                          const stream_point& available, bool answered);
  std::shared_ptr<channel_operation> receive(channel_request request, std::uint32_t type);

  [[nodiscard]] bool is_from(const channel_name& sender) const noexcept { return m_peer == sender; }
  void take(channel_offer offer);
  /// Reads an offer whose memory is accessible here, for a request that fits it. `is_near`: a
  /// request for lent memory gets the offered memory itself, not a copy. Returns true when the
  /// receive is complete.
  [[nodiscard]] bool read(channel_offer& offer, channel_request& request, bool is_near);
  [[nodiscard]] bool receives() const noexcept {
    return !m_requests.empty() || !m_receives.empty();
  }
  /// Returns the number of offers for which no request has been made yet.
  [[nodiscard]] std::size_t offers() const noexcept { return m_offers.size(); }
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
  /// Serves a request with an offer. The resumed waiter may destroy this channel end.
  void match(channel_offer offer, channel_request request);
  [[nodiscard]] bool serve(channel_offer& offer, channel_request& request);
  void lend(channel_offer& offer, channel_request& request, bool is_near);
  [[nodiscard]] std::exception_ptr mismatch(const channel_offer& offer,
                                            const channel_request& request) const;

  chare_core& m_owner;
  channel_name m_self;
  channel_name m_peer;
  std::unique_ptr<const channel_peer> m_to;
  std::shared_ptr<const std::string> m_name;
  std::uint32_t m_type = 0;
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

/// A message that carries an offer.
template <class Peer>
class offer_message final : public work_item, public pooled<block_kind::state> {
 public:
  offer_message(const address<Peer>& to, channel_offer offer)
      : work_item(&run, &drop, &trace_name), m_address(to), m_offer(std::move(offer)) {}

 private:
  static constexpr named_location trace_name{"", "channel"};
  static void drop(void* item) noexcept { delete static_cast<offer_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<offer_message*>(item);
    Peer* target = self->m_address.find();
    if (target == nullptr) {
      or_end_run(*self->m_address.local->home, [self] { self->m_offer.keep(); });
      if (self->m_address.keep_for_later(*self)) return;
    }
    if (!self->m_address.local->array->is_closed())
      or_end_run(*self->m_address.local->home, [self, target] { self->give_to(target); });
    delete self;
  }
  void give_to(Peer* target) {
    if (target != nullptr)
      take_offer(*target, std::move(m_offer));
    else if (m_offer.is_answered())
      m_offer.answer(nullptr, m_address.missing(channel_info));
    else
      m_address.fail(channel_info, m_address.missing(channel_info));
  }

  address<Peer> m_address;
  channel_offer m_offer;
};

/// Passes an offer to its channel end, or keeps it until that end exists.
void take_offer(chare_core& target, channel_offer offer);

template <class Peer>
class peer_of final : public channel_peer {
 public:
  explicit peer_of(const address<Peer>& to) : m_address(to) {}
  void send(channel_offer offer) const override {
    detail::send(*m_address.local->home, *new offer_message<Peer>(m_address, std::move(offer)),
                 priority::high);
  }
  [[nodiscard]] std::string name() const override {
    return m_address.array().name_of(m_address.to);
  }

 private:
  address<Peer> m_address;
};

/// A channel peer on another rank.
class remote_peer final : public channel_peer {
 public:
  remote_peer(job& by, int rank, std::string name, std::unique_ptr<const offer_writer> writer)
      : m_name(std::move(name)),
        m_outbox(std::make_shared<channel_outbox>(by, rank, std::move(writer))) {}
  void send(channel_offer offer) const override { m_outbox->send(std::move(offer)); }
  [[nodiscard]] std::string name() const override { return m_name; }

 private:
  std::string m_name;
  std::shared_ptr<channel_outbox> m_outbox;
};

template <class Self, class Peer>
struct remote_offer {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto to = read_address<Peer>(a, ar);
    const auto& array = read_array<Self>(a.space(), ar);
    const auto from = read_key(array, ar);
    const auto id = ar.read<int>();
    perform(*new offer_message<Peer>(to, load_offer(a, ar, name_end<Self>(array, from, id))));
  }
};

template <class Self, class Peer>
class offer_writer_of final : public offer_writer {
 public:
  using key = typename array_of<Self>::key;
  offer_writer_of(const array_of<Self>& array, key from, const element<Peer>& to, int id)
      : m_array(array), m_from(std::move(from)), m_to(to.urgent()), m_id(id) {}
  [[nodiscard]] message write(const offer_note& note,
                              std::span<const std::byte> rest) const override {
    const address<Peer>& to = m_to.address();
    return make_remote<remote_offer<Self, Peer>>(m_to.way(), to.array().id(), to.to, m_array.id(),
                                                 m_from, m_id, note, last_bytes{rest});
  }

 private:
  const array_of<Self>& m_array;
  key m_from;
  element<Peer> m_to;
  int m_id;
};

/// Makes the channel peer for the chare `peer`. @throws usage_error when it is on another rank and
/// an index cannot travel
template <class Self, class Peer>
[[nodiscard]] std::unique_ptr<const channel_peer> make_peer(
    const array_of<Self>& array, const typename array_of<Self>::key& from,
    const element<Peer>& peer, int id) {
  const address<Peer>& to = peer.address();
  if (to.local->home != nullptr) return std::make_unique<const peer_of<Peer>>(to);
  if constexpr (travels<typename array_of<Self>::key> && travels<typename address<Peer>::key>)
    return std::make_unique<const remote_peer>(
        *array.space().current_job(), int(to.local->index), to.array().name_of(to.to),
        std::make_unique<const offer_writer_of<Self, Peer>>(array, from, peer, id));
  else
    refuse_to_travel<typename array_of<Self>::key, typename address<Peer>::key>("a channel");
}

}  // namespace starling::detail
