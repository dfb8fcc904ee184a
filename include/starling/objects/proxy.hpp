// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/future.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/check_message.hpp>
#include <starling/objects/detail/remote_entry.hpp>
#include <starling/objects/detail/send_room.hpp>
#include <starling/objects/entry.hpp>
#include <starling/objects/error.hpp>

namespace starling {

template <class T>
class chare_array;

namespace detail {

/// An entry method of one element, or of a whole array, as the target of a result.
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
  static std::shared_ptr<void> make(input_archive& ar) {
    if constexpr (travels<Proxy>)
      return std::shared_ptr<typename starling::callback<V>::target>(
          std::make_shared<to_entry>(ar.read<Proxy>()));
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

/// One element of a chare array, wherever it lives. A small value: copy, keep and send it. Valid as
/// long as the runtime; the element need not exist yet, or any more. Thread-safe.
template <class T>
class element {
 public:
  using index_type = typename T::index_type;

  explicit element(const detail::address<T>& to, priority urgency = priority::normal)
      : m_address(to), m_urgency(urgency) {}

  [[nodiscard]] index_type index() const {
    return m_address.array().table().index_of(m_address.to);
  }
  /// The same element; messages to it go ahead of those of normal priority.
  [[nodiscard]] element urgent() const { return element(m_address, priority::high); }

  /// Sends a message: `Entry` runs on the element's worker, after all messages of the same priority
  /// that the caller has sent it before (a free task: on the same thread, as it may go on
  /// elsewhere when it has awaited something). Arguments are moved or copied into the message. What
  /// the method returns is dropped; what it throws ends the run with `entry_error`.
  /// @throws usage_error where an argument cannot travel to its rank, or more than
  /// `--starling-send-limit` is on its way there (see `ready`)
  template <auto Entry, class... Args>
  void invoke(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    if constexpr (detail::fits_message<Entry, T, Args...>) {
      if (home() == nullptr) [[unlikely]]
        detail::invoke_remote<Entry>(m_address, m_urgency, std::forward<Args>(args)...);
      else if constexpr (detail::is_awaited<Entry>)
        post(*new detail::mail_message<Entry, T>(m_address, std::forward<Args>(args)...));
      else
        post(*new detail::entry_message<Entry, T>(m_address, detail::no_reply{},
                                                  std::forward<Args>(args)...));
    }
  }

  /// The same, with a future of the method's result, or of what it throws; `no_such_element` where
  /// there is none.
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
        detail::call_remote<Entry>(m_address, m_urgency, std::move(reply),
                                   std::forward<Args>(args)...);
      else
        post(*new detail::entry_message<Entry, T, promise<result>>(m_address, std::move(reply),
                                                                   std::forward<Args>(args)...));
    }
    return answer;
  }

  /// Awaitable: until its rank has worked off what this rank has sent it, but for a few megabytes.
  /// Messages that nobody has awaited there yet count as well. Who sends much in a loop awaits it
  /// before each message: else what a slow rank has not got to waits in memory. Ready at once on
  /// its own rank. It holds up its own coroutine only.
  [[nodiscard]] detail::room_awaiter ready() const noexcept {
    const bool is_here = home() != nullptr;
    return {is_here ? nullptr : m_address.array().space().others(),
            is_here ? 0 : int(m_address.part->index)};
  }

  /// `Entry` of this element as the target of a result of type V, its only argument or none.
  template <auto Entry, class V>
  [[nodiscard]] callback<V> to() const {
    return callback<V>(std::make_shared<detail::to_entry<Entry, element, V>>(*this));
  }

  /// Ends the element behind all messages sent to it before: once its entry methods have ended (the
  /// `when`s of coroutines throw operation_cancelled) it is deleted. Messages to it, another
  /// `destroy` among them, are errors then.
  void destroy() const {
    if (home() == nullptr) [[unlikely]]
      detail::destroy_remote(m_address);
    else
      post(*new detail::destroy_message<T>(m_address));
  }

  [[nodiscard]] priority urgency() const noexcept { return m_urgency; }
  [[nodiscard]] const detail::address<T>& native() const noexcept { return m_address; }
  /// Null: on another rank.
  [[nodiscard]] detail::worker* home() const noexcept { return m_address.part->home; }
  friend bool operator==(const element& a, const element& b) noexcept {
    return a.m_address.part == b.m_address.part && a.m_address.to == b.m_address.to;
  }

 private:
  void post(detail::work_item& m) const noexcept {
    detail::send(*m_address.part->home, m, m_urgency);
  }

  friend class chare_array<T>;
  detail::address<T> m_address;
  priority m_urgency;
};

/// A whole chare array. A small value like `element`.
template <class T>
class chare_array {
 public:
  using index_type = typename T::index_type;

  explicit chare_array(detail::array_of<T>& array, priority urgency = priority::normal) noexcept
      : m_array(&array), m_urgency(urgency) {}

  /// Of a dense array.
  [[nodiscard]] const auto& extent() const noexcept { return m_array->table().extent(); }

  /// @throws usage_error when the shape has no such index
  [[nodiscard]] element<T> operator[](const index_type& index) const {
    if constexpr (dense_index<index_type>)
      if (!extent().contains(index)) [[unlikely]]
        detail::throw_outside(m_array->type(), detail::text_of(index),
                              detail::text_of(extent().extent()));
    const auto key = m_array->table().key_of(index);
    return element<T>({&m_array->part_of(key), key}, m_urgency);
  }
  /// The same array; messages to it go ahead of those of normal priority.
  [[nodiscard]] chare_array urgent() const noexcept {
    return chare_array(*m_array, priority::high);
  }

  /// Sends a message to every element: those that exist on their worker when it gets there, behind
  /// all messages that the caller has sent them before. Arguments are copied for each that takes
  /// them by value.
  /// @throws usage_error as element::invoke: nobody gets it then
  template <auto Entry, class... Args>
  void invoke(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    if constexpr (detail::fits_message<Entry, T, Args...>) {
      using arguments = typename detail::method<decltype(Entry)>::arguments;
      const auto shared = std::make_shared<const arguments>(std::forward<Args>(args)...);
      detail::broadcast_remote<Entry, T>(*m_array, m_urgency, detail::all_elements(), *shared);
      for (std::size_t w = 0; w < m_array->part_count(); ++w) {
        detail::array_part& p = m_array->part(w);
        detail::send(*p.home, *new detail::broadcast_message<Entry, T>(p, shared), m_urgency);
      }
    }
  }
  /// Makes element `index`, T(args…), on its worker: of an array that was made without elements.
  /// Messages to it wait until then. Where there is one already the run ends with entry_error.
  template <class... Args>
  void insert(const index_type& index, Args&&... args) const {
    detail::check_travel<T, index_type, std::decay_t<Args>...>();
    const element<T> at = (*this)[index];
    detail::send_insertion<T>(at.m_address, m_urgency,
                              std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...));
  }
  /// No more insertions: messages that wait for elements, and those to come, are errors. Behind all
  /// that the caller has inserted.
  void done_inserting() const {
    detail::on_all_parts<&detail::array_base::end_insertions>(*m_array, m_urgency);
  }
  /// Ends the array on all ranks, behind all that the caller has sent it with the same priority:
  /// each element as its own `destroy` would, which takes part in no reduction any more, and what
  /// is kept for the elements. Messages to them and insertions are errors then, broadcasts find
  /// nobody; the proxy itself stays valid.
  void destroy() const {
    detail::on_all_parts<&detail::array_base::destroy_part>(*m_array, m_urgency);
  }
  /// As element::to, with every element.
  template <auto Entry, class V>
  [[nodiscard]] callback<V> to() const {
    return callback<V>(std::make_shared<detail::to_entry<Entry, chare_array, V>>(*this));
  }

  friend bool operator==(const chare_array& a, const chare_array& b) noexcept {
    return a.m_array == b.m_array;
  }
  [[nodiscard]] priority urgency() const noexcept { return m_urgency; }
  [[nodiscard]] detail::array_of<T>& native() const noexcept { return *m_array; }

 private:
  detail::array_of<T>* m_array;
  priority m_urgency;
};

template <class T>
struct codec<chare_array<T>> {
  template <class Archive>
  static void save(Archive& ar, const chare_array<T>& a) {
    ar(a.native().id(), a.urgency());
  }
  static chare_array<T> load(input_archive& ar) {
    auto& array = detail::read_array<T>(detail::space_of_arrival(), ar);
    const auto urgency = ar.read<priority>();
    if (urgency > priority::normal) ar.refuse("a priority", "there is none such");
    return chare_array<T>(array, urgency);
  }
};

template <class T>
requires travels<typename T::index_type>
struct codec<element<T>> {
  template <class Archive>
  static void save(Archive& ar, const element<T>& e) {
    ar(e.native().array().id(), e.urgency(), e.index());
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
