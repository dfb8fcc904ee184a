// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/objects/detail/broadcast_message.hpp>
#include <starling/objects/detail/job.hpp>

/// Messages to chares of other ranks, and their handlers there.
namespace starling::detail {

/// The type in which an argument is written: the given object, or the result of its conversion.
template <class Argument, class Given>
using written_as = std::conditional_t<std::is_same_v<std::remove_cvref_t<Given>, Argument>,
                                      const Argument&, Argument>;
template <auto Entry>
using arguments_of = std::type_identity<typename method<decltype(Entry)>::arguments>;

/// Reads the address of an element of this worker. @throws not_made_yet, archive_error
template <class T>
[[nodiscard]] address<T> read_address(const received_call& a, input_archive& ar) {
  auto& array = read_array<T>(a.space(), ar);
  auto to = read_key(array, ar);
  a.require(array.table().worker_of(to) == a.space().first_worker() + a.worker_index(),
            "it is for an element of another worker");
  return {&array.local(a.worker_index()), std::move(to)};
}

/// Processes a message of another rank as the local message `m`.
inline void perform_as(work_item& m, const received_call& a) noexcept {
  m.queued().priority = a.priority();
  perform(m);
}

template <auto Entry, class T>
struct remote_invocation {
  using arguments = typename method<decltype(Entry)>::arguments;
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto at = read_address<T>(a, ar);
    auto args = ar.template read<arguments>();
    require_end(ar);
    if constexpr (is_awaited<Entry>) {
      auto& mail =
          *new mail_message<Entry, T, message_receipt>(whole_arguments(), at, std::move(args));
      mail.keep(a.take_receipt());
      perform_as(mail, a);
    } else {
      T* const target = at.receiver();
      if (is_task<entry_result<Entry>> || target == nullptr)
        perform_as(*new entry_message<Entry, T>(whole_arguments(), at, no_reply(), std::move(args)),
                   a);
      else if constexpr (!is_task<entry_result<Entry>>)
        call(at, *target, args);
    }
  }

 private:
  /// Calls a plain entry method directly, without a local message.
  static void call(const address<T>& at, T& target, arguments& args) {
    std::exception_ptr error;
    try {
      static_cast<void>(call_entry<Entry>(target, std::move(args), argument_indices<Entry>()));
    } catch (...) {
      error = std::current_exception();
    }
    if (error) at.fail(info_of<Entry>, error);
  }
};

/// Sends a message to an element of another rank. @throws usage_error when an argument cannot
/// travel or too many bytes are outstanding, archive_error, std::bad_alloc
template <auto Entry, class T, class... Args>
void invoke_remote(const address<T>& at, const remote_way& way, Args&&... args) {
  if constexpr (entry_travels<Entry, T>) {
    if constexpr (migrates_between_ranks<T>)
      if (at.local->has_tracked())
        return send_specially<T>(
            at,
            make_message<Entry>(
                at, typename method<decltype(Entry)>::arguments(std::forward<Args>(args)...)),
            functions_of<T, message_to<Entry, T>>, way.priority);
    job& j = *at.array().space().current_job();
    j.require_bounded(int(at.local->index));
    const auto make = [&]<class... A>(std::type_identity<std::tuple<A...>>) {
      return make_call_for<remote_invocation<Entry, T>>(
          j, way, at.array().id(), at.to,
          static_cast<written_as<A, Args>>(std::forward<Args>(args))...);
    };
    message m = make(arguments_of<Entry>());
    if (at.array().is_measured()) [[unlikely]]
      note_sent(at, m.size());
    j.send(int(at.local->index), std::move(m));
  } else {
    refuse_entry<Entry, T>();
  }
}

template <auto Entry, class T>
struct remote_call {
  using arguments = typename method<decltype(Entry)>::arguments;
  using reply = remote_promise<unwrapped_t<entry_result<Entry>>>;
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto to = read_reply_address(ar);
    const auto at = read_address<T>(a, ar);
    auto args = ar.template read<arguments>();
    require_end(ar);
    perform_as(*new entry_message<Entry, T, reply>(
                   whole_arguments(), at, reply(*a.space().current_job(), to), std::move(args)),
               a);
  }
};

template <auto Entry, class T, class R, class... Args>
void call_remote(const address<T>& at, const remote_way& way, promise<R> reply, Args&&... args) {
  if constexpr (entry_travels<Entry, T> && result_travels<R>) {
    if constexpr (migrates_between_ranks<T>)
      if (at.local->has_tracked())
        return send_specially<T>(at,
                                 *new entry_message<Entry, T, promise<R>>(
                                     at, std::move(reply), std::forward<Args>(args)...),
                                 functions_of<T, entry_message<Entry, T, promise<R>>>,
                                 way.priority);
    [&]<class... A>(std::type_identity<std::tuple<A...>>) {
      const std::size_t bytes = ask<remote_call<Entry, T>>(
          *at.array().space().current_job(), int(at.local->index), way, std::move(reply),
          at.array().id(), at.to, static_cast<written_as<A, Args>>(std::forward<Args>(args))...);
      if (at.array().is_measured()) [[unlikely]]
        note_sent(at, bytes);
    }(arguments_of<Entry>());
  } else {
    refuse_entry<Entry, T, R>();
  }
}

/// The numbers of a broadcast, as sent to other ranks: read by load_numbers.
template <class T>
struct sent_numbers {
  const broadcast_numbers<typename array_of<T>::key>& numbers;
};
template <class Out, class T>
void save_value(Out& ar, const sent_numbers<T>& n) {
  if constexpr (migrates_between_ranks<T>) {
    save_value(ar, n.numbers.sender());
    save_value(ar, n.numbers.elsewhere());
  }
}
/// Reads the numbers of a broadcast for elements with the home `local`; null if there are none.
template <class T>
[[nodiscard]] std::unique_ptr<sequence_numbers<typename array_of<T>::key>> load_numbers(
    const array_of<T>& array, const local_elements& local, input_archive& ar) {
  using key = typename array_of<T>::key;
  std::unique_ptr<sequence_numbers<key>> found;
  if constexpr (migrates_between_ranks<T>) {
    const auto sender = ar.read<std::uint32_t>();
    const std::uint32_t home = array.worker_number(*local.home);
    for (const auto& [k, number] : ar.read<typename broadcast_numbers<key>::sent>()) {
      if (!is_key(array, k) || sender >= array.space().worker_total())
        ar.refuse("the number of a broadcast", "there is no such element or sender");
      if (array.table().worker_of(k) != home) continue;
      if (found == nullptr) found.reset(new sequence_numbers<key>{sender, {}});
      found->of.emplace(k, number);
    }
  }
  return found;
}

/// Handler of a message to the elements of a worker that `Targets` enumerates.
template <auto Entry, class T, class Targets>
struct remote_broadcast {
  using arguments = typename method<decltype(Entry)>::arguments;
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    auto& array = read_array<T>(a.space(), ar);
    Targets to = Targets::load(array, ar);
    shared_value<arguments> args(new counted_value<arguments>(ar.read<arguments>()));
    local_elements& local = array.local(a.worker_index());
    auto numbers = load_numbers(array, local, ar);
    require_end(ar);
    perform_as(*new broadcast_message<Entry, T, Targets>(local, std::move(args), std::move(to),
                                                         std::move(numbers)),
               a);
  }
};

/// Sends to all elements of other ranks that `to` enumerates. @throws usage_error when an argument
/// cannot travel or too many bytes are outstanding, archive_error, std::bad_alloc
template <auto Entry, class T, class Targets>
void broadcast_remote(const array_of<T>& array, starling::priority priority, const Targets& to,
                      const typename method<decltype(Entry)>::arguments& args,
                      const broadcast_numbers<typename array_of<T>::key>& numbers) {
  job* j = array.space().current_job();
  if (j == nullptr) return;
  if constexpr (entry_travels<Entry, T>) {
    const std::span<const int> ranks = to.ranks_beside(*j);
    if (ranks.empty()) return;
    for (const int rank : ranks) j->require_bounded(rank);
    j->send_to(ranks, make_remote_for<remote_broadcast<Entry, T, Targets>>(
                          *j, {remote_header::every_worker, priority}, array.id(), to.id(), args,
                          sent_numbers<T>{numbers}));
  } else {
    refuse_entry<Entry, T>();
  }
}

/// Destroys the elements for which a destruction of the array has numbers. On their home.
template <class T>
void destroy_numbered(local_elements& local, starling::priority priority,
                      sequence_numbers<typename array_of<T>::key>& numbers) {
  while (!numbers.of.empty()) {
    const auto k = numbers.of.begin()->first;
    array_of<T>::of(local).destroy_away(local, k, numbers.take(k, priority));
  }
}
template <class T>
struct remote_numbered_destruction {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    auto& array = read_array<T>(a.space(), ar);
    local_elements& local = array.local(a.worker_index());
    const auto numbers = load_numbers(array, local, ar);
    require_end(ar);
    if (numbers != nullptr) destroy_numbered<T>(local, a.priority(), *numbers);
  }
};
/// Destroys the tracked elements to which the calling worker has sent messages, behind these
/// messages.
template <class T>
void destroy_tracked_elements(array_of<T>& array, starling::priority priority) {
  broadcast_numbers<typename array_of<T>::key> numbers(array, array.tracked(), priority,
                                                       any_element);
  if constexpr (migrates_between_ranks<T>)
    if (job* j = array.space().current_job(); j != nullptr && !numbers.elsewhere().empty())
      j->send_to_other_ranks(make_remote<remote_numbered_destruction<T>>(
          {remote_header::every_worker, priority}, array.id(), sent_numbers<T>{numbers}));
  numbers.use();
  for (local_elements& local : array.locals())
    if (auto mine = numbers.take(local))
      send_call(
          *local.home,
          [&local, mine = std::move(mine), priority] {
            destroy_numbered<T>(local, priority, *mine);
          },
          priority);
}

/// Handler that calls `Action` for the local elements of a worker of another rank.
template <auto Action>
struct remote_action {
  static void run(received_call& a) {
    const auto [id] = read_arguments<object_id>(a);
    array_base& array = a.space().array(id);
    (array.*Action)(array.local(a.worker_index()));
  }
};

/// Calls `Action(local)` for the local elements of every worker of all ranks, on that worker,
/// behind the messages of the same priority that the caller has sent there.
template <auto Action>
void on_all_workers(array_base& array, starling::priority priority) {
  for (local_elements& local : array.locals())
    send_call(
        *local.home, [&local] { (local.array->*Action)(local); }, priority);
  if (job* j = array.space().current_job())
    j->send_to_other_ranks(
        make_remote<remote_action<Action>>({remote_header::every_worker, priority}, array.id()));
}

template <class T>
struct remote_destruction {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto at = read_address<T>(a, ar);
    require_end(ar);
    perform(*new destroy_message<T>(at));
  }
};

template <class T>
void destroy_remote(const address<T>& at, std::uint16_t worker) {
  if constexpr (migrates_between_ranks<T>)
    if (at.local->has_tracked())
      return send_specially<T>(at, *new destroy_message<T>(at), functions_of<T, destroy_message<T>>,
                               priority::normal);
  if constexpr (travels<typename address<T>::key>)
    at.array().space().current_job()->send(
        int(at.local->index),
        make_remote<remote_destruction<T>>({worker, priority::normal}, at.array().id(), at.to));
  else
    refuse_to_travel<typename address<T>::key>("destroy");
}

}  // namespace starling::detail
