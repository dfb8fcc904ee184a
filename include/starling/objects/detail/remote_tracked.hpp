// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/exported_memory.hpp>
#include <starling/objects/detail/tracked_message.hpp>
#include <starling/objects/shared_buffer.hpp>

/// Tracked elements, and messages to them, on their way to another rank.
namespace starling::detail {

/// Returns whether the array can have an element with this key.
template <class T>
[[nodiscard]] bool is_key(const array_of<T>& array, const typename address<T>::key& k) noexcept {
  if constexpr (dense_index<typename T::index_type>)
    return k < array.table().extent().size();
  else
    return true;
}
/// Reads the key of an element. @throws archive_error when the array cannot have such an element
template <class T>
[[nodiscard]] typename address<T>::key read_key(const array_of<T>& array, input_archive& ar) {
  auto key = ar.read<typename address<T>::key>();
  if (!is_key(array, key)) ar.refuse("an element's number", "there is none such");
  return key;
}

/// A message that was read, with the functions of its type.
template <class T>
struct made_message {
  work_item& m;
  const message_functions<T>& of;
};
/// Makes messages of type `Message` to elements of T on the receiving rank.
template <class T, class Message>
struct message_maker {
  using result = T;
  static constexpr auto made = remote_function::kind::message;
  static made_message<T> make(const address<T>& to, input_archive& ar) {
    return {Message::make(to, ar), functions_of<T, Message>};
  }
};

/// Reads a message that tracked_message has packed or saved. @throws archive_error, not_made_yet
template <class T>
[[nodiscard]] owned_tracked_message<T> load_tracked_message(array_of<T>& array,
                                                            const typename address<T>::key& k,
                                                            input_archive& ar) {
  const ticket at = read_ticket(array, ar);
  if (at.is_loose) ar.refuse("a position", "only offers of memory are in no sequence");
  const auto& f = remote_function_at(ar.read<std::uint32_t>(), remote_function::kind::message);
  if (*f.result != typeid(T)) ar.refuse(f.name, "it is for elements of another type");
  using maker = made_message<T>(const address<T>&, input_archive&);
  const address<T> to{array.locate(k).local, k};
  const made_message<T> made = reinterpret_cast<maker*>(f.address)(to, ar);
  return make_tracked(to, made.m, made.of, at);
}

/// Handler of a message to a tracked element, for the worker that is its home or had it.
template <class T>
struct remote_tracked {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    auto& array = read_array<T>(a.space(), ar);
    const auto k = read_key(array, ar);
    auto m = load_tracked_message(array, k, ar);
    require_end(ar);
    m->queued().home = array.local(a.worker_index()).home;
    array.receive_tracked(*m.release());
  }
};

/// Reads a location. @throws archive_error
template <class T>
[[nodiscard]] location read_location(const array_of<T>& array, input_archive& ar) {
  const auto at = ar.read<location>();
  if (at.worker >= array.space().worker_total()) ar.refuse("a location", "there is no such worker");
  return at;
}

/// Handler of a hint.
template <class T>
struct remote_hint {
  static constexpr bool is_counted = false;
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    auto& array = read_array<T>(a.space(), ar);
    const auto k = read_key(array, ar);
    const location now = read_location(array, ar);
    const int opened = ar.read<int>();
    require_end(ar);
    a.require(opened <= int(priority::normal), "a hint for a priority that does not exist");
    array.learn_location(a.worker_index(), k, now, opened);
  }
};

/// Handler of the news that elements whose home is the sending rank migrate.
struct remote_tracks {
  static constexpr bool is_counted = false;
  static void run(received_call& a);
};

// --- elements

/// Writes a sequence's messages and what else migrates with an element or its destroyed state.
template <class T>
void save_tracked_state(job& j, output_archive& ar, tracked_state& s) {
  save_value(ar, s.section_contributions);
  std::uint64_t sequences = 0;
  s.order.for_each_sequence([&](std::uint64_t, const auto&) { ++sequences; });
  save_value(ar, sequences);
  s.order.for_each_sequence([&](std::uint64_t key, const arrival_order::sequence& of) {
    std::uint64_t held = 0;
    for (tracked_item* m = of.held; m != nullptr; m = m->next) ++held;
    save_value(ar, key);
    save_value(ar, of.expected);
    save_value(ar, held);
    for (tracked_item* m = of.held; m != nullptr; m = m->next)
      static_cast<tracked_message<T>*>(m)->save(j, ar);
  });
  while (tracked_item* m = s.order.drop_one()) dispose_tracked()(m);
  // A destruction leaves the messages behind it.
  std::vector<owned_tracked_message<T>> ready;
  while (tracked_item* m = s.order.next()) ready.emplace_back(static_cast<tracked_message<T>*>(m));
  save_value(ar, std::uint64_t(ready.size()));
  for (auto& m : ready) m->save(j, ar);
}

/// Discards the messages of an order that are read again later.
template <class T>
void forget_messages(arrival_order& order) noexcept {
  const auto forget = [](tracked_item* item) {
    auto* const m = static_cast<tracked_message<T>*>(item);
    m->disown();
    m->discard();
  };
  while (tracked_item* m = order.next()) forget(m);
  while (tracked_item* m = order.drop_one()) forget(m);
}

/// Reads the messages of a state.
template <class T>
void load_messages(array_of<T>& array, const typename address<T>::key& k, local_elements& here,
                   input_archive& ar, arrival_order& order) {
  const auto load = [&]() -> tracked_message<T>& {
    tracked_message<T>& m = *load_tracked_message(array, k, ar).release();
    m.queued().home = here.home;
    return m;
  };
  for (auto sequences = ar.read<std::uint64_t>(); sequences != 0; --sequences) {
    const auto key = ar.read<std::uint64_t>();
    arrival_order::sequence& of = order.sequence_at(key);
    if (of.held != nullptr) ar.refuse("a sequence", "it is there twice");
    of.expected = ar.read<std::uint64_t>();
    tracked_item** end = &of.held;
    for (auto held = ar.read<std::uint64_t>(); held != 0; --held) {
      tracked_message<T>& m = load();
      *end = &m;
      end = &m.next;
      if (arrival_order::key_of_holder(m.position) != key)
        ar.refuse("a held message", "it is of another sequence");
      if (m.position.has_sender())  // `arrival_order` expects that it exists
        static_cast<void>(order.sequence_at(arrival_order::key_of(m.position)));
    }
  }
  for (auto ready = ar.read<std::uint64_t>(); ready != 0; --ready) order.add_ready(load());
}

/// Reads a state. Has no effect if an object that one of its messages names does not exist yet.
/// @throws archive_error, not_made_yet
template <class T>
[[nodiscard]] std::unique_ptr<tracked_state> load_tracked_state(array_of<T>& array,
                                                                const typename address<T>::key& k,
                                                                local_elements& here,
                                                                input_archive& ar) {
  auto s = std::make_unique<tracked_state>(std::uint32_t(array.table().worker_of(k)));
  ar(s->section_contributions);
  try {
    load_messages(array, k, here, ar, s->order);
  } catch (const not_made_yet&) {
    forget_messages<T>(s->order);
    throw;
  }
  return s;
}

inline constexpr entry_info serialize_info{"serialize"};

/// Calls the user's `serialize`. An exception ends the run with an error that names the element;
/// returns false then.
template <class T, class Archive>
[[nodiscard]] bool serialize(array_of<T>& array, const typename address<T>::key& k, T& element,
                             Archive& ar) {
  try {
    const loading_state here(element);
    element.serialize(ar);
    return true;
  } catch (const not_made_yet&) {
    throw;
  } catch (...) {
    array.fail(array.name_of(k), serialize_info, std::current_exception());
    return false;
  }
}

/// Writes what migrates with an element beside its own state.
template <class T>
void save_element_state(job& j, output_archive& ar, T& element) {
  auto& s = element.element_state();
  ar(s.reductions, s.balance_skip, s.reports, s.chances);
  save_channels(ar, element);
  std::uint64_t letters = 0;
  s.mail.for_each_kept([&](const awaited_message&) { ++letters; });
  save_value(ar, letters);
  s.mail.for_each_kept([&](const awaited_message& m) {
    const writing_for here(j);
    save_value(ar, m.entry->maker());
    m.entry->save(m, ar);
  });
  save_tracked_state<T>(j, ar, *s.tracked);
}

/// Writes an element that is to leave the rank. Returns false if its `serialize` has ended the run.
/// `exported`: of the message that will have the state. @throws usage_error, archive_error,
/// device_error, std::bad_alloc
template <class T>
[[nodiscard]] bool save_element(array_of<T>& array, const typename address<T>::key& k, T& element,
                                exported_memory& exported, shared_buffer<std::byte>& state) {
  job& j = *array.space().current_job();
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  {
    const writing_for here(j);
    exported_element exports{exported, std::as_bytes(std::span(&element, 1))};
    const exporting_scope connected(ar, exports);
    if (!serialize(array, k, element, ar)) return false;
  }
  save_element_state(j, ar, element);
  state = shared_buffer<std::byte>(std::move(bytes));
  return true;
}

/// Sends an element of this rank to worker `now.worker` of another rank, and deletes it when its
/// exported memory has been read. Has no effect if its `serialize` ends the run.
/// @throws as save_element
template <class T>
void send_element(array_of<T>& array, const typename address<T>::key& k, T& element,
                  const location& now) {
  job& j = *array.space().current_job();
  const remote_way way{j.location_of(now.worker).worker, priority::high};
  shared_buffer<std::byte> state;
  exported_memory exported(array.space(), now.worker);
  if (!save_element(array, k, element, exported, state)) return;
  auto& s = element.element_state();
  const bool resumes = s.at_point != nullptr;
  const auto make = [=, &j, &array](const exported_memory& e) {
    return make_remote_for<remote_element<T>>(j, way, array.id(), k, now, resumes, state, e);
  };
  array.leave_worker(array.entry(s.local->index, k), now);
  element.abandon_coroutine();
  exported_memory::send(std::move(exported), make, std::unique_ptr<T>(&element));
}

/// Makes an element whose state is read next. Returns null if its constructor has ended the run,
/// with an error that names the element.
template <class T>
[[nodiscard]] arriving<T> make_migrated(array_of<T>& array, const typename address<T>::key& k,
                                        local_elements& here) {
  try {
    const typename T::index_type index = array.table().index_of(k);
    chare_core::announce({&here, &index, 0});
    if constexpr (std::is_constructible_v<T, migrated>)
      return arriving<T>(new T(migrated()));
    else
      return arriving<T>(new T());
  } catch (...) {
    chare_core::announce({});
    array.fail(array.name_of(k), constructor_info, std::current_exception());
    return nullptr;
  }
}

/// Reads an element. Returns null if its constructor or its `serialize` has ended the run. If an
/// object that it names does not exist yet, the element is read again later into a new one.
/// @throws archive_error, not_made_yet
template <class T>
[[nodiscard]] arriving<T> load_element(array_of<T>& array, const typename address<T>::key& k,
                                       local_elements& here, input_archive& ar,
                                       imported_memory& imported) {
  arriving<T> made = make_migrated(array, k, here);
  if (made == nullptr) return nullptr;
  {
    const importing_scope connected(ar, imported);
    if (!serialize(array, k, *made, ar)) return nullptr;
  }
  auto& s = made->element_state();
  ar(s.reductions, s.balance_skip, s.reports, s.chances);
  load_channels(ar, *made);
  for (auto letters = ar.read<std::uint64_t>(); letters != 0; --letters) {
    const auto& f = remote_function_at(ar.read<std::uint32_t>(), remote_function::kind::mail);
    if (*f.result != typeid(T)) ar.refuse(f.name, "it is for elements of another type");
    using maker = awaited_message&(const address<T>&, input_archive&);
    static_cast<void>(s.mail.deliver(reinterpret_cast<maker*>(f.address)({&here, k}, ar)));
  }
  s.tracked = load_tracked_state(array, k, here, ar);
  return made;
}

/// The worker at which an element, or the state of a destroyed one, arrives from another rank.
template <class T>
struct arrival_place {
  array_of<T>& array;
  typename address<T>::key k;
  location now;
  local_elements& here;
};
/// Reads it from the beginning of the message. @throws archive_error, not_made_yet
template <class T>
[[nodiscard]] arrival_place<T> read_arrival_place(const received_call& a, input_archive& ar) {
  auto& array = read_array<T>(a.space(), ar);
  auto k = read_key(array, ar);
  const location now = read_location(array, ar);
  auto& here = array.local(a.worker_index());
  a.require(now.worker == array.worker_number(*here.home), "it is for another worker");
  return {array, std::move(k), now, here};
}

/// Starts the `resumed()` of an element whose coroutine was left on another rank.
template <class T>
void start_resumed(local_elements& here, const typename address<T>::key& k, T& element);

/// Handler of an element that arrives from another rank.
template <class T>
struct remote_element {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto [array, k, now, here] = read_arrival_place<T>(a, ar);
    const bool resumes = ar.read<bool>();
    const auto state = ar.read<shared_buffer<std::byte>>();
    imported_memory imported(a, ar);
    require_end(ar);
    if (array.is_closed()) return;
    a.require(!follows(array), "a follower without its leader");
    if (!imported.read()) return;
    input_archive from(state.elements());
    arriving<T> element = load_element(array, k, here, from, imported);
    if (element == nullptr) return;
    require_end(from);
    imported.give_back();
    const auto& known = array.entry(here.index, k);
    a.require(known.element == nullptr && now.version > known.known.version,
              "an element that is here or has left again");
    array.arrive(here, k, std::move(element), now, resumes);
  }
};

/// Sends the state of a destroyed element to its home on another rank.
template <class T>
void send_state(array_of<T>& array, const typename address<T>::key& k, tracked_state& state,
                const location& now, std::uint32_t next_reduction) {
  job& j = *array.space().current_job();
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  save_tracked_state<T>(j, ar, state);
  const auto [rank, on_rank] = j.location_of(now.worker);
  j.send(rank, make_remote_for<remote_state<T>>(j, {on_rank, priority::high}, array.id(), k, now,
                                                next_reduction, bytes));
}

template <class T>
struct remote_state {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto [array, k, now, here] = read_arrival_place<T>(a, ar);
    const auto next_reduction = ar.read<std::uint32_t>();
    const auto bytes = ar.read<std::vector<std::byte>>();
    require_end(ar);
    if (array.is_closed()) return;
    const auto& known = array.entry(here.index, k);
    a.require(known.destroyed == nullptr, "an element is destroyed twice");
    a.require(known.home == now.worker && known.element == nullptr && known.is_tracked() &&
                  now.version > known.known.version,
              "the state of an element that is not away");
    input_archive from(bytes);
    auto state = load_tracked_state(array, k, here, from);
    require_end(from);
    array.return_state(here, k, now, std::move(state), next_reduction);
  }
};

}  // namespace starling::detail
