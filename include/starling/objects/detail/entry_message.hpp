// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/core/detail/error_text.hpp>
#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/future.hpp>
#include <starling/objects/detail/array_of.hpp>

/// Messages: the arguments of an entry method on their way to a chare.
namespace starling::detail {

template <auto Entry>
using entry_result = typename method<decltype(Entry)>::result;

template <auto Entry>
concept is_awaited = std::same_as<entry_result<Entry>, awaited>;

/// The element to which a message is sent.
template <class T>
struct address {
  using key = typename array_of<T>::key;
  local_elements* local;
  key to;

  [[nodiscard]] array_of<T>& array() const noexcept { return array_of<T>::of(*local); }
  [[nodiscard]] T* find() const { return array().find(*local, to); }
  /// Returns the element that receives a message; null if the element does not exist or the run has
  /// ended.
  [[nodiscard]] T* receiver() const { return local->array->is_closed() ? nullptr : find(); }
  /// Reports an error of an entry method that no waiter receives.
  void fail(const entry_info& entry, const std::exception_ptr& cause,
            const std::source_location& awaited_last = {}) const noexcept {
    or_end_run(*local->home,
               [&] { local->array->fail(array().name_of(to), entry, cause, awaited_last); });
  }
  [[nodiscard]] std::exception_ptr missing(const entry_info& entry) const {
    return array_base::missing(array().name_of(to), entry);
  }
  /// Keeps a message whose element does not exist yet. Returns false when the element will not be
  /// made.
  [[nodiscard]] bool keep_for_later(work_item& m) const noexcept {
    if (local->array->is_closed() || !local->may_get_elements()) return false;
    if (!local->is_made) {
      local->early.push(m.queued());
      return true;
    }
    try {
      array().keep_early(*local, to, m);
    } catch (...) {
      m.discard();
      end_run(*local->home, std::current_exception());
    }
    return true;
  }
  /// Handles a message without a receiver: keeps it if the element may still be inserted, else
  /// reports the error by `by.fail` and discards the message.
  template <class By>
  void not_there(work_item& m, const entry_info& entry, By& by) const noexcept {
    if (keep_for_later(m)) return;
    if (!local->array->is_closed()) by.fail(entry, missing(entry));
    m.discard();
  }
};

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

 private:
  static entry_message& of(void* item) noexcept {
    return *static_cast<entry_message*>(static_cast<work_item*>(item));
  }
  static void drop(void* item) noexcept { delete &of(item); }
  static void run(void* item) noexcept {
    entry_message& self = of(item);
    T* const target = self.m_address.receiver();
    if (target == nullptr) [[unlikely]]
      return self.m_address.not_there(self, info_of<Entry>, self);
    std::exception_ptr error;
    if constexpr (is_task<entry_result<Entry>>) {
      decltype(self.call(*target).release()) frame;
      try {
        frame = self.call(*target).release();
      } catch (...) {  // out of memory, or thrown by a function that is no coroutine
        error = std::current_exception();
      }
      if (!error) return self.start(*target, frame.promise(), info_of<Entry>);
    } else {
      try {
        self.answer_with([&]() -> decltype(auto) { return self.call(*target); });
      } catch (...) {
        error = std::current_exception();
      }
    }
    if (error) self.fail(info_of<Entry>, std::move(error));
    delete &self;
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

 private:
  static mail_message& of(void* item) noexcept {
    return *static_cast<mail_message*>(static_cast<work_item*>(item));
  }
  static void drop(void* item) noexcept { delete &of(item); }
  static void run(void* item) noexcept {
    mail_message& self = of(item);
    T* const target = self.m_address.receiver();
    if (target == nullptr) [[unlikely]]
      return self.m_address.not_there(self, info_of<Entry>, self.m_address);
    if (promise_base* waiting = target->element_state().mail.deliver(self)) resume_here(*waiting);
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

 private:
  static constexpr entry_info info{"destroy", {"", "destroy"}};
  static void drop(void* item) noexcept { delete static_cast<destroy_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<destroy_message*>(item);
    if (self->m_at.find() == nullptr && self->m_at.keep_for_later(*self)) return;
    or_end_run(*self->m_at.local->home, [self] {
      const address<T>& at = self->m_at;
      if (!at.array().destroy(*at.local, at.to)) at.fail(info, at.missing(info));
    });
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
  template <class T, class Visitor>
  void for_each(local_elements& local, Visitor visit) const {
    for (chare_core* c : local.elements)
      visit(array_of<T>::of(local).key_of(static_cast<T&>(*c)), &static_cast<T&>(*c));
  }
};

/// A message to the elements of one worker that `Targets` enumerates.
template <auto Entry, class T, class Targets = all_elements>
class broadcast_message final : public work_item, public pooled<block_kind::state> {
 public:
  using arguments = typename method<decltype(Entry)>::arguments;
  using key = typename array_of<T>::key;

  broadcast_message(local_elements& local, shared_value<arguments> args, Targets to = {})
      : work_item(&run, &drop, &info_of<Entry>.trace_name), m_local(local), m_args(std::move(args)),
        m_targets(std::move(to)) {}

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

  local_elements& m_local;
  shared_value<arguments> m_args;
  [[no_unique_address]] Targets m_targets;
};

}  // namespace starling::detail
