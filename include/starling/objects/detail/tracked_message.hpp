// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <starling/core/detail/frame_pool.hpp>
#include <starling/objects/detail/address.hpp>
#include <starling/objects/detail/broadcast_numbers.hpp>
#include <starling/objects/detail/job.hpp>

/// Messages to tracked elements: docs/design/0039-location-of-elements.md.
namespace starling {

/// Argument of the constructor that makes an element from the state that `serialize` reads next: of
/// an element that has arrived from another rank. Without such a constructor the element is made by
/// its default constructor.
struct migrated {};

namespace detail {

/// A chare type whose elements can migrate to another rank. Used for complete types only.
template <class T>
concept migrates_between_ranks = travels<typename array_of<T>::key> && has_member_serialize<T> &&
    (std::is_constructible_v<T, migrated> || std::is_default_constructible_v<T>);

/// Handlers of what other ranks send for tracked elements: remote_tracked.hpp.
template <class T>
struct remote_tracked;
template <class T>
struct remote_hint;
template <class T>
struct remote_element;
template <class T>
struct remote_state;
struct remote_tracks;

/// Reads the position of a message. @throws archive_error when there is no such sender or priority
template <class T>
[[nodiscard]] ticket read_ticket(const array_of<T>& array, input_archive& ar) {
  const auto at = ar.read<ticket>();
  const bool is_known = !at.has_sender() || at.sender < array.space().worker_total();
  if (!is_known || at.priority > priority::normal) ar.refuse("a position", "there is none such");
  return at;
}

/// The functions of a type of messages to elements of T. `deliver`, `miss` and the first call of
/// `write` dispose of the message.
template <class T>
struct message_functions {
  static constexpr std::size_t not_measured = ~std::size_t{0};

  void (*deliver)(work_item& m, local_elements& here, T& target) noexcept;
  void (*miss)(work_item& m) noexcept;  // the element does not exist; on its home
  // Calls `use` with the values from which another rank makes the message, which is empty
  // afterwards. Null: the elements stay on their rank. @throws usage_error, archive_error,
  // std::bad_alloc
  void (*write)(work_item& m, job& j, const value_user& use) = nullptr;
  // Gives up the duty to answer the message's caller. Null: there is none.
  void (*disown)(work_item& m) noexcept = nullptr;
  // Sends the message to a worker of another rank, perhaps later. Null: it is packed at once.
  // @throws as `write`
  void (*relay)(work_item& m, const address<T>& to, std::size_t worker, const ticket& at) = nullptr;
  // Notes that a loose message was forwarded, so that another one may overtake it. With `relay`.
  void (*note_forwarded)(work_item& m) noexcept = nullptr;
  std::size_t argument_bytes = not_measured;  // `not_measured`: no traffic of the program
  if_missing without_element = if_missing::ends;
  // The message follows all messages that its sender has sent to the element before, urgent ones
  // included.
  bool is_last = false;
};

template <class T, class Message>
[[nodiscard]] constexpr message_functions<T> make_message_functions() noexcept {
  message_functions<T> f{&Message::deliver_to, &Message::miss};
  if constexpr (requires(work_item & m) { Message::disown(m); }) f.disown = &Message::disown;
  if constexpr (requires { Message::without_element; })
    f.without_element = Message::without_element;
  if constexpr (requires { Message::argument_bytes; }) f.argument_bytes = Message::argument_bytes;
  if constexpr (requires { Message::is_last; }) f.is_last = Message::is_last;
  if constexpr (migrates_between_ranks<T>) {
    f.write = &Message::write;
    if constexpr (requires { &Message::relay; }) {
      f.relay = &Message::relay;
      f.note_forwarded = &Message::note_forwarded;
    }
  }
  return f;
}
/// The functions of `Message`, a type of messages to elements of T, which is complete.
template <class T, class Message>
inline constexpr message_functions<T> functions_of = make_message_functions<T, Message>();

/// A message to a tracked element: a ticket and the message that it would otherwise be.
template <class T>
class tracked_message final : public work_item,
                              public tracked_item,
                              public pooled<block_kind::state> {
 public:
  using key = typename address<T>::key;

  /// `to`: the address on the element's home. `of`: the functions of the inner message's type.
  tracked_message(const address<T>& to, work_item& inner, const ticket& at,
                  const message_functions<T>& of)
      : work_item(&run, &drop, &name), m_to(to), m_inner(&inner), m_functions(of) {
    position = at;
    dispose = [](tracked_item& m) noexcept { static_cast<tracked_message&>(m).discard(); };
    inner.queued().priority = at.priority;
    queued().created = inner.queued().created;  // traces name the inner message
    stays_on_rank = m_functions.relay != nullptr;
  }

  [[nodiscard]] const address<T>& to() const noexcept { return m_to; }
  [[nodiscard]] if_missing without_element() const noexcept { return m_functions.without_element; }

  /// Delivers the inner message to the element on the worker of `here`. Null: the element does not
  /// exist, and the worker is its home.
  void deliver(local_elements& here, T* target) noexcept {
    work_item& inner = *std::exchange(m_inner, nullptr);
    const message_functions<T>& call = m_functions;
    if (position.is_loose && position.is_forwarded) call.note_forwarded(inner);
    const bool is_dropped =
        here.array->is_closed() || (target == nullptr && position.drops_if_missing);
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
  /// Sends a copy to a worker of another rank. The message is empty afterwards. @throws as
  /// message_functions::write
  void send_copy(std::size_t worker) {
    if (m_functions.relay != nullptr) return m_functions.relay(*m_inner, m_to, worker, position);
    job& j = *m_to.array().space().current_job();
    const auto [rank, on_rank] = j.location_of(worker);
    const remote_way way{on_rank, position.priority};
    message m;
    m_functions.write(*m_inner, j, [&](const value_writer& parts) {
      if constexpr (migrates_between_ranks<T>)
        m = make_remote_for<remote_tracked<T>>(j, way, m_to.array().id(), m_to.to, position, parts);
    });
    j.send(rank, std::move(m));
  }
  /// Writes the message for load_tracked_message. It is empty afterwards. @throws as `send_copy`
  void save(job& j, output_archive& ar) {
    save_value(ar, position);
    m_functions.write(*m_inner, j, [&](const value_writer& parts) {
      const writing_for here(j);
      parts(ar);
    });
  }

  /// Gives up the duty to answer the message's caller, as the message will be read again.
  void disown() noexcept {
    if (m_functions.disown != nullptr) m_functions.disown(*m_inner);
  }

  ~tracked_message() {
    if (m_inner != nullptr) m_inner->discard();
  }

 private:
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
  const message_functions<T>& m_functions;
};

template <class T>
using owned_tracked_message = std::unique_ptr<tracked_message<T>>;

/// Returns the element if it is on the calling worker, otherwise null. @throws usage_error on a
/// thread that is no worker of the element's runtime
template <class T>
[[nodiscard]] T* find_local(const address<T>& of) {
  array_of<T>& array = of.array();
  const worker* const here = worker_beside(array);
  if (here == nullptr) throw_no_worker("local", array.name_of(of.to));
  const local_elements& on = array.local(here->index());
  if (&on == of.local)  // the table of another worker has no place for the element
    if (T* const found = array.find(on, of.to)) return found;
  const auto* const e = array.tracked().find(on.index, of.to);
  return e == nullptr ? nullptr : static_cast<T*>(e->element);
}

/// Sends a message to a worker of any rank. @throws as tracked_message::send_copy
template <class T>
void send_to_worker(array_of<T>& array, std::size_t worker, owned_tracked_message<T> m) {
  if (const std::size_t here = worker - array.space().first_worker(); here < array.worker_count()) {
    const starling::priority order = m->position.priority;
    return send(*array.space().workers()[here], *m.release(), order);
  }
  m->send_copy(worker);
}

/// Makes the message to a tracked element of which `m`, with these functions, is the inner one.
/// @throws std::bad_alloc; `m` is discarded then
template <class T>
[[nodiscard]] owned_tracked_message<T> make_tracked(const address<T>& to, work_item& m,
                                                    const message_functions<T>& of,
                                                    const ticket& position) {
  std::unique_ptr<work_item, discard_message> kept(&m);
  owned_tracked_message<T> made(new tracked_message<T>(to, m, position, of));
  static_cast<void>(kept.release());
  return made;
}

/// Sends a message to an element of a home that has tracked elements. Any thread.
/// @throws usage_error when too many bytes to the element's rank are outstanding, or as
/// tracked_message::send_copy; the message is discarded then
template <class T>
[[gnu::noinline]] void send_tracked(const address<T>& to, work_item& m,
                                    const message_functions<T>& of, starling::priority priority) {
  array_of<T>& array = to.array();
  worker* const here = worker_beside(array);
  auto sent = make_tracked(to, m, of, {.priority = priority, .is_last = of.is_last});
  if (here == nullptr)  // without a number, by way of the home
    return send_to_worker(array, array.table().worker_of(to.to), std::move(sent));
  auto& e = array.entry(here->index(), to.to);
  std::uint32_t at = e.home;
  if (of.is_last)
    route_last(e, array.worker_number(*here), sent->position);
  else
    at = route(e, array.worker_number(*here), e.home, priority, sent->position);
  try {
    if (job* j = array.space().current_job())
      if (const int rank = j->location_of(at).rank; rank != j->rank()) j->require_bounded(rank);
    send_to_worker(array, at, std::move(sent));
  } catch (...) {
    --e.sent[std::size_t(priority)];  // the number is not used
    throw;
  }
}

/// Counts a message that the calling worker's element has sent, if loads of the array are measured.
template <class T>
[[gnu::noinline]] void note_sent(const address<T>& to, std::size_t bytes) {
  count_sent(to.array().number_of(to.to), bytes);
}

/// Sends a message to an element of a home for which `local_elements::special` is set. Any thread.
/// @throws as send_tracked
template <class T>
[[gnu::cold, gnu::noinline]] void send_specially(const address<T>& to, work_item& m,
                                                 const message_functions<T>& of,
                                                 starling::priority priority) {
  if (of.argument_bytes != of.not_measured && to.array().is_measured())
    note_sent(to, of.argument_bytes);
  if (to.local->has_tracked()) return send_tracked(to, m, of, priority);
  send(*to.local->home, m, priority);
}

/// Passes on a message that has come to the home without a number of the home.
template <class T>
void pass_on_from_home(const address<T>& to, work_item& m, const message_functions<T>& of,
                       const ticket& position) {
  auto sent = make_tracked(to, m, of, position);
  sent->queued().home = to.local->home;
  to.array().receive_tracked(*sent.release());
}
template <class T, class Message>
void pass_on_from_home(const address<T>& to, Message& m, const ticket& position) {
  pass_on_from_home(to, m, functions_of<T, Message>, position);
}

template <class T>
[[nodiscard]] bool pass_on_if_tracked(const address<T>& to, work_item& m,
                                      const message_functions<T>& of) noexcept {
  if (to.local->array->is_closed() || !to.is_tracked()) return false;
  or_end_run(*to.local->home, [&] {
    pass_on_from_home(to, m, of, {.priority = m.queued().priority, .is_last = of.is_last});
  });
  return true;
}

template <class T>
void address<T>::not_there(work_item& m, const message_functions<T>& of) const noexcept {
  if (!local->array->is_closed())
    if (T* const target = find()) return of.deliver(m, *local, *target);
  if (!pass_on_if_tracked(*this, m, of)) of.miss(m);
}

}  // namespace detail
}  // namespace starling
