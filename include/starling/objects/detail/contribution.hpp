// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <starling/objects/section.hpp>

/// Contributions of chares to reductions.
namespace starling::detail {

inline constexpr entry_info contribution_info{"contribute"};

/// The reduction to which a chare contributes next.
struct next_reduction {
  chare_core& contributor;
  reduction_tree& tree;
  reduction_site* site;  // of the contributor's home; null: the home is on another rank
  std::uint32_t& count;  // of the contributor's contributions
  // In the section on the home: contributions before the chare was tracked. Null for an array.
  const std::uint32_t* base = nullptr;

  [[nodiscard]] bool is_remote() const noexcept {
    return contributor.element_state().tracked != nullptr;
  }
};

/// Returns the callback that sends the result of a reduction to the waiting contributors.
template <class V>
[[nodiscard]] starling::callback<V> to_waiters(reduction_tree& tree, std::uint32_t sequence) {
  return starling::callback<V>(counted_ptr(new to_everyone<V>(tree, sequence)));
}

/// A contribution of a tracked chare. Without `to` its coroutine waits for the result.
template <class V, class Op>
struct tracked_contribution {
  std::uint32_t number;  // of the chare's contributions; to a section, since it is tracked
  V value;
  Op op;
  std::optional<starling::callback<V>> to;

  /// On the chare's home. `base`: the reduction of contribution number 0. @throws archive_error for
  /// a number that the chare cannot have
  void add(reduction_site& site, std::uint32_t base, std::unique_ptr<remote_waiter> waiter) {
    const std::uint32_t sequence = base + number;
    site.require_awaited(sequence);
    site.contribute(sequence, std::move(value), op,
                    [&] { return to ? *to : to_waiters<V>(site.tree(), sequence); });
    if (waiter != nullptr) site.enlist(sequence, std::move(waiter));
  }
};

/// Handler of a contribution of a chare whose home is here and which is on another rank.
template <class T, class V, class Op>
struct remote_contribution {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const address<T> from = read_address<T>(a, ar);
    const auto id = ar.read<object_id>();
    const auto number = ar.read<std::uint32_t>();
    auto value = ar.read<V>();
    auto op = load_function<Op>(ar);
    auto to = ar.read<std::optional<starling::callback<V>>>();
    require_end(ar);
    a.require(from.is_tracked(), "a contribution of an element that has not migrated");
    std::uint32_t base = 0;
    if (id != from.array().id()) {
      auto& members = section_of<T>(a.space(), id)->by_worker[a.worker_index()].next_reduction;
      const auto member = members.find(from.to);
      if (member == members.end()) {
        const usage_error error = not_in_section(from.array().name_of(from.to));
        return from.fail(contribution_info, std::make_exception_ptr(error));
      }
      base = member->second;
    }
    const auto tree = a.space().reductions(id);
    a.require(tree != nullptr, "a contribution to a section that is destroyed");
    std::unique_ptr<remote_waiter> waiter;
    if (!to) waiter = std::make_unique<tracked_waiter<T>>(from, id, number);
    tracked_contribution<V, Op>{number, std::move(value), std::move(op), std::move(to)}.add(
        tree->site(a.worker_index()), base, std::move(waiter));
  }
};

/// Contributes for a tracked chare, by a message to its home.
template <class T, class V, class Op>
[[gnu::noinline]] void contribute_remotely(const next_reduction& next, V value, const Op& op,
                                           std::optional<starling::callback<V>> to) {
  tracked_contribution<V, Op> mine{next.count, std::move(value), op, std::move(to)};
  auto& c = static_cast<T&>(next.contributor);
  auto& array = array_of<T>::of(*c.element_state().local);
  if (next.site != nullptr) {
    std::unique_ptr<remote_waiter> waiter;
    if (!mine.to) waiter = array.waiter_of(c, next.tree, mine.number);
    send_call(
        next.site->home(),
        [&site = *next.site, whole = next.tree.whole(), base = next.base, mine = std::move(mine),
         waiter = std::move(waiter)]() mutable {
          mine.add(site, base == nullptr ? 0 : *base, std::move(waiter));
        },
        priority::normal);
  } else if constexpr (migrates_between_ranks<T> && travels<V> && function_travels<Op>) {
    job& j = *array.space().current_job();
    const auto [rank, worker] = j.location_of(c.element_state().tracked->home);
    j.send(rank, make_remote_for<remote_contribution<T, V, Op>>(
                     j, {worker, priority::normal}, array.id(), array.key_of(c), next.tree.id(),
                     mine.number, mine.value, sent_function<Op>{mine.op}, mine.to));
  } else {
    refuse_to_travel<V, Op>("a reduction");
  }
  ++next.count;  // the contribution is sent
}

/// Awaiter that contributes a value and waits for the result.
template <class T, class V, class Op>
class reduce_awaiter {
 public:
  reduce_awaiter(const next_reduction& next, V value, Op op)
      : m_next(next), m_value(std::move(value)), m_op(std::move(op)) {}

  bool await_ready() const noexcept { return false; }
  template <runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const call_location& at = {}) {
    chare_core& contributor = m_next.contributor;
    m_wait.describe = &describe;
    m_wait.tree = &m_next.tree;
    m_wait.contributor = &contributor;
    m_wait.waiting = &h.promise();
    m_wait.sequence = m_next.count;
    m_wait.result.type = &typeid(V);
    mark_suspended(h.promise(), m_wait, at);
    try {
      contribute();
    } catch (...) {
      forget_wait(h.promise());
      throw;
    }
    contributor.note_wait();
  }
  V await_resume() {
    if (m_wait.result.error) std::rethrow_exception(m_wait.result.error);
    const counted* const value = m_wait.result.value.object();
    if (value == nullptr) throw_interrupted();
    return static_cast<const counted_value<V>*>(value)->value;
  }

 private:
  /// Enlists the wait before the result, which arrives by a later message.
  void contribute() {
    if (m_next.is_remote()) [[unlikely]] {
      m_wait.whole = m_next.tree.whole();
      contribute_remotely<T, V>(m_next, std::move(m_value), m_op, std::nullopt);
      return m_next.contributor.element_state().waits.enlist(m_wait);
    }
    m_next.site->contribute(m_next.count++, std::move(m_value), m_op,
                            [this] { return to_waiters<V>(m_next.tree, m_wait.sequence); });
    m_next.site->waits().enlist(m_wait);
  }
  static std::string describe(const described_wait& w) {
    const auto& wait = static_cast<const reduction_wait&>(w);
    return wait.tree->name() + ": reduction " + std::to_string(wait.sequence);
  }
  next_reduction m_next;
  V m_value;
  Op m_op;
  reduction_wait m_wait;
};

}  // namespace starling::detail
