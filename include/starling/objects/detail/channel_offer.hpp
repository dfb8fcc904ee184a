// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/core/task.hpp>
#include <starling/device/event.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects/detail/array_of.hpp>
#include <starling/objects/detail/offer_order.hpp>
#include <starling/objects/detail/remote_tracked.hpp>
#include <starling/objects/detail/stored_ids.hpp>
#include <starling/objects/detail/type_text.hpp>

/// Offers and requests, which the two ends of a channel exchange.
namespace starling::detail {

/// The sends and receives of a chare that have begun and not ended. Until they end the chare stays
/// on its worker. Used on that worker, except for its destruction.
class open_transfers {
 public:
  explicit open_transfers(chare_core& owner) noexcept : m_owner(&owner) {}

  void begin() noexcept { ++m_count; }
  /// Lets the chare depart if it waits for this.
  void end() noexcept {
    if (--m_count == 0 && m_owner != nullptr && m_owner->element_state().departs()) [[unlikely]]
      note_none();
  }
  [[nodiscard]] std::size_t count() const noexcept { return m_count; }
  /// Notes that the chare is destroyed.
  void forget_owner() noexcept { m_owner = nullptr; }

 private:
  void note_none() noexcept;

  chare_core* m_owner;
  std::size_t m_count = 0;
};
/// Returns the open transfers of a chare.
[[nodiscard]] const std::shared_ptr<open_transfers>& transfers_of(chare_core& c);

/// A channel end, or an offer without a channel, as its operations know it.
struct channel_label {
  std::string name;
  std::shared_ptr<open_transfers> open;
  mutable std::size_t receives = 0;  // that have begun and not ended
};

/// A send or a receive that has begun. Shared by its waiter and by the channel or the message that
/// completes it. Used on the worker of its chare, except for its destruction.
class channel_operation : public described_wait {
 public:
  enum class kind : std::uint8_t { send, receive };
  channel_operation(std::shared_ptr<const channel_label> channel, kind what) noexcept
      : m_channel(std::move(channel)), m_what(what) {
    describe = &text_of;
    m_channel->open->begin();
    if (m_what == kind::receive) ++m_channel->receives;
  }

  /// Completes the operation and resumes its waiter. Later calls have no effect.
  void finish(const std::exception_ptr& error) noexcept;

  [[nodiscard]] bool is_over() const noexcept { return m_is_over; }
  void enlist(promise_base& c) noexcept { m_waiting = &c; }
  /// Removes the waiter. Returns false when there is none: it is being resumed.
  [[nodiscard]] bool withdraw() noexcept {
    m_is_withdrawn = m_waiting != nullptr;
    return std::exchange(m_waiting, nullptr) != nullptr;
  }
  /// Whether the hang diagnosis has removed the waiter: the waiter's memory and streams may then be
  /// destroyed.
  [[nodiscard]] bool is_withdrawn() const noexcept { return m_is_withdrawn; }
  void check() const;

 private:
  static std::string text_of(const described_wait& w) {
    const auto& self = static_cast<const channel_operation&>(w);
    return self.m_channel->name + (self.m_what == kind::send ? ": send" : ": receive");
  }
  std::shared_ptr<const channel_label> m_channel;
  kind m_what;
  promise_base* m_waiting = nullptr;
  std::exception_ptr m_error;
  bool m_is_over = false;
  bool m_is_withdrawn = false;
};

/// Starts a task on the calling worker.
void start_here(task<> t);

struct channel_name;
/// The functions of names of elements of one type.
struct channel_name_type {
  bool (*same_index)(const void*, const void*);  // null: the numbers are compared
  // Writes the array, the index and the id of the channel. @throws usage_error when the index
  // cannot travel
  void (*write)(const channel_name& name, output_archive& ar);
  std::uint32_t (*maker)();  // number of the channel_name_maker
};

/// Identifies the channel end that sent an offer: its chare and its id.
struct channel_name {
  const array_base* array = nullptr;
  std::uint64_t number = 0;                 // of the chare: array_of::number_of
  std::shared_ptr<const void> index;        // index of the chare in a sparse array
  const channel_name_type* type = nullptr;  // null: of an offer without a channel
  int id = 0;
  friend bool operator==(const channel_name& a, const channel_name& b) {
    return a.array == b.array && a.number == b.number && a.id == b.id &&
           (a.index == nullptr || a.type->same_index(a.index.get(), b.index.get()));
  }
};

/// Returns the key of the chare of a name.
template <class T>
[[nodiscard]] typename array_of<T>::key key_of(const channel_name& name) {
  using key = typename array_of<T>::key;
  if constexpr (dense_index<typename T::index_type>)
    return static_cast<key>(name.number);
  else
    return *static_cast<const key*>(name.index.get());
}
/// Reads what channel_name_type::write has written. @throws archive_error, not_made_yet
template <class T>
[[nodiscard]] channel_name read_channel_name(input_archive& ar);

/// Makes the name of a channel end on the receiving rank.
template <class T>
struct channel_name_maker {
  using result = T;
  static constexpr auto made = remote_function::kind::channel_name;
  static channel_name make(input_archive& ar) {
    if constexpr (travels<typename array_of<T>::key>)
      return read_channel_name<T>(ar);
    else
      ar.refuse(type_text<T>, "its index cannot travel");
  }

  static bool same_index(const void* a, const void* b) {
    using key = typename array_of<T>::key;
    return *static_cast<const key*>(a) == *static_cast<const key*>(b);
  }
  static void write(const channel_name& name, output_archive& ar) {
    if constexpr (travels<typename array_of<T>::key>) {
      save_value(ar, written_id(name.array->id()));
      save_value(ar, key_of<T>(name));
      save_value(ar, name.id);
    } else {
      refuse_to_travel<typename array_of<T>::key>("a channel");
    }
  }
  static std::uint32_t maker() { return number_of_maker<channel_name_maker>; }
  static constexpr channel_name_type functions{&same_index, &write, &maker};
};

template <class T>
[[nodiscard]] channel_name name_end(const array_of<T>& array, const typename array_of<T>::key& k,
                                    int id) {
  const channel_name_type* const type = &channel_name_maker<T>::functions;
  if constexpr (dense_index<typename T::index_type>)
    return {&array, k, nullptr, type, id};
  else
    return {&array, array.number_of(k).element,
            std::make_shared<const typename array_of<T>::key>(k), type, id};
}

template <class T>
channel_name read_channel_name(input_archive& ar) {
  auto& array = array_named<T>(receiving_space(), read_id(ar.read<std::uint64_t>()));
  const auto k = read_key(array, ar);
  return name_end<T>(array, k, ar.read<int>());
}

/// Writes a name in a form for any rank. @throws usage_error when its index cannot travel
[[nodiscard]] std::vector<std::byte> save_channel_name(const channel_name& name);
/// Reads what save_channel_name has written. @throws archive_error, not_made_yet
[[nodiscard]] channel_name load_channel_name(std::span<const std::byte> bytes);

/// Hash of the element type, compared by the two ends. The same on all ranks of a build.
template <class T>
inline constexpr std::uint32_t element_type = hash_more(empty_hash, type_text<T>);

/// The time at which data are complete: at a point of a stream, or now if there is no stream.
struct stream_point {
  stream* at = nullptr;
  event ready;
};

class remote_memory;

/// Memory that one end offers to its peer, to be copied from or read in place.
struct channel_offer {
  channel_name from;
  std::uint32_t type = 0;
  const void* data = nullptr;
  std::size_t bytes = 0;
  stream_point available;                   // without a stream for host memory
  std::shared_ptr<channel_operation> sent;  // completed when `data` is reusable; null: no waiter
  worker* home = nullptr;                   // worker of the sender
  std::shared_ptr<remote_memory> remote;    // brings the data from another rank; null: same rank
  offer_position position = {};

  /// Whether the sender waits for the completion.
  [[nodiscard]] bool is_answered() const noexcept;
  /// Prepares the offer to wait for its request: copies data that are still in the message.
  void keep();
  /// Notifies the sender that the memory is not needed any more, once `reader` has passed its
  /// current point; at once if `reader` is null.
  void answer(stream* reader, std::exception_ptr error);
};

/// A receive that waits for an offer.
struct channel_request {
  void* into = nullptr;  // destination of the elements; null: they are lent
  std::size_t bytes = 0;
  stream* at = nullptr;
  std::shared_ptr<struct lent_memory> lent = nullptr;
  std::size_t most_in_place = 0;  // largest memory of another device to read in place, in bytes
  std::shared_ptr<channel_operation> received = nullptr;
};

}  // namespace starling::detail
