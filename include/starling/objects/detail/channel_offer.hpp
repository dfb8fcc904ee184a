// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <starling/core/detail/worker.hpp>
#include <starling/core/task.hpp>
#include <starling/device/event.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects/detail/array_of.hpp>
#include <starling/objects/detail/offer_order.hpp>
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
};

/// A send or a receive that has begun. Shared by its waiter and by the channel or the message that
/// completes it. Used on the worker of its chare, except for its destruction.
class channel_operation : public described_wait {
 public:
  /// `what`: the name of the operation, appended to the channel's.
  channel_operation(std::shared_ptr<const channel_label> channel, const char* what) noexcept
      : m_channel(std::move(channel)), m_what(what) {
    describe = &text_of;
    m_channel->open->begin();
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
    return self.m_channel->name + self.m_what;
  }
  std::shared_ptr<const channel_label> m_channel;
  const char* m_what;
  promise_base* m_waiting = nullptr;
  std::exception_ptr m_error;
  bool m_is_over = false;
  bool m_is_withdrawn = false;
};

/// Starts a task on the calling worker.
void start_here(task<> t);

/// Identifies the channel end that sent an offer: its chare and its id.
struct channel_name {
  const array_base* array = nullptr;
  std::uint64_t number = 0;           // of the chare: array_of::number_of
  std::shared_ptr<const void> index;  // index of the chare in a sparse array
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
    return {&array, array.number_of(k).element,
            std::make_shared<const typename array_of<T>::key>(k), &same_key<T>, id};
}

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
