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
#include <starling/objects/detail/entry_callback.hpp>
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

/// Whether all parts of a message can travel.
template <auto Entry, class T, class... More>
inline constexpr bool entry_travels =
    travels<typename address<T>::key>&& travels<typename method<decltype(Entry)>::arguments> &&
    (travels<More> && ...);

/// Throws usage_error that names the type that cannot travel.
template <auto Entry, class T, class... More>
[[noreturn]] void refuse_entry() {
  []<class... Args>(std::type_identity<std::tuple<Args...>>) {
    refuse_to_travel<typename address<T>::key, Args..., More...>(full_name<Entry>.data());
  }(std::type_identity<typename method<decltype(Entry)>::arguments>());
  __builtin_unreachable();
}

/// A message to an element of T, independent of its entry method. `Reply` receives the result or
/// the error; without one an error ends the run.
template <class T, class Reply>
class element_message : public work_item {
 public:
  [[gnu::always_inline]] element_message(function to_run, function to_drop, const entry_info& entry,
                                         const address<T>& to, Reply&& reply)
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

  /// Handles that the element does not exist.
  void miss_element(const entry_info& entry) noexcept {
    if constexpr (replies)
      m_address.miss(*this, entry, *this);
    else
      m_address.miss(*this, entry, m_address);
  }
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
class coroutine_message : public element_message<T, Reply>, entry_callback {
 public:
  using element_message<T, Reply>::element_message;

 protected:
  void start(T& target, task_promise<R>& p, const entry_info& entry) noexcept {
    p.home = this->m_address.local->home;
    p.pinned = true;
    p.priority = this->queued().priority;
    p.spawned = true;
    p.of_entry = true;
    p.has_caller = coroutine_message::replies;
    p.in_frame = true;
    m_running = &p;
    this->owner = &target;
    m_entry = &entry;
    ++target.element_state().coroutines;
    this->notify = &ended;
    // Succeeds, because the coroutine has not started.
    static_cast<void>(p.subscribe(static_cast<callback&>(*this)));
    resume_here(p);
  }

 private:
  static void ended(callback& c) noexcept {
    auto& self = static_cast<coroutine_message&>(static_cast<entry_callback&>(c));
    if (self.owner->element_state().has_left) [[unlikely]] {
      self.m_running->handle().destroy();  // suspended: the element continues on another rank
      return self.discard();
    }
    const std::source_location awaited_last = self.m_running->location.load();
    std::exception_ptr error;
    try {
      self.answer_with([&self]() -> R { return self.m_running->result.take(); });
    } catch (...) {
      error = std::current_exception();
    }
    self.m_running->destroy();  // the frame has held the error, too
    if (error) self.pass_on(std::move(error), awaited_last);
    array_of<T>::let_go(static_cast<T&>(*self.owner));
    self.discard();
  }
  void pass_on(std::exception_ptr error, const std::source_location& awaited_last) noexcept {
    if constexpr (!coroutine_message::replies) {
      // A hang_error is no error of this method: the run ends with the diagnosis itself.
      if (is_a<hang_error>(error)) return end_run(*this->m_address.local->home, std::move(error));
      if (is_a<runtime_ends>(error)) return;  // the usual end of periodic coroutines
      // The waits of a chare that is being destroyed end with operation_cancelled.
      if (this->owner->element_state().is_doomed && is_a<operation_cancelled>(error)) return;
    }
    this->fail(*m_entry, std::move(error), awaited_last);
  }

  task_promise<R>* m_running = nullptr;
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
  [[gnu::always_inline]] entry_message(const address<T>& to, Reply&& reply, Given&&... args)
      : base(&run, &drop, info_of<Entry>, to, std::move(reply)),
        m_args(std::forward<Given>(args)...) {}
  template <class Arguments>
  [[gnu::always_inline]] entry_message(whole_arguments, const address<T>& to, Reply&& reply,
                                       Arguments&& args)
      : base(&run, &drop, info_of<Entry>, to, std::move(reply)),
        m_args(std::forward<Arguments>(args)) {}

  static constexpr std::size_t argument_bytes = argument_bytes_of<Entry>;
  static constexpr auto without_element = if_missing::makes;
  [[gnu::cold]] static void deliver_to(work_item& m, local_elements& here, T& target) noexcept {
    auto& self = static_cast<entry_message&>(m);
    self.m_address.local = &here;
    const measured_delivery measured(here, target);
    self.deliver(target);
  }
  static void miss(work_item& m) noexcept {
    static_cast<entry_message&>(m).miss_element(info_of<Entry>);
  }
  /// See message_functions.
  static void write(work_item& m, job& j, const value_user& use) {
    auto& self = static_cast<entry_message&>(m);
    using result = unwrapped_t<entry_result<Entry>>;
    if constexpr (!entry_travels<Entry, T>) {
      refuse_entry<Entry, T>();
    } else if constexpr (!base::replies) {
      use_values(use, number_of_maker<message_maker<T, entry_message>>, self.m_args);
    } else if constexpr (!result_travels<result>) {
      refuse_entry<Entry, T, result>();
    } else {
      using remade = entry_message<Entry, T, remote_promise<result>>;
      with_address_of(j, self.m_reply, [&](const reply_address& to) {
        use_values(use, number_of_maker<message_maker<T, remade>>, to, self.m_args);
      });
    }
  }
  static void disown(work_item& m) noexcept requires is_remote_promise<Reply> {
    static_cast<void>(static_cast<entry_message&>(m).m_reply.release());
  }
  /// Reads these values.
  static entry_message& make(const address<T>& to, input_archive& ar) {
    if constexpr (base::replies) {
      const auto reply_to = read_reply_address(ar);
      auto args = ar.read<decltype(m_args)>();
      return *new entry_message(whole_arguments(), to,
                                Reply(*to.array().space().current_job(), reply_to),
                                std::move(args));
    } else {
      return *new entry_message(whole_arguments(), to, no_reply(), ar.read<decltype(m_args)>());
    }
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
      return self.m_address.not_there(self, functions_of<T, entry_message>);
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

template <class T>
void start_resumed(local_elements& here, const typename address<T>::key& k, T& element) {
  if constexpr (requires { element.resumed(); }) {
    using message = entry_message<&T::resumed, T>;
    auto* m = new message(whole_arguments(), {&here, k}, no_reply(), std::tuple<>());
    message::deliver_to(*m, here, element);
  }
}

/// A message that destroys one element.
template <class T>
class destroy_message final : public work_item, public pooled<block_kind::state> {
 public:
  explicit destroy_message(const address<T>& to)
      : work_item(&run, &drop, &info.trace_name), m_at(to) {}

  static constexpr bool is_last = true;
  static constexpr auto without_element = if_missing::waits;
  static void deliver_to(work_item& m, local_elements& here, T&) noexcept {
    auto& self = static_cast<destroy_message&>(m);
    or_end_run(*here.home, [&] { self.m_at.array().destroy_tracked(here, self.m_at.to); });
    delete &self;
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<destroy_message&>(m);
    self.m_at.miss(self, info, self.m_at, without_element);
  }
  static void write(work_item&, job&, const value_user& use) {
    use_values(use, number_of_maker<message_maker<T, destroy_message>>);
  }
  static destroy_message& make(const address<T>& to, input_archive&) {
    return *new destroy_message(to);
  }

 private:
  static constexpr entry_info info{"destroy", {"", "destroy"}};
  static void drop(void* item) noexcept { delete static_cast<destroy_message*>(item); }
  static void run(void* item) noexcept {
    auto* self = static_cast<destroy_message*>(item);
    if (self->m_at.find() == nullptr) [[unlikely]]
      return self->m_at.not_there(*self, functions_of<T, destroy_message>);
    or_end_run(*self->m_at.local->home,
               [self] { self->m_at.array().destroy(*self->m_at.local, self->m_at.to); });
    delete self;
  }

  address<T> m_at;
};

}  // namespace starling::detail
