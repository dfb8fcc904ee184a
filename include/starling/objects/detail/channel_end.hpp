// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/core/future.hpp>
#include <starling/device/buffer.hpp>
#include <starling/device/device.hpp>
#include <starling/objects/detail/entry_message.hpp>
#include <starling/objects/detail/remote_channel.hpp>
#include <starling/objects/detail/remote_entry.hpp>

/// Channels without the type of their elements.
namespace starling::detail {

/// A send or a receive that has begun. Shared by who awaits it and by the channel or the message
/// that ends it; used on the worker of its chare, save for its destruction.
class channel_operation : public described_wait {
 public:
  /// `what` of `channel`.
  channel_operation(std::shared_ptr<const std::string> channel, const char* what) noexcept
      : m_channel(std::move(channel)), m_what(what) {
    describe = &text_of;
  }

  /// Goes on with who waits; a second end is ignored.
  void finish(const std::exception_ptr& error) noexcept {
    if (std::exchange(m_is_over, true)) return;
    m_error = error;
    if (promise_base* c = std::exchange(m_waiting, nullptr)) resume_here(*c);
  }

  [[nodiscard]] bool is_over() const noexcept { return m_is_over; }
  void enlist(promise_base& c) noexcept { m_waiting = &c; }
  /// False: it is being resumed.
  [[nodiscard]] bool withdraw() noexcept {
    m_is_withdrawn = m_waiting != nullptr;
    return std::exchange(m_waiting, nullptr) != nullptr;
  }
  /// By the hang diagnosis: the memory and streams of who waited may be gone.
  [[nodiscard]] bool is_withdrawn() const noexcept { return m_is_withdrawn; }
  void check() const {
    if (!m_is_over) throw_interrupted();
    if (m_error) std::rethrow_exception(m_error);
  }

 private:
  static std::string text_of(const described_wait& w) {
    const auto& self = static_cast<const channel_operation&>(w);
    return *self.m_channel + self.m_what;
  }
  std::shared_ptr<const std::string> m_channel;
  const char* m_what;
  promise_base* m_waiting = nullptr;
  std::exception_ptr m_error;
  bool m_is_over = false;
  bool m_is_withdrawn = false;
};

bool withdraw_channel_wait(promise_base& c) noexcept;

/// Which end a message is from, as the other one knows it.
struct channel_name {
  const array_base* array = nullptr;
  std::uint64_t number = 0;           // of the chare in a dense array
  std::shared_ptr<const void> index;  // in a sparse one
  bool (*same_index)(const void*, const void*) = nullptr;
  int id = 0;
  friend bool operator==(const channel_name& a, const channel_name& b) {
    return a.array == b.array && a.number == b.number && a.id == b.id &&
           (a.same_index == nullptr || a.same_index(a.index.get(), b.index.get()));
  }
};

template <class T>
bool same_key(const void* a, const void* b) {
  using key = typename array_of<T>::key;
  return *static_cast<const key*>(a) == *static_cast<const key*>(b);
}

template <class T>
[[nodiscard]] channel_name name_end(const array_of<T>& array, const typename array_of<T>::key& k,
                                    int id) {
  if constexpr (dense_index<typename T::index_type>)
    return {&array, k, nullptr, nullptr, id};
  else
    return {&array, 0, std::make_shared<const typename array_of<T>::key>(k), &same_key<T>, id};
}

/// When data are complete: at a point of a stream, or now where there is none.
struct stream_point {
  stream* at = nullptr;
  event ready;
};

/// What one end offers the other: memory to be copied from, or read in place.
struct channel_offer {
  std::shared_ptr<const channel_name> from;
  const std::type_info* type = nullptr;
  const void* data = nullptr;
  std::size_t bytes = 0;
  stream_point when;                        // without a stream: host memory
  std::shared_ptr<channel_operation> sent;  // told when the memory may be used again; null: nobody
  worker* home = nullptr;                   // of the sender

  /// The memory is not needed any more once `reader` has passed this point; null: now.
  void answer(stream* reader, std::exception_ptr error);
};

/// Where an end sends to, whatever the type of the chare there.
class channel_peer {
 public:
  virtual ~channel_peer() = default;
  virtual void send(channel_offer offer) const = 0;
  [[nodiscard]] virtual std::string name() const = 0;
};

/// What a receiver asks for.
struct channel_request {
  void* into = nullptr;  // null: to read it in place
  std::size_t bytes = 0;
  stream* at = nullptr;
  std::shared_ptr<struct lent_memory> lent = nullptr;
  std::size_t most_in_place = 0;  // of another device's memory, in bytes
  std::shared_ptr<channel_operation> received = nullptr;
};

/// One end of a channel, listed with its chare. On the worker of its chare.
class channel_end {
 public:
  /// `remote`: where the other end is on another rank; else null.
  channel_end(chare_core& owner, std::shared_ptr<const channel_name> self, channel_name peer,
              std::unique_ptr<const channel_peer> to, const std::string& name,
              std::unique_ptr<remote_channel> remote);
  channel_end(const channel_end&) = delete;
  channel_end& operator=(const channel_end&) = delete;
  ~channel_end();

  /// @throws device_error, std::bad_alloc; nothing was sent then
  std::shared_ptr<channel_operation> send(const std::type_info& type, const void* data,
                                          std::size_t bytes, const stream_point& when,
                                          bool answered);
  std::shared_ptr<channel_operation> receive(channel_request request, const std::type_info& type);

  [[nodiscard]] bool is_from(const channel_name& sender) const noexcept { return m_peer == sender; }
  /// The other end, on another rank, takes what is sent under this number.
  void connect(std::uint64_t tag) {
    if (m_remote != nullptr) m_remote->connect(tag);
  }
  void take(channel_offer offer);
  [[nodiscard]] bool receives() const noexcept {
    return !m_requests.empty() || (m_remote != nullptr && m_remote->receives());
  }
  /// That nobody has received yet.
  [[nodiscard]] std::size_t offers() const noexcept { return m_offers.size(); }
  /// Ends the operations that have begun here with operation_cancelled.
  void cancel() noexcept;

  [[nodiscard]] buffer<std::byte> copy_memory(stream& at, std::size_t bytes);
  void keep(buffer<std::byte> memory, stream& at) { m_spare.push_back({std::move(memory), &at}); }

 private:
  struct spare_memory {
    buffer<std::byte> memory;
    const stream* at;  // who has read it last
  };
  void match();
  [[nodiscard]] bool serve(channel_offer& offer, channel_request& request);
  void lend(channel_offer& offer, channel_request& request);
  [[nodiscard]] std::exception_ptr mismatch(const channel_offer& offer,
                                            const channel_request& request) const;

  chare_core& m_owner;
  std::shared_ptr<const channel_name> m_self;
  channel_name m_peer;
  std::unique_ptr<const channel_peer> m_to;
  std::unique_ptr<remote_channel> m_remote;
  std::shared_ptr<const std::string> m_name;
  const std::type_info* m_type = nullptr;
  std::deque<channel_offer> m_offers;
  std::deque<channel_request> m_requests;
  std::vector<spare_memory> m_spare;  // to copy into what is not read in place
};

/// Memory that an end was lent. Destruction says that what `at` has been given until then is the
/// last that reads it.
struct lent_memory {
  lent_memory(channel_end& lender, stream& reader) noexcept : from(lender), at(reader) {}
  lent_memory(const lent_memory&) = delete;
  lent_memory& operator=(const lent_memory&) = delete;
  ~lent_memory();

  channel_end& from;
  stream& at;
  const void* data = nullptr;
  channel_offer offer;        // to be answered
  buffer<std::byte> copy;     // where it is not read in place
  buffer<std::byte> staging;  // where it has come from another rank
};

/// A message that brings an offer.
template <class Peer>
class offer_message final : public work_item, public pooled<block_kind::state> {
 public:
  offer_message(const address<Peer>& to, channel_offer offer)
      : work_item(&run, &drop, &place), m_address(to), m_offer(std::move(offer)) {}

 private:
  static constexpr made_up_place place{"", "channel"};
  static void drop(void* item) noexcept { delete static_cast<offer_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<offer_message*>(item);
    Peer* target = self->m_address.find();
    if (target == nullptr && self->m_address.keep_for_later(*self)) return;
    const std::unique_ptr<offer_message> m(self);
    if (m->m_address.part->array->is_closed()) return;
    or_end_run(*m->m_address.part->home, [&] {
      if (target != nullptr)
        take_offer(*target, std::move(m->m_offer));
      else if (m->m_offer.sent != nullptr)
        m->m_offer.answer(nullptr, m->m_address.missing(channel_info));
      else
        m->m_address.fail(channel_info, m->m_address.missing(channel_info));
    });
  }

  address<Peer> m_address;
  channel_offer m_offer;
};

/// To the end that it is for, or kept until that exists.
void take_offer(chare_core& target, channel_offer offer);

/// An end on another rank.
struct channel_introduction {
  channel_name from;
  std::uint64_t tag;
};
/// As take_offer.
void take_introduction(chare_core& target, const channel_introduction& end);

template <class Peer>
class introduction_message final : public work_item, public pooled<block_kind::state> {
 public:
  introduction_message(const address<Peer>& to, channel_introduction end)
      : work_item(&run, &drop, &place), m_address(to), m_end(std::move(end)) {}

 private:
  static constexpr made_up_place place{"", "channel"};
  static void drop(void* item) noexcept { delete static_cast<introduction_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<introduction_message*>(item);
    Peer* target = self->m_address.find();
    if (target == nullptr && self->m_address.keep_for_later(*self)) return;
    const std::unique_ptr<introduction_message> m(self);
    if (m->m_address.part->array->is_closed()) return;
    or_end_run(*m->m_address.part->home, [&] {
      if (target != nullptr)
        take_introduction(*target, m->m_end);
      else
        m->m_address.fail(channel_info, m->m_address.missing(channel_info));
    });
  }

  address<Peer> m_address;
  channel_introduction m_end;
};

template <class Self, class Peer>
struct remote_introduction {
  static void run(arrival& a) {
    input_archive ar = a.arguments();
    const auto to = read_address<Peer>(a, ar);
    const auto& array = read_array<Self>(a.space(), ar);
    const auto from = read_key(array, ar);
    const auto id = ar.read<int>();
    const auto tag = ar.read<std::uint64_t>();
    a.require(tag < starling::transfer::tag_limit, "a channel's tag is too large");
    require_end(ar);
    perform(*new introduction_message<Peer>(to, {name_end<Self>(array, from, id), tag}));
  }
};

/// The connection to a chare of another rank, which is told of it; null: it is on this rank.
template <class Self, class Peer>
[[nodiscard]] std::unique_ptr<remote_channel> connect_remote(
    const array_of<Self>& array, const typename array_of<Self>::key& from, const address<Peer>& to,
    int id) {
  if (to.part->home != nullptr) return nullptr;
  if constexpr (travels<typename array_of<Self>::key> && travels<typename address<Peer>::key>) {
    job& others = *array.space().others();
    auto made = std::make_unique<remote_channel>(others, int(to.part->index));
    others.send(int(to.part->index), make_remote<remote_introduction<Self, Peer>>(
                                         way_to(to, priority::high), to.array().id(), to.to,
                                         array.id(), from, id, made->tag()));
    return made;
  } else {
    refuse_to_travel<typename array_of<Self>::key, typename address<Peer>::key>("a channel");
  }
}

template <class Peer>
class peer_of final : public channel_peer {
 public:
  explicit peer_of(const address<Peer>& to) : m_address(to) {}
  void send(channel_offer offer) const override {
    detail::send(*m_address.part->home, *new offer_message<Peer>(m_address, std::move(offer)),
                 priority::high);
  }
  [[nodiscard]] std::string name() const override {
    return m_address.array().name_of(m_address.to);
  }

 private:
  address<Peer> m_address;
};

}  // namespace starling::detail
