// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/core/future.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/check_message.hpp>
#include <starling/objects/detail/insertion.hpp>
#include <starling/objects/detail/send_room.hpp>
#include <starling/objects/detail/stored_ids.hpp>
#include <starling/objects/entry.hpp>
#include <starling/objects/error.hpp>

namespace starling {

template <class T>
class chare_array;

namespace detail {

/// The target that sends a result to an entry method of one element or of a whole array.
template <auto Entry, class Proxy, class V>
class to_entry final : public starling::callback<V>::target {
 public:
  using result = V;
  explicit to_entry(const Proxy& to) : m_to(to) {}
  void deliver(V&& value) noexcept override {
    or_end_run(*worker::current(), [&] {
      if constexpr (method<decltype(Entry)>::count == 0)
        m_to.template invoke<Entry>();
      else
        m_to.template invoke<Entry>(std::move(value));
    });
  }
  void fail(const std::exception_ptr& error) noexcept override {
    end_run_and_close(*worker::current(), error);
  }
  std::vector<std::byte> pack() override {
    if constexpr (travels<Proxy>)
      return pack_made<to_entry>(m_to);
    else
      refuse_to_travel<typename Proxy::index_type>(full_name<Entry>.data());
  }
  static constexpr auto made = remote_function::kind::target;
  static counted_owner make(input_archive& ar) {
    if constexpr (travels<Proxy>)
      return counted_owner(new to_entry(ar.read<Proxy>()));
    else
      ar.refuse(type_text<Proxy>, "it cannot travel");
  }

 private:
  Proxy m_to;
};

/// @throws usage_error
[[noreturn]] void throw_outside(const std::string& array, const std::string& index,
                                const std::string& extent);

}  // namespace detail

/// Proxy of one element of a chare array, on any rank. A small value that can be copied, stored and
/// sent. Valid as long as the runtime, whether or not the element exists. Thread-safe.
template <class T>
class element {
 public:
  using index_type = typename T::index_type;

  element(const detail::address<T>& to, const detail::remote_way& way)
      : m_address(to), m_way(way) {}

  [[nodiscard]] index_type index() const {
    return m_address.array().table().index_of(m_address.to);
  }
  /// Returns a proxy of the same element whose messages precede those of normal priority.
  [[nodiscard]] element urgent() const {
    return element(m_address, {m_way.worker, priority::high});
  }

  /// Sends a message: `Entry` runs on the element's worker, after all messages of the same priority
  /// that the caller has sent to the element before. (The order holds for sends from one thread; a
  /// task that is not pinned may resume on another thread.) Arguments are moved or copied into the
  /// message. The method's result is dropped; an exception ends the run with `entry_error`.
  /// @throws usage_error when an argument cannot travel to the element's rank, or messages of
  /// `--starling-send-limit` MiB to that rank have not been processed (see `ready`)
  template <auto Entry, class... Args>
  void invoke(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    if constexpr (detail::fits_message<Entry, T, Args...>) {
      if (home() == nullptr) [[unlikely]]
        detail::invoke_remote<Entry>(m_address, m_way, std::forward<Args>(args)...);
      else if constexpr (detail::is_awaited<Entry>)
        post(*new detail::mail_message<Entry, T>(m_address, std::forward<Args>(args)...),
             m_way.priority);
      else
        post(*new detail::entry_message<Entry, T>(m_address, detail::no_reply{},
                                                  std::forward<Args>(args)...),
             m_way.priority);
    }
  }

  /// As `invoke`, and returns a future of the method's result or exception; the exception is
  /// `no_such_element` when the element does not exist.
  template <auto Entry, class... Args>
  [[nodiscard]] auto call(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    static_assert(!detail::is_awaited<Entry>,
                  "a method whose messages are awaited has no result: invoke it");
    using result = detail::unwrapped_t<detail::entry_result<Entry>>;
    promise<result> reply;
    future<result> answer = reply.get_future();
    if constexpr (detail::fits_message<Entry, T, Args...> && !detail::is_awaited<Entry>) {
      detail::check_travel<T, result>();
      if (home() == nullptr) [[unlikely]]
        detail::call_remote<Entry>(m_address, m_way, std::move(reply), std::forward<Args>(args)...);
      else
        post(*new detail::entry_message<Entry, T, promise<result>>(m_address, std::move(reply),
                                                                   std::forward<Args>(args)...),
             m_way.priority);
    }
    return answer;
  }

  /// Returns an awaitable that completes when the element's rank has processed all messages of this
  /// rank except for a few megabytes. Messages in mailboxes there count as not processed. A sender
  /// of many messages awaits it before each message: otherwise the messages that a slow rank has
  /// not processed fill its memory. Ready at once on the element's own rank. Suspends only the
  /// awaiting coroutine.
  [[nodiscard]] detail::room_awaiter ready() const noexcept {
    const bool is_here = home() != nullptr;
    return {is_here ? nullptr : m_address.array().space().current_job(),
            is_here ? 0 : int(m_address.local->index)};
  }

  /// Returns a callback that sends a result of type V to `Entry` of this element. `Entry` takes the
  /// result or no argument.
  template <auto Entry, class V>
  [[nodiscard]] callback<V> to() const {
    return callback<V>(detail::counted_ptr(new detail::to_entry<Entry, element, V>(*this)));
  }

  /// Destroys the element, after all messages of normal priority that the caller has sent to it
  /// before, whatever the priority of this proxy. If the caller is a worker and the element has
  /// migrated, its earlier urgent messages precede the destruction, too; otherwise one of them may
  /// follow it, because a worker with much urgent work runs other work from time to time.
  /// The element is deleted when its entry methods have ended; pending `when`s of its coroutines
  /// throw operation_cancelled. Later messages to it, a second `destroy` included, are errors.
  void destroy() const {
    if (home() == nullptr) [[unlikely]]
      detail::destroy_remote(m_address, m_way.worker);
    else
      post(*new detail::destroy_message<T>(m_address), priority::normal);
  }

  /// Returns the element if it is on the calling worker, for direct access; otherwise null: it is
  /// on another worker, migrates, has not been made yet, is in its constructor or has been
  /// destroyed. Never waits, and neither makes the element nor counts as a message to it. The
  /// pointer is valid until the calling coroutine is suspended or the calling entry method ends:
  /// then the element may migrate or be deleted. Direct calls are not ordered with messages: those
  /// that the caller has sent to the element may still be on their way.
  /// @throws usage_error on a thread that is no worker of this rank's runtime
  [[nodiscard]] T* local() const { return detail::find_local(m_address); }

  [[nodiscard]] starling::priority priority() const noexcept { return m_way.priority; }
  [[nodiscard]] const detail::remote_way& way() const noexcept { return m_way; }
  [[nodiscard]] const detail::address<T>& address() const noexcept { return m_address; }
  /// Returns the element's worker; null: it is on another rank.
  [[nodiscard]] detail::worker* home() const noexcept { return m_address.local->home; }
  friend bool operator==(const element& a, const element& b) noexcept {
    return a.m_address.local == b.m_address.local && a.m_address.to == b.m_address.to;
  }

 private:
  template <class Message>
  void post(Message& m, starling::priority order) const {
    if (m_address.local->specials() != 0) [[unlikely]]
      return detail::send_specially<T>(m_address, m, detail::functions_of<T, Message>, order);
    detail::send(*m_address.local->home, m, order);
  }

  friend class chare_array<T>;
  detail::address<T> m_address;
  detail::remote_way m_way;
};

/// Proxy of a whole chare array. A small value like `element`.
template <class T>
class chare_array {
 public:
  using index_type = typename T::index_type;

  explicit chare_array(detail::array_of<T>& array,
                       starling::priority priority = starling::priority::normal) noexcept
      : m_array(&array), m_priority(priority) {}

  /// Returns the extent of a dense array.
  [[nodiscard]] const auto& extent() const noexcept { return m_array->table().extent(); }

  /// Returns the proxy of an element. @throws usage_error when the index is not within the shape
  [[nodiscard]] element<T> operator[](const index_type& index) const {
    if constexpr (dense_index<index_type>)
      if (!extent().contains(index)) [[unlikely]]
        detail::throw_outside(m_array->type(), detail::text_of(index),
                              detail::text_of(extent().extent()));
    const auto key = m_array->table().key_of(index);
    const auto [local, worker] = m_array->locate(key);
    return element<T>({local, key}, {worker, m_priority});
  }
  /// Returns a proxy of the same array whose messages precede those of normal priority.
  [[nodiscard]] chare_array urgent() const noexcept {
    return chare_array(*m_array, priority::high);
  }

  /// Sends a message to every element that exists on its worker when the message arrives there,
  /// after all messages that the caller has sent to the element before. Arguments are copied for
  /// each element if the method takes them by value.
  /// @throws usage_error as element::invoke; the message is sent to no element then
  template <auto Entry, class... Args>
  void invoke(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    if constexpr (detail::fits_message<Entry, T, Args...>) {
      using arguments = typename detail::method<decltype(Entry)>::arguments;
      const detail::shared_value<arguments> shared(
          new detail::counted_value<arguments>(std::forward<Args>(args)...));
      detail::broadcast_numbers<typename detail::array_of<T>::key> numbers(
          *m_array, m_array->tracked(), m_priority, detail::any_element);
      detail::broadcast_remote<Entry, T>(*m_array, m_priority, detail::all_elements(),
                                         shared->value, numbers);
      numbers.use();
      for (detail::local_elements& local : m_array->locals())
        detail::send(
            *local.home,
            *new detail::broadcast_message<Entry, T>(local, shared, {}, numbers.take(local)),
            m_priority);
    }
  }
  /// Makes the element `index`, T(args…), on its worker. The array must have been created without
  /// elements. Messages to the element wait until then. If the element exists, the run ends with
  /// entry_error.
  template <class... Args>
  void insert(const index_type& index, Args&&... args) const {
    detail::check_travel<T, index_type, std::decay_t<Args>...>();
    const element<T> at = (*this)[index];
    detail::send_insertion<T>(at.m_address, at.m_way,
                              std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
  }
  /// Ends the insertions, after those of the caller. Messages to elements that do not exist,
  /// waiting ones included, are errors from then on.
  void done_inserting() const {
    detail::on_all_workers<&detail::array_base::end_insertions>(*m_array, m_priority);
  }
  /// Destroys the array on all ranks, after all messages that the caller has sent to it with the
  /// same priority: each element as by `element::destroy`, and the memory kept for the elements.
  /// The elements contribute to no further reduction. Later messages to elements and insertions are
  /// errors, and broadcasts reach no element; the proxy itself stays valid.
  void destroy() const {
    detail::destroy_tracked_elements(*m_array, m_priority);
    detail::on_all_workers<&detail::array_base::destroy_local>(*m_array, m_priority);
  }
  /// Begins or ends the measurement of the loads of all elements on all ranks, behind the messages
  /// of the same priority that the caller has sent to them; the end deletes the measured loads. Off
  /// at first; a second `measure_loads(true)` changes nothing. See `chare::load_so_far`,
  /// load_measurement.
  ///
  /// While it is on, each message and each resumption of a coroutine reads the processor's clock
  /// once or twice. Time of tasks that a chare starts otherwise than by `chare::spawn` is not
  /// measured.
  void measure_loads(bool on) const {
    if (on)
      detail::on_all_workers<&detail::array_base::begin_measuring>(*m_array, m_priority);
    else
      detail::on_all_workers<&detail::array_base::end_measuring>(*m_array, m_priority);
  }
  /// Chooses the balancer of `chare::load_balance` for this array instead of `--starling-balancer`,
  /// and balances at each `interval`-th call instead of `--starling-balance-every`; 0: when the
  /// imbalance costs more. Called on rank 0 before the elements call `load_balance`.
  /// @throws usage_error on another rank
  void balance_by(std::unique_ptr<const balance::balancer> chosen,
                  std::uint64_t interval = 0) const {
    m_array->balance_by(std::move(chosen), interval);
  }
  /// Returns a callback as element::to, for every element.
  template <auto Entry, class V>
  [[nodiscard]] callback<V> to() const {
    return callback<V>(detail::counted_ptr(new detail::to_entry<Entry, chare_array, V>(*this)));
  }

  friend bool operator==(const chare_array& a, const chare_array& b) noexcept {
    return a.m_array == b.m_array;
  }
  [[nodiscard]] starling::priority priority() const noexcept { return m_priority; }
  [[nodiscard]] detail::array_of<T>& state() const noexcept { return *m_array; }

 private:
  detail::array_of<T>* m_array;
  starling::priority m_priority;
};

template <class T>
struct codec<chare_array<T>> {
  template <class Archive>
  static void save(Archive& ar, const chare_array<T>& a) {
    ar(detail::written_id(a.state().id()), a.priority());
  }
  static chare_array<T> load(input_archive& ar) {
    const auto id = detail::read_id(ar.read<std::uint64_t>());
    auto& array = detail::array_named<T>(detail::receiving_space(), id);
    const auto priority = ar.read<starling::priority>();
    if (priority > priority::normal) ar.refuse("a priority", "there is none such");
    return chare_array<T>(array, priority);
  }
};

template <class T>
requires travels<typename T::index_type>
struct codec<element<T>> {
  template <class Archive>
  static void save(Archive& ar, const element<T>& e) {
    ar(detail::written_id(e.address().array().id()), e.priority(), e.index());
  }
  static element<T> load(input_archive& ar) {
    const auto array = codec<chare_array<T>>::load(ar);
    const auto index = ar.read<typename T::index_type>();
    if constexpr (dense_index<typename T::index_type>)
      if (!array.extent().contains(index)) ar.refuse("an index", "the array has no such element");
    return array[index];
  }
};

}  // namespace starling
