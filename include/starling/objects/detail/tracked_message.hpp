// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/objects/detail/address.hpp>

/// Messages to tracked elements: docs/design/0039-location-of-elements.md.
namespace starling::detail {

/// The numbers of one message in the sequences of its sender to several elements.
template <class Key>
struct sequence_numbers {
  std::uint32_t sender;
  std::unordered_map<Key, std::uint64_t> of;
};

/// A message to a tracked element: a ticket and the message that it would otherwise be.
template <class T>
class tracked_message final : public work_item,
                              public tracked_item,
                              public pooled<block_kind::state> {
 public:
  /// The functions of the inner message's type. Both dispose of the message.
  struct functions {
    void (*deliver)(work_item& m, local_elements& here, T& target) noexcept;
    void (*miss)(work_item& m) noexcept;  // the element does not exist; on its home
  };

  /// `to`: the address on the element's home.
  template <class Message>
  tracked_message(const address<T>& to, Message& inner, const ticket& at) noexcept
      : work_item(&run, &drop, &name), m_to(to), m_inner(&inner), m_functions(of_type<Message>) {
    position = at;
    inner.queued().priority = at.priority;
    queued().created = inner.queued().created;  // traces name the inner message
  }

  [[nodiscard]] const address<T>& to() const noexcept { return m_to; }
  /// Makes the message one that is dropped when its element does not exist.
  void drop_if_missing() noexcept { m_drops_if_missing = true; }

  /// Delivers the inner message to the element on the worker of `here`. Null: the element does not
  /// exist, and the worker is its home.
  void deliver(local_elements& here, T* target) noexcept {
    work_item& inner = *std::exchange(m_inner, nullptr);
    const functions& call = m_functions;
    const bool is_dropped = here.array->is_closed() || (target == nullptr && m_drops_if_missing);
    delete this;
    if (is_dropped)
      inner.discard();
    else if (target != nullptr)
      call.deliver(inner, here, *target);
    else
      call.miss(inner);
  }
  /// Runs the inner message on its home, where no element with this index has ever migrated.
  void run_untracked() noexcept {
    work_item& inner = *std::exchange(m_inner, nullptr);
    static_cast<void>(addressed(*m_to.local->home, inner, position.priority));
    delete this;
    perform(inner);
  }

  ~tracked_message() {
    if (m_inner != nullptr) m_inner->discard();
  }

 private:
  template <class Message>
  static constexpr functions of_type{&Message::deliver_to, &Message::miss};
  static constexpr named_location name{"", "starling: a message to a migrated element"};

  static void drop(void* item) noexcept {
    delete static_cast<tracked_message*>(static_cast<work_item*>(item));
  }
  static void run(void* item) noexcept {
    auto& self = *static_cast<tracked_message*>(static_cast<work_item*>(item));
    or_end_run(*self.queued().home, [&self] { self.m_to.array().receive_tracked(self); });
  }

  address<T> m_to;
  work_item* m_inner;
  const functions& m_functions;
  bool m_drops_if_missing = false;
};

/// Returns the calling worker; null on a thread that is no worker of the elements' runtime.
[[nodiscard]] inline worker* worker_beside(const local_elements& local) noexcept {
  worker* const here = worker::current();
  return here != nullptr && &here->owner() == &local.home->owner() ? here : nullptr;
}

/// Sends a message to an element of a worker that has tracked elements. Any thread.
/// @throws std::bad_alloc; the message is discarded then
template <class T, class Message>
[[gnu::noinline]] void send_tracked(const address<T>& to, Message& m, starling::priority priority) {
  std::unique_ptr<work_item, discard_message> kept(&m);
  array_of<T>& array = to.array();
  worker* const here = worker_beside(*to.local);
  if (here == nullptr) return send(*to.local->home, *kept.release(), priority);
  ticket position;
  const std::uint32_t by = here->index();
  auto& e = array.tracked().at(by, to.to, to.local->index);
  auto sent = std::make_unique<tracked_message<T>>(to, m, position);
  static_cast<void>(kept.release());
  const std::uint32_t at = route(e, by, to.local->index, priority, sent->position);
  send(*array.space().workers()[at], *sent.release(), priority);
}

/// Passes on a message that has come to the home without a number, or is a part of a broadcast.
/// Adds the number that `numbers` has for the element.
template <class T, class Message>
void pass_on_from_home(const address<T>& to, Message& m, starling::priority priority,
                       const sequence_numbers<typename address<T>::key>* numbers = nullptr,
                       bool drops_if_missing = false) {
  std::unique_ptr<work_item, discard_message> kept(&m);
  ticket position;
  position.priority = priority;
  if (numbers != nullptr)
    if (const auto mine = numbers->of.find(to.to); mine != numbers->of.end()) {
      position.sender = numbers->sender;
      position.number = mine->second;
    }
  auto sent = std::make_unique<tracked_message<T>>(to, m, position);
  static_cast<void>(kept.release());
  if (drops_if_missing) sent->drop_if_missing();
  sent->queued().home = to.local->home;
  to.array().receive_tracked(*sent.release());
}

template <class T, class Message>
[[nodiscard]] bool pass_on_if_tracked(const address<T>& to, Message& m) noexcept {
  if (to.local->array->is_closed() || !to.is_tracked()) return false;
  or_end_run(*to.local->home, [&] { pass_on_from_home(to, m, m.queued().priority); });
  return true;
}

inline constexpr auto any_element = [](const auto&) { return true; };

/// Returns the next numbers of the calling worker's sequences to elements that `takes(key)` selects
/// and whose home is the worker of `home`; null if there are none.
template <class T, class Predicate>
[[nodiscard]] std::unique_ptr<sequence_numbers<typename array_of<T>::key>> numbers_of_broadcast(
    const local_elements& home, starling::priority priority, Predicate takes) {
  using numbers = sequence_numbers<typename array_of<T>::key>;
  worker* const here = worker_beside(home);
  if (!home.has_tracked() || here == nullptr) return nullptr;
  const auto p = std::size_t(priority);
  std::unique_ptr<numbers> result;
  array_of<T>::of(home).tracked().for_each(here->index(), [&](const auto& k, auto& e) {
    if (e.home != home.index || e.sent[p] == 0 || !takes(k)) return;
    if (result == nullptr) result.reset(new numbers{here->index(), {}});
    result->of.emplace(k, e.sent[p] + 1);
    ++e.sent[p];
  });
  return result;
}

}  // namespace starling::detail
