// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/core/detail/error_text.hpp>
#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/future.hpp>
#include <starling/objects/detail/migration.hpp>

/// Messages: the arguments of an entry method on their way to a chare.
namespace starling::detail {

template <auto Entry>
using entry_result = typename method<decltype(Entry)>::result;

template <auto Entry>
concept is_awaited = std::same_as<entry_result<Entry>, awaited>;

/// Selects constructors of messages that take all arguments as one tuple.
struct whole_arguments {};

/// Calls an entry method with the arguments of a message: moved if `args` is an rvalue.
template <auto Entry, class T, class Arguments, std::size_t... I>
decltype(auto) call_entry(T& target, Arguments&& args, std::index_sequence<I...>) {
  return (target.*Entry)(std::get<I>(std::forward<Arguments>(args))...);
}
template <auto Entry>
using argument_indices = std::make_index_sequence<method<decltype(Entry)>::count>;

struct no_reply {};

/// A message to an element of T, independent of its entry method. `Reply` receives the result or
/// the error; without one an error ends the run.
template <class T, class Reply>
class element_message : public work_item {
 public:
  element_message(function to_run, function to_drop, const entry_info& entry, const address<T>& to,
                  Reply&& reply)
      : work_item(to_run, to_drop, &entry.trace_name), m_address(to), m_reply(std::move(reply)) {}

  void fail(const entry_info& entry, std::exception_ptr error,
            const std::source_location& awaited_last = {}) noexcept {
    if constexpr (replies)
      m_reply.set_exception(std::move(error));
    else
      m_address.fail(entry, error, awaited_last);
  }

 protected:
  static constexpr bool replies = !std::is_same_v<Reply, no_reply>;

  /// Stores the result of `make()`. @throws its exceptions and those of the reply
  template <class Make>
  void answer_with(const Make& make) {
    if constexpr (!replies) {
      static_cast<void>(make());
    } else if constexpr (std::is_void_v<decltype(make())>) {
      make();
      m_reply.set_value();
    } else {
      m_reply.set_value(make());
    }
  }

  address<T> m_address;
  [[no_unique_address]] Reply m_reply;
};

/// A message that starts a coroutine and exists until the coroutine has ended, to pass on its
/// result or error.
template <class T, class R, class Reply>
class coroutine_message : public element_message<T, Reply>, callback {
 public:
  using element_message<T, Reply>::element_message;

 protected:
  void start(T& target, task_promise<R>& p, const entry_info& entry) noexcept {
    p.home = this->m_address.local->home;
    p.pinned = true;
    p.priority = this->queued().priority;
    p.spawned = true;
    p.of_entry = true;
    p.in_frame = true;
    m_running = &p;
    m_owner = &target;
    m_entry = &entry;
    ++target.element_state().coroutines;
    this->notify = &ended;
    // Succeeds, because the coroutine has not started.
    static_cast<void>(p.subscribe(static_cast<callback&>(*this)));
    resume_here(p);
  }

 private:
  static void ended(callback& c) noexcept {
    auto& self = static_cast<coroutine_message&>(c);
    const std::source_location awaited_last = self.m_running->location.load();
    std::exception_ptr error;
    try {
      self.answer_with([&self]() -> R { return self.m_running->result.take(); });
    } catch (...) {
      error = std::current_exception();
    }
    self.m_running->destroy();  // the frame has held the error, too
    if (error) self.pass_on(std::move(error), awaited_last);
    array_of<T>::let_go(*self.m_owner);
    self.discard();
  }
  void pass_on(std::exception_ptr error, const std::source_location& awaited_last) noexcept {
    if constexpr (!coroutine_message::replies) {
      // A hang_error is no error of this method: the run ends with the diagnosis itself.
      if (is_a<hang_error>(error)) return end_run(*this->m_address.local->home, std::move(error));
      if (is_a<runtime_ends>(error)) return;  // the usual end of periodic coroutines
      // The waits of a chare that is being destroyed end with operation_cancelled.
      if (m_owner->element_state().is_doomed && is_a<operation_cancelled>(error)) return;
    }
    this->fail(*m_entry, std::move(error), awaited_last);
  }

  task_promise<R>* m_running = nullptr;
  T* m_owner = nullptr;
  const entry_info* m_entry = nullptr;
};

template <class T, class Result, class Reply>
struct base_of_message {
  using type = element_message<T, Reply>;
};
template <class T, class R, class Reply>
struct base_of_message<T, task<R>, Reply> {
  using type = coroutine_message<T, R, Reply>;
};

/// A message to one element. Runs a plain entry method to its end, or starts a coroutine.
///
/// The catch blocks of this class and its bases end before the error is passed on, because its
/// receiver may release the last reference; ThreadSanitizer does not see the reference count and
/// would report a race.
template <auto Entry, class T, class Reply = no_reply>
class entry_message final : public base_of_message<T, entry_result<Entry>, Reply>::type,
                            public pooled<block_kind::state> {
  using base = typename base_of_message<T, entry_result<Entry>, Reply>::type;

 public:
  template <class... Given>
  entry_message(const address<T>& to, Reply&& reply, Given&&... args)
      : base(&run, &drop, info_of<Entry>, to, std::move(reply)),
        m_args(std::forward<Given>(args)...) {}
  template <class Arguments>
  entry_message(whole_arguments, const address<T>& to, Reply&& reply, Arguments&& args)
      : base(&run, &drop, info_of<Entry>, to, std::move(reply)),
        m_args(std::forward<Arguments>(args)) {}

  [[gnu::cold]] static void deliver_to(work_item& m, local_elements& here, T& target) noexcept {
    auto& self = static_cast<entry_message&>(m);
    self.m_address.local = &here;
    self.deliver(target);
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<entry_message&>(m);
    self.m_address.miss(self, info_of<Entry>, self);
  }

 private:
  static entry_message& of(void* item) noexcept {
    return *static_cast<entry_message*>(static_cast<work_item*>(item));
  }
  static void drop(void* item) noexcept { delete &of(item); }
  static void run(void* item) noexcept {
    entry_message& self = of(item);
    T* const target = self.m_address.receiver();
    if (target == nullptr) [[unlikely]]
      return self.m_address.not_there(self);
    self.deliver(*target);
  }
  [[gnu::always_inline]] void deliver(T& target) noexcept {  // `run` is the hot path
    std::exception_ptr error;
    if constexpr (is_task<entry_result<Entry>>) {
      decltype(call(target).release()) frame;
      try {
        frame = call(target).release();
      } catch (...) {  // out of memory, or thrown by a function that is no coroutine
        error = std::current_exception();
      }
      if (!error) return this->start(target, frame.promise(), info_of<Entry>);
    } else {
      try {
        this->answer_with([&]() -> decltype(auto) { return call(target); });
      } catch (...) {
        error = std::current_exception();
      }
    }
    if (error) this->fail(info_of<Entry>, std::move(error));
    delete this;
  }
  decltype(auto) call(T& target) {
    return call_entry<Entry>(target, std::move(m_args), argument_indices<Entry>());
  }

  typename method<decltype(Entry)>::arguments m_args;
};

/// A message to an entry method declared `awaited`, independent of the type of its target.
template <auto Entry>
class mail : public awaited_message {
 public:
  using arguments = typename method<decltype(Entry)>::arguments;

  template <class... Given>
  mail(work_item::function to_run, work_item::function to_drop, Given&&... given)
      : awaited_message(to_run, to_drop, info_of<Entry>), args(std::forward<Given>(given)...) {
    if constexpr (has_reference<Entry>) reference = static_cast<std::int64_t>(std::get<0>(args));
  }
  arguments args;
};

/// A `mail` in transit, with the Receipt that it holds until a coroutine has taken the message.
template <auto Entry, class T, class Receipt = no_receipt>
class mail_message final : public mail<Entry>, public pooled<block_kind::state> {
 public:
  template <class... Given>
  explicit mail_message(const address<T>& to, Given&&... given)
      : mail<Entry>(&run, &drop, std::forward<Given>(given)...), m_address(to) {}
  template <class Arguments>
  mail_message(whole_arguments, const address<T>& to, Arguments&& given)
      : mail<Entry>(&run, &drop, std::forward<Arguments>(given)), m_address(to) {}
  void keep(Receipt r) noexcept { m_receipt = std::move(r); }

  [[gnu::cold]] static void deliver_to(work_item& m, local_elements& here, T& target) noexcept {
    auto& self = static_cast<mail_message&>(m);
    self.m_address.local = &here;
    self.deliver(target);
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<mail_message&>(m);
    self.m_address.miss(self, info_of<Entry>, self.m_address);
  }

 private:
  static mail_message& of(void* item) noexcept {
    return *static_cast<mail_message*>(static_cast<work_item*>(item));
  }
  static void drop(void* item) noexcept { delete &of(item); }
  static void run(void* item) noexcept {
    mail_message& self = of(item);
    T* const target = self.m_address.receiver();
    if (target == nullptr) [[unlikely]]
      return self.m_address.not_there(self);
    self.deliver(*target);
  }
  [[gnu::always_inline]] void deliver(T& target) noexcept {
    if (promise_base* waiting = target.element_state().mail.deliver(*this)) resume_here(*waiting);
  }

  address<T> m_address;
  [[no_unique_address]] Receipt m_receipt;
};

/// A message that destroys one element.
template <class T>
class destroy_message final : public work_item, public pooled<block_kind::state> {
 public:
  explicit destroy_message(const address<T>& to)
      : work_item(&run, &drop, &info.trace_name), m_at(to) {}

  static void deliver_to(work_item& m, local_elements& here, T&) noexcept {
    auto& self = static_cast<destroy_message&>(m);
    or_end_run(*here.home, [&] { self.m_at.array().destroy_tracked(here, self.m_at.to); });
    delete &self;
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<destroy_message&>(m);
    self.m_at.miss(self, info, self.m_at);
  }

 private:
  static constexpr entry_info info{"destroy", {"", "destroy"}};
  static void drop(void* item) noexcept { delete static_cast<destroy_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<destroy_message*>(item);
    if (self->m_at.find() == nullptr) [[unlikely]]
      return self->m_at.not_there(*self);
    or_end_run(*self->m_at.local->home,
               [self] { self->m_at.array().destroy(*self->m_at.local, self->m_at.to); });
    delete self;
  }

  address<T> m_at;
};

/// All elements of a worker that exist when a message is processed. Elements are made and deleted
/// by messages only, so the set does not change meanwhile.
struct all_elements {
  [[nodiscard]] static std::uint8_t id() noexcept { return 0; }
  [[nodiscard]] static all_elements load(array_base&, input_archive& ar) {
    if (ar.read<std::uint8_t>() != id()) ar.refuse("all elements", "some are meant");
    return {};
  }
  template <class Job>
  [[nodiscard]] static auto ranks_beside(const Job& j) noexcept {
    return j.other_ranks();
  }
  /// Visits with null the elements of the worker's placement that have migrated.
  template <class T, class Visitor>
  void for_each(local_elements& local, Visitor visit) const {
    auto& array = array_of<T>::of(local);
    for (chare_core* c : local.elements)
      visit(array.key_of(static_cast<T&>(*c)), &static_cast<T&>(*c));
    if (!local.has_tracked()) [[likely]]
      return;
    for (const auto& k : array.tracked_with_home(local)) visit(k, static_cast<T*>(nullptr));
  }
  static constexpr bool drops_if_missing = true;
};

/// A message to the elements of one worker that `Targets` enumerates.
template <auto Entry, class T, class Targets = all_elements>
class broadcast_message final : public work_item, public pooled<block_kind::state> {
 public:
  using arguments = typename method<decltype(Entry)>::arguments;
  using key = typename array_of<T>::key;

  /// `numbers`: of the sender's sequences to elements of this worker's placement.
  broadcast_message(local_elements& local, shared_value<arguments> args, Targets to = {},
                    std::unique_ptr<sequence_numbers<key>> numbers = nullptr)
      : work_item(&run, &drop, &info_of<Entry>.trace_name), m_local(local), m_args(std::move(args)),
        m_targets(std::move(to)), m_numbers(std::move(numbers)) {}

 private:
  static void drop(void* item) noexcept { delete static_cast<broadcast_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<broadcast_message*>(item);
    const bool is_closed = self->m_local.array->is_closed();
    if (!self->m_local.is_made && !is_closed) return self->m_local.early.push(self->queued());
    self->m_targets.template for_each<T>(self->m_local, [self](const key& k, T* target) {
      self->give_to({&self->m_local, k}, target);
    });
    delete self;
  }

  /// Sends to one element. Without a target, handles the message as one to an element that may
  /// still be inserted.
  void give_to(const address<T>& to, T* target) noexcept {
    if (m_local.array->is_closed()) return;
    try {
      if (target == nullptr && to.is_tracked()) [[unlikely]]
        return give_to_tracked(to);
      if constexpr (is_awaited<Entry>) {
        perform(*new mail_message<Entry, T>(whole_arguments(), to, m_args->value));
      } else if (is_task<entry_result<Entry>> || target == nullptr) {
        perform(*new entry_message<Entry, T>(whole_arguments(), to, no_reply(), m_args->value));
      } else if constexpr (!is_task<entry_result<Entry>>) {
        static_cast<void>(call_entry<Entry>(*target, m_args->value, argument_indices<Entry>()));
      }
    } catch (...) {
      to.fail(info_of<Entry>, std::current_exception());
    }
  }

  [[gnu::noinline]] void give_to_tracked(const address<T>& to) {
    using message =
        std::conditional_t<is_awaited<Entry>, mail_message<Entry, T>, entry_message<Entry, T>>;
    message* m;
    if constexpr (is_awaited<Entry>)
      m = new message(whole_arguments(), to, m_args->value);
    else
      m = new message(whole_arguments(), to, no_reply(), m_args->value);
    pass_on_from_home(to, *m, queued().priority, m_numbers.get(), Targets::drops_if_missing);
  }

  local_elements& m_local;
  shared_value<arguments> m_args;
  [[no_unique_address]] Targets m_targets;
  std::unique_ptr<sequence_numbers<key>> m_numbers;
};

}  // namespace starling::detail
