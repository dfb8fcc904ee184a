// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <starling/core/executor.hpp>
#include <starling/core/when.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/array_of.hpp>
#include <starling/objects/proxy.hpp>
#include <starling/objects/reduction.hpp>
#include <starling/objects/section.hpp>
#include <starling/objects/when.hpp>

namespace starling {

/// Base of message-driven objects: `struct block : starling::chare<block, index3> { … };`
///
/// A chare lives on one worker and does one thing at a time: an entry method runs until it returns
/// or, if it is a coroutine, until it awaits something; then others of the same chare may run.
/// Whatever a coroutine awaits (streams, futures, other chares' answers), it goes on there.
/// Messages of one sender and priority arrive in the order sent. `create_array` and its sisters
/// make chares; what is declared here is for the chare's own methods. Destructors run on the
/// chare's worker, or on the thread that ends the runtime: they must not send.
template <class T, class Index = int>
class chare : public detail::chare_core {
 public:
  using index_type = Index;
  using chare_type = chare;

 protected:
  /// `defined_at` is what errors of entry methods name.
  chare(const detail::source_mark& defined_at = {}) : chare(announced(), defined_at) {}
  ~chare() = default;

  [[nodiscard]] const Index& this_index() const noexcept { return m_index; }
  [[nodiscard]] chare_array<T> this_array() noexcept { return chare_array<T>(array()); }
  [[nodiscard]] element<T> this_element() { return this_array()[m_index]; }

  /// Awaiting it takes the oldest message to `Entry`, which is declared `awaited`, and yields its
  /// arguments; see message_wait_of. Messages wait for as long as need be. Coroutines that want the
  /// same message get it in the order in which they asked.
  template <auto Entry>
  [[nodiscard]] auto when() noexcept {
    using request = detail::message_request<T, Entry, false>;
    return message_wait_of<true, T, request>(request{self(), 0});
  }
  /// The oldest one whose first argument, a number, is `reference`; yields the others.
  template <auto Entry>
  [[nodiscard]] auto when(std::int64_t reference) noexcept {
    using request = detail::message_request<T, Entry, true>;
    return message_wait_of<true, T, request>(request{self(), reference});
  }

  /// Starts a task of this chare beside its entry methods, on the same worker. A chare that is
  /// destroyed stays until it has ended.
  template <class R>
  future<R> spawn(task<R> t) {
    return executor(*native().part->home, true, priority::normal)
        .spawn(beside(stay(), std::move(t)));
  }

  /// Structured Dagger's `overlap`: starts the tasks, which take turns on this chare wherever they
  /// await something. Awaiting it takes until all have ended and yields a tuple of their results
  /// (std::monostate for void); the first error is thrown then.
  template <class... R>
  [[nodiscard]] auto overlap(task<R>... parts) {
    return when_all(spawn(std::move(parts))...);
  }

  /// Adds this chare's part to the next reduction of its array: every element takes part in all of
  /// them, in the same order; one that was inserted, from the first one on to which no element of
  /// its worker had contributed by then. `to` is told the result; all elements name the same one.
  /// @throws operation_cancelled when the chare is being destroyed
  template <class V, class Op>
  void contribute(V value, const Op& op, const callback<V>& to) {
    require_member();
    native().part->reductions->contribute(native().reductions++, std::move(value), op,
                                          [&to] { return to; });
  }
  /// The same over a section to which this element belongs. @throws usage_error if it does not
  template <class V, class Op>
  void contribute(const section<T>& over, V value, const Op& op, const callback<V>& to) {
    require_member();
    site_of(over).contribute(next_of(over)++, std::move(value), op, [&to] { return to; });
  }
  /// The same, awaited: yields the result to every element.
  template <class V, class Op>
  [[nodiscard]] auto reduce(V value, Op op) {
    require_member();
    return detail::reduce_awaiter<V, Op>(*native().part->reductions, native().reductions,
                                         std::move(value), std::move(op));
  }
  template <class V, class Op>
  [[nodiscard]] auto reduce(const section<T>& over, V value, Op op) {
    require_member();
    return detail::reduce_awaiter<V, Op>(site_of(over), next_of(over), std::move(value),
                                         std::move(op));
  }
  /// Awaiting it takes until all elements of the array have come to it.
  [[nodiscard]] auto barrier() { return reduce(detail::nothing(), detail::nothing()); }

 private:
  friend class detail::array_of<T>;
  struct leaving {
    void operator()(T* c) const noexcept { detail::array_of<T>::let_go(*c); }
  };
  /// As long as there is one, the chare is not deleted.
  using presence = std::unique_ptr<T, leaving>;
  [[nodiscard]] presence stay() noexcept {
    ++native().coroutines;
    return presence(&self());
  }
  /// Ends its stay before anyone learns of the result: the future may be a member of the chare.
  template <class R>
  static task<R> beside(presence given, task<R> t) {
    const auto until_the_end = std::move(given);
    task<R> body = std::move(t);
    co_return co_await std::move(body);
  }
  /// Nobody waits any more for what a coroutine gives that outlives its chare's membership, or the
  /// run.
  void require_member() {
    if (native().is_doomed || native().part->array->is_closed()) throw operation_cancelled();
  }
  chare(const birth& mine, const std::source_location& defined_at)
      : chare_core(mine, defined_at), m_index(*static_cast<const Index*>(mine.index)) {}
  [[nodiscard]] detail::reduction_site& site_of(const section<T>& s) noexcept {
    return s.native().reductions.site(native().part->index);
  }
  [[nodiscard]] std::uint32_t& next_of(const section<T>& s) {
    site_of(s).require_in_use();
    auto& members = s.native().parts[native().part->index].next_reduction;
    const auto mine = members.find(array().table().key_of(m_index));
    if (mine == members.end())
      detail::throw_not_in_section(array().name_of(array().table().key_of(m_index)));
    return mine->second;
  }
  [[nodiscard]] T& self() noexcept { return static_cast<T&>(*this); }
  [[nodiscard]] detail::array_of<T>& array() noexcept {
    return detail::array_of<T>::of(*native().part);
  }

  Index m_index;
};

}  // namespace starling
