// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <starling/objects/channel.hpp>
#include <starling/objects/proxy.hpp>

/// Memory as an argument of an entry method; the method itself names the destination of the data.
///
///     auto faces = offer(*this, next, packed.span(), s);    // by the sender, a chare
///     next.invoke<&block::take>(it, faces.memory);
///     co_await faces.sent;
///
///     task<> block::take(int it, offered<double> memory) {  // by the receiver
///       co_await memory.receive(*this, m_ghosts.span(), m_stream);
namespace starling {

namespace detail {

/// Returns the channel end that receives one offer; `receiver`: the chare's name.
[[nodiscard]] std::shared_ptr<channel_end> open_offer(chare_core& by, std::int32_t rank,
                                                      std::uint64_t number,
                                                      const std::string& receiver);
[[nodiscard]] channel_offer make_offer(chare_core& by, std::uint32_t type,
                                       std::span<const std::byte> data,
                                       const stream_point& available, const std::string& receiver);

/// Returns the name of an offer without a channel: the rank of its sender and a number.
[[nodiscard]] inline channel_name name_offer(std::int32_t rank, std::uint64_t number) noexcept {
  return {nullptr, number, nullptr, nullptr, rank};
}

template <class Peer>
struct remote_loose_offer {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto to = read_address<Peer>(a, ar);
    const auto number = ar.read<std::uint64_t>();
    perform_as(*new offer_message<Peer>(to, load_offer(a, ar, name_offer(a.from(), number))), a);
  }
};

template <class Peer>
void send_offer(chare_core& by, const element<Peer>& peer, channel_offer offer) {
  const address<Peer>& to = peer.address();
  if (to.local->home != nullptr) return send_within_rank(to, std::move(offer));
  if constexpr (migrates_between_ranks<Peer>)
    if (to.local->has_tracked()) [[unlikely]]
      return send_loosely(to, std::move(offer));
  if constexpr (travels<typename address<Peer>::key>) {
    const auto write = [to, way = peer.urgent().way(), number = offer.from.number](
                           const offer_note& note, std::span<const std::byte> rest) {
      return make_remote<remote_loose_offer<Peer>>(way, to.array().id(), to.to, number, note,
                                                   last_bytes{rest});
    };
    std::make_shared<channel_outbox>(*to.array().space().current_job(), int(to.local->index), write,
                                     transfers_of(by))
        ->send(std::move(offer));
  } else {
    refuse_to_travel<typename address<Peer>::key>("offer");
  }
}

}  // namespace detail

/// Awaitable of a receive from an offer, in progress. If it is dropped before it is complete,
/// the receive ends with operation_cancelled; its destination must live until the chare is resumed
/// the next time, as data may still be written to it.
class offer_wait : channel_wait {
 public:
  offer_wait(std::shared_ptr<detail::channel_end> end, channel_wait done) noexcept
      : channel_wait(std::move(done)), m_end(std::move(end)) {}
  offer_wait(offer_wait&&) noexcept = default;
  offer_wait& operator=(offer_wait&&) noexcept = default;

  using channel_wait::await_ready;
  using channel_wait::await_resume;
  using channel_wait::await_suspend;

 private:
  std::shared_ptr<detail::channel_end> m_end;
};

/// The argument of the entry method: the name of an offer, not its memory. A small value that
/// travels. The element that it was offered to receives it once; if it does not, `sent` may not
/// complete until that element is destroyed.
template <class T>
class offered {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  offered() = default;
  offered(std::int32_t rank, std::uint64_t number, std::uint64_t count) noexcept
      : m_number(number), m_count(count), m_rank(rank) {}

  /// Returns the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return m_count; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_rank, m_number, m_count);
  }

  /// Receives into memory of the chare `self`, as chare_channel::receive.
  template <class Self>
  [[nodiscard]] offer_wait receive(Self& self, std::span<T> into, stream& at) const {
    return take(open(self), {into.data(), into.size_bytes(), &at});
  }
  template <class Self>
  [[nodiscard]] offer_wait receive(Self& self, std::span<T> into) const {
    return take(open(self), {into.data(), into.size_bytes()});
  }
  /// Lends the elements to the chare `self`, as chare_channel::borrow.
  template <class Self>
  [[nodiscard]] borrow_wait<T> borrow(
      Self& self, stream& at, std::size_t most_in_place = chare_channel<T>::read_in_place) const {
    const auto end = open(self);
    auto memory = std::make_shared<detail::lent_memory>(*end, at);
    channel_wait done(
        end->receive({nullptr, m_count * sizeof(T), &at, memory, most_in_place, nullptr},
                     detail::element_type<T>));
    return {std::move(done), std::move(memory), end};
  }

 private:
  template <class Self>
  [[nodiscard]] std::shared_ptr<detail::channel_end> open(Self& self) const {
    detail::chare_core& core = self;
    return detail::open_offer(
        core, m_rank, m_number,
        detail::array_of<Self>::of(*core.element_state().local).name_of(core));
  }
  static offer_wait take(std::shared_ptr<detail::channel_end> end,
                         detail::channel_request request) {
    auto done = end->receive(std::move(request), detail::element_type<T>);
    return {std::move(end), channel_wait(std::move(done))};
  }

  std::uint64_t m_number = 0;
  std::uint64_t m_count = 0;
  std::int32_t m_rank = 0;
};

template <class T>
struct offer_result {
  offered<T> memory;  ///< an argument for the receiver
  channel_wait sent;  ///< completes when the memory may be overwritten; may be dropped
};

namespace detail {

template <class Peer, class T>
[[nodiscard]] offer_result<std::remove_const_t<T>> offer_at(chare_core& by,
                                                            const starling::element<Peer>& to,
                                                            std::span<T> data,
                                                            const stream_point& available) {
  using value = std::remove_const_t<T>;
  channel_offer made = make_offer(by, element_type<value>, std::as_bytes(data), available,
                                  to.address().array().name_of(to.address().to));
  offer_result<value> result{{made.from.id, made.from.number, data.size()},
                             channel_wait(made.sent)};
  if (load_record* const load = by.element_state().load.get()) [[unlikely]]
    load->sent.add(to.address().array().number_of(to.address().to), data.size_bytes());
  send_offer(by, to, std::move(made));
  return result;
}

}  // namespace detail

/// Offers the element `to` the contents that `data` has when `at` has passed this point. Called by
/// entry methods of the chare `self`, which also await `sent`. Memory and stream must live until
/// `sent` is complete. Not ordered with messages: the offer may arrive before or after the message
/// that carries its `offered`. @throws device_error
template <class Self, class Peer, class T>
[[nodiscard]] auto offer(Self& self, const element<Peer>& to, std::span<T> data, stream& at) {
  return detail::offer_at(self, to, data, {&at, at.record()});
}
/// As above, with the present contents of host memory.
template <class Self, class Peer, class T>
[[nodiscard]] auto offer(Self& self, const element<Peer>& to, std::span<T> data) {
  return detail::offer_at(self, to, data, {});
}

}  // namespace starling
