// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <starling/objects/detail/mail_message.hpp>

/// Messages to many elements.
namespace starling::detail {

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

/// A message without an effect, which uses a number.
template <class T>
class skip_message final : public work_item, public pooled<block_kind::state> {
 public:
  skip_message() : work_item(&drop, &drop, &name) {}
  static void deliver_to(work_item& m, local_elements&, T&) noexcept { m.discard(); }
  static void miss(work_item& m) noexcept { m.discard(); }
  static void write(work_item&, job&, const value_user& use) {
    use_values(use, number_of_maker<message_maker<T, skip_message>>);
  }
  static skip_message& make(const address<T>&, input_archive&) { return *new skip_message(); }

 private:
  static constexpr named_location name{"", "starling: a number that is not used"};
  static void drop(void* item) noexcept {
    delete static_cast<skip_message*>(static_cast<work_item*>(item));
  }
};

/// A message to the elements of one worker that `Targets` enumerates.
template <auto Entry, class T, class Targets = all_elements>
class broadcast_message final : public work_item, public pooled<block_kind::state> {
 public:
  using arguments = typename method<decltype(Entry)>::arguments;
  using key = typename array_of<T>::key;

  /// `numbers`: of the sender's sequences to elements of this worker's placement.
  [[gnu::always_inline]] broadcast_message(local_elements& local, shared_value<arguments> args,
                                           Targets to = {},
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
    if (self->m_numbers != nullptr) self->skip_others();
    delete self;
  }

  /// Sends to one element. Without a target, handles the message as one to an element that may
  /// still be inserted.
  void give_to(const address<T>& to, T* target) noexcept {
    m_local.array->is_ordinary() ? give(to, target) : give_specially(to, target);
  }
  [[gnu::cold, gnu::noinline]] void give_specially(const address<T>& to, T* target) noexcept {
    if (m_local.array->is_closed()) return;
    if (is_awaited<Entry> || is_task<entry_result<Entry>> || target == nullptr)
      return give(to, target);  // makes a message, which is measured
    const measured_delivery measured(m_local, *target);
    give(to, target);
  }
  [[gnu::always_inline]] void give(const address<T>& to, T* target) noexcept {
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
    auto& m = make_message<Entry>(to, m_args->value);
    ticket position{.priority = queued().priority};
    if (m_numbers != nullptr) position = m_numbers->take(to.to, position.priority);
    position.drops_if_missing = Targets::drops_if_missing;
    pass_on_from_home(to, m, position);
  }
  /// Uses the numbers for elements that are not among the targets, which a sender on another rank
  /// does not know.
  [[gnu::noinline]] void skip_others() noexcept {
    or_end_run(*m_local.home, [this] {
      while (!m_numbers->of.empty()) {
        const address<T> to{&m_local, m_numbers->of.begin()->first};
        const ticket position = m_numbers->take(to.to, queued().priority);
        if (to.is_tracked()) pass_on_from_home(to, *new skip_message<T>(), position);
      }
    });
  }

  local_elements& m_local;
  shared_value<arguments> m_args;
  [[no_unique_address]] Targets m_targets;
  std::unique_ptr<sequence_numbers<key>> m_numbers;
};

}  // namespace starling::detail
