// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <starling/core/executor.hpp>
#include <starling/core/when_all.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/array_of.hpp>
#include <starling/objects/proxy.hpp>
#include <starling/objects/reduction.hpp>
#include <starling/objects/section.hpp>
#include <starling/objects/when.hpp>

namespace starling {

/// Base of message-driven objects: `struct block : starling::chare<block, index3> { … };`
///
/// A chare belongs to one worker and runs one entry method at a time: until it returns or, if it is
/// a coroutine, until it awaits something; then other entry methods of the chare may run. After any
/// wait (for streams, futures, replies of chares) a coroutine resumes on the chare's worker.
/// Messages of one sender and priority arrive in the order sent. The functions of create.hpp make
/// chares; the protected members are for the chare's own methods. Destructors run on the chare's
/// worker, or on the thread that ends the runtime: they must not send.
template <class T, class Index = int>
class chare : public detail::chare_core {
 public:
  using index_type = Index;
  using chare_type = chare;

 protected:
  /// `defined_at`: the source position that errors of entry methods name.
  chare(const detail::call_location& defined_at = {}) : chare(announced(), defined_at) {}
  ~chare() = default;

  [[nodiscard]] const Index& this_index() const noexcept { return m_index; }
  [[nodiscard]] chare_array<T> this_array() noexcept { return chare_array<T>(array()); }
  [[nodiscard]] element<T> this_element() { return this_array()[m_index]; }

  /// Returns an awaitable that takes the oldest message to `Entry`, which is declared `awaited`,
  /// and yields its arguments; see message_wait_of. Messages are kept until they are awaited.
  /// Coroutines that await the same method receive its messages in the order of their waits.
  template <auto Entry>
  [[nodiscard]] auto when() noexcept {
    using request = detail::message_request<T, Entry, false>;
    return message_wait_of<true, T, request>(request{self(), 0});
  }
  /// As above, for the oldest message whose first argument, a number, equals `reference`; yields
  /// the remaining arguments.
  template <auto Entry>
  [[nodiscard]] auto when(std::int64_t reference) noexcept {
    using request = detail::message_request<T, Entry, true>;
    return message_wait_of<true, T, request>(request{self(), reference});
  }

  /// Starts a task on this chare's worker, interleaved with its entry methods. A destroyed chare is
  /// deleted after the task has ended.
  template <class R>
  future<R> spawn(task<R> t) {
    return executor(*element_state().local->home, true, priority::normal)
        .spawn(beside(stay(), std::move(t)));
  }

  /// Starts the tasks, which interleave wherever they await something, as `overlap` of Structured
  /// Dagger. The awaitable completes when all have ended, then throws the first error or yields a
  /// tuple of the results (std::monostate for void).
  template <class... R>
  [[nodiscard]] auto overlap(task<R>... parts) {
    return when_all(spawn(std::move(parts))...);
  }

  /// Contributes to the next reduction of the array, whose result is sent to `to`. Every element
  /// contributes to all reductions, in the same order and with the same `to`; an inserted element,
  /// from the first one on to which no element of its worker had contributed at the insertion.
  /// @throws operation_cancelled when the chare is being destroyed or the run has ended
  template <class V, class Op>
  void contribute(V value, const Op& op, const callback<V>& to) {
    require_member();
    element_state().local->reductions->contribute(element_state().reductions++, std::move(value),
                                                  op, [&to] { return to; });
  }
  /// As above, over a section. @throws usage_error also if this element is not in the section
  template <class V, class Op>
  void contribute(const section<T>& over, V value, const Op& op, const callback<V>& to) {
    require_member();
    site_of(over).contribute(next_of(over)++, std::move(value), op, [&to] { return to; });
  }
  /// Contributes and returns an awaitable that yields the result, to every element.
  template <class V, class Op>
  [[nodiscard]] auto reduce(V value, Op op) {
    require_member();
    return detail::reduce_awaiter<V, Op>(*element_state().local->reductions,
                                         element_state().reductions, std::move(value),
                                         std::move(op));
  }
  template <class V, class Op>
  [[nodiscard]] auto reduce(const section<T>& over, V value, Op op) {
    require_member();
    return detail::reduce_awaiter<V, Op>(site_of(over), next_of(over), std::move(value),
                                         std::move(op));
  }
  /// Returns an awaitable that completes when all elements of the array have awaited it.
  [[nodiscard]] auto barrier() { return reduce(detail::nothing(), detail::nothing()); }

 private:
  friend class detail::array_of<T>;
  struct leaving {
    void operator()(T* c) const noexcept { detail::array_of<T>::let_go(*c); }
  };
  /// Keeps the chare from being deleted while this object exists.
  using presence = std::unique_ptr<T, leaving>;
  [[nodiscard]] presence stay() noexcept {
    ++element_state().coroutines;
    return presence(&self());
  }
  /// Runs `t`; releases `given` before the result is published, as the future may be a member of
  /// the chare.
  template <class R>
  static task<R> beside(presence given, task<R> t) {
    const auto until_the_end = std::move(given);
    task<R> body = std::move(t);
    co_return co_await std::move(body);
  }
  /// @throws operation_cancelled when the chare is being destroyed or the run has ended: its
  /// coroutines may still run, but no reduction counts their contributions
  void require_member() {
    if (element_state().is_doomed || element_state().local->array->is_closed())
      throw operation_cancelled();
  }
  chare(const birth& mine, const std::source_location& defined_at)
      : chare_core(mine, defined_at), m_index(*static_cast<const Index*>(mine.index)) {}
  [[nodiscard]] detail::reduction_site& site_of(const section<T>& s) noexcept {
    return s.state().reductions.site(element_state().local->index);
  }
  [[nodiscard]] std::uint32_t& next_of(const section<T>& s) {
    site_of(s).require_in_use();
    auto& members = s.state().by_worker[element_state().local->index].next_reduction;
    const auto mine = members.find(array().table().key_of(m_index));
    if (mine == members.end())
      detail::throw_not_in_section(array().name_of(array().table().key_of(m_index)));
    return mine->second;
  }
  [[nodiscard]] T& self() noexcept { return static_cast<T&>(*this); }
  [[nodiscard]] detail::array_of<T>& array() noexcept {
    return detail::array_of<T>::of(*element_state().local);
  }

  Index m_index;
};

}  // namespace starling
