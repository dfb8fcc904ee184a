// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <starling/objects/detail/entry_message.hpp>

/// Messages to entry methods that coroutines await.
namespace starling::detail {

/// A message to an entry method declared `awaited`, independent of the type of its target.
template <auto Entry>
class mail : public awaited_message {
 public:
  using arguments = typename method<decltype(Entry)>::arguments;

  template <class... Given>
  [[gnu::always_inline]] mail(work_item::function to_run, work_item::function to_drop,
                              const awaited_info& what, Given&&... given)
      : awaited_message(to_run, to_drop, what), args(std::forward<Given>(given)...) {
    if constexpr (has_reference<Entry>) reference = static_cast<std::int64_t>(std::get<0>(args));
  }
  arguments args;
};

template <auto Entry, class T>
[[nodiscard]] constexpr awaited_info make_awaited_info() noexcept;
template <auto Entry, class T>
inline constexpr awaited_info awaited_info_of = make_awaited_info<Entry, T>();

/// A `mail` in transit, with the Receipt that it holds until a coroutine has taken the message.
template <auto Entry, class T, class Receipt = no_receipt>
class mail_message final : public mail<Entry>, public pooled<block_kind::state> {
 public:
  template <class... Given>
  [[gnu::always_inline]] explicit mail_message(const address<T>& to, Given&&... given)
      : mail<Entry>(&run, &drop, awaited_info_of<Entry, T>, std::forward<Given>(given)...),
        m_address(to) {}
  template <class Arguments>
  [[gnu::always_inline]] mail_message(whole_arguments, const address<T>& to, Arguments&& given)
      : mail<Entry>(&run, &drop, awaited_info_of<Entry, T>, std::forward<Arguments>(given)),
        m_address(to) {}
  void keep(Receipt r) noexcept { m_receipt = std::move(r); }

  static constexpr std::size_t argument_bytes = argument_bytes_of<Entry>;
  static constexpr auto without_element = if_missing::makes;
  [[gnu::cold]] static void deliver_to(work_item& m, local_elements& here, T& target) noexcept {
    auto& self = static_cast<mail_message&>(m);
    self.m_address.local = &here;
    const measured_delivery measured(here, target);
    self.deliver(target);
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<mail_message&>(m);
    self.m_address.miss(self, info_of<Entry>, self.m_address);
  }
  static void write(work_item& m, job&, const value_user& use) {
    if constexpr (!entry_travels<Entry, T>)
      refuse_entry<Entry, T>();
    else
      use_values(use, number_of_maker<message_maker<T, mail_message<Entry, T>>>,
                 static_cast<mail_message&>(m).args);
  }
  static mail_message& make(const address<T>& to, input_archive& ar) {
    return *new mail_message(whole_arguments(), to, ar.read<typename mail<Entry>::arguments>());
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
      return self.m_address.not_there(self, functions_of<T, mail_message>);
    self.deliver(*target);
  }
  [[gnu::always_inline]] void deliver(T& target) noexcept {
    if (promise_base* waiting = target.element_state().mail.deliver(*this)) resume_here(*waiting);
  }

  address<T> m_address;
  [[no_unique_address]] Receipt m_receipt;
};

/// A message to `Entry` without a reply.
template <auto Entry, class T>
using message_to =
    std::conditional_t<is_awaited<Entry>, mail_message<Entry, T>, entry_message<Entry, T>>;
/// Makes one, with all arguments as one tuple.
template <auto Entry, class T, class Arguments>
[[nodiscard]] message_to<Entry, T>& make_message(const address<T>& to, Arguments&& args) {
  if constexpr (is_awaited<Entry>)
    return *new mail_message<Entry, T>(whole_arguments(), to, std::forward<Arguments>(args));
  else
    return *new entry_message<Entry, T>(whole_arguments(), to, no_reply(),
                                        std::forward<Arguments>(args));
}

/// Makes a message of a mailbox.
template <auto Entry, class T>
struct mail_maker {
  using result = T;
  static constexpr auto made = remote_function::kind::mail;
  static awaited_message& make(const address<T>& to, input_archive& ar) {
    return mail_message<Entry, T>::make(to, ar);
  }
};

template <auto Entry, class T>
constexpr awaited_info make_awaited_info() noexcept {
  if constexpr (migrates_between_ranks<T> && entry_travels<Entry, T>)
    return {info_of<Entry>, [] { return number_of_maker<mail_maker<Entry, T>>; },
            [](const awaited_message& m, output_archive& ar) {
              save_value(ar, static_cast<const mail<Entry>&>(m).args);
            }};
  else if constexpr (migrates_between_ranks<T>)
    return {info_of<Entry>, []() -> std::uint32_t { refuse_entry<Entry, T>(); }};
  else
    return {info_of<Entry>};
}

}  // namespace starling::detail
