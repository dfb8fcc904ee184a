// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <starling/core/executor.hpp>
#include <starling/core/when_all.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/balancing.hpp>
#include <starling/objects/detail/checkpoint_point.hpp>
#include <starling/objects/detail/contribution.hpp>
#include <starling/objects/detail/migration_point.hpp>
#include <starling/objects/proxy.hpp>
#include <starling/objects/ranks.hpp>
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
        .spawn(beside(*this, stay(), std::move(t)));
  }

  /// Starts the tasks, which interleave wherever they await something, as `overlap` of Structured
  /// Dagger. The awaitable completes when all have ended, then throws the first error or yields a
  /// tuple of the results (std::monostate for void).
  template <class... R>
  [[nodiscard]] auto overlap(task<R>... parts) {
    return when_all(spawn(std::move(parts))...);
  }

  /// Moves this element to worker `to`, counted over all ranks. It departs when the calling entry
  /// method has returned and each coroutine of the element has ended or waits in `when`, `reduce`
  /// or `barrier`; other waits and tasks of `spawn` delay the departure, and before the first
  /// migration so does a `reduce` over a section. A later call replaces an earlier one. Messages to
  /// the element keep their order: those of one sending thread and priority arrive as sent. Public
  /// members `void before_migration()` and `void after_migration()` are called on the old and the
  /// new worker. An element that has migrated contributes to reductions by messages to its first
  /// worker, and costs its senders a table lookup for each message. `before_migration` may call
  /// `migrate_to`: its destination replaces the one for which it was called, and the element stays
  /// if that is its worker; it is a usage_error if the element cannot depart to the new one.
  /// To migrate to another rank, T needs a public `template <class A> void serialize(A&)` and a
  /// constructor T(migrated) or T(). The element then departs when all its coroutines have ended;
  /// on the other rank a new object is constructed, and its `serialize` reads the state. If that
  /// names an array, a section or read-only data which do not exist there yet, the object is
  /// destroyed, and another one is constructed and read when they do.
  /// @throws usage_error when there is no such worker, or T cannot migrate to that rank
  void migrate_to(std::size_t to) {
    element_state().departs_to = detail::require_destination(*this, to);
    element_state().cause = detail::departure_cause::request;
    array().request_departure(*this);
  }
  /// As above, to the worker of rank `to` with the same number within its rank, modulo the number
  /// of its workers. @throws usage_error also when there is no such rank
  void migrate_to(rank to) { migrate_to(detail::worker_of_rank(*this, to)); }
  /// Returns an awaitable that completes at once, unless `migrate_to` has been called: then the
  /// element migrates here if it can. On another worker of the rank the coroutine continues. On
  /// another rank it does not: it is destroyed, and the entry method `resumed()` of T is called.
  /// The element can migrate to another rank if T has that method and the calling coroutine is the
  /// only one of the element and has no caller.
  /// @throws operation_cancelled when the chare is being destroyed
  [[nodiscard]] auto migration_point() { return detail::point_awaiter(*this); }

  /// Returns the awaitable of a collective balancing, to which each element of the array comes, as
  /// to a barrier. The array's balancer gets the loads that were measured since the last one, and
  /// the elements that it selects migrate as at `migration_point`. Measurement begins at the first
  /// call, unless `measure_loads` has begun it. Most calls complete at once if balancing is not
  /// due: see `chare_array::balance_by`, `--starling-balancer`, `--starling-balance-every`. If
  /// `migrate_to` has been called, such a call is a `migration_point`.
  /// @throws operation_cancelled when the chare is being destroyed or the run has ended
  [[nodiscard]] auto load_balance() { return detail::balance_awaiter<T>(next_reduction()); }

  /// Returns the awaitable of a checkpoint that the elements of an array of starling::checkpoints
  /// take together: each element comes to it, as to a barrier. When they have come and all ranks
  /// are quiescent otherwise, the states of all arrays are copied, and the elements continue while
  /// the files are written. A restart makes the elements anew and calls the entry method
  /// `resumed()` of T, because coroutines are not stored: the calling coroutine must be the only
  /// one of the element and have no caller. Elements of other arrays have no coroutine then. An
  /// error of a file is printed, and the program continues. A task that awaits quiescence() waits
  /// for the files of the last checkpoint, too. `step`: see checkpoints::step. If a stop is
  /// requested (see starling::checkpoints), the elements wait for the files, and the run ends.
  /// @throws operation_cancelled when the chare is being destroyed or the run has ended
  [[nodiscard]] auto checkpoint(std::uint64_t step) {
    return detail::checkpoint_awaiter<T>(next_reduction(), step, detail::checkpoint_rule::always);
  }
  /// As checkpoint(), but only if a stop is requested; otherwise the elements continue after they
  /// have all come to the call, without a checkpoint. Rank 0 decides for all elements. For programs
  /// whose checkpoints are far apart: costs a barrier of the array. All elements make the same
  /// call.
  [[nodiscard]] auto checkpoint_if_requested(std::uint64_t step) {
    return detail::checkpoint_awaiter<T>(next_reduction(), step,
                                         detail::checkpoint_rule::if_requested);
  }

  /// Returns the number of the element's worker, counted over all ranks.
  [[nodiscard]] std::size_t this_worker() noexcept {
    return array().worker_number(*element_state().local->home);
  }

  /// Returns the load of this element since its measurement began or was last reset; zeros if loads
  /// are not measured: see chare_array::measure_loads.
  [[nodiscard]] load_measurement load_so_far() { return array().load_of(*this); }

  /// Contributes to the next reduction of the array, whose result is sent to `to`. Every element
  /// contributes to all reductions, in the same order and with the same `to`; an inserted element,
  /// from the first one on to which no element of its worker had contributed at the insertion.
  /// @throws operation_cancelled when the chare is being destroyed or the run has ended
  template <class V, class Op>
  void contribute(V value, const Op& op, const callback<V>& to) {
    require_member();
    auto& s = element_state();
    if (s.tracked != nullptr) [[unlikely]]
      return detail::contribute_remotely<T, V>(next_reduction(), std::move(value), op, to);
    s.local->reductions->contribute(s.reductions++, std::move(value), op, [&to] { return to; });
  }
  /// As above, over a section. @throws usage_error also if this element is not in the section.
  /// While it is on another rank than its home, nothing is thrown: the run ends with this error
  template <class V, class Op>
  void contribute(const section<T>& over, V value, const Op& op, const callback<V>& to) {
    const detail::next_reduction next = next_reduction(over);
    if (next.is_remote()) [[unlikely]]
      return detail::contribute_remotely<T, V>(next, std::move(value), op, to);
    next.site->contribute(next.count++, std::move(value), op, [&to] { return to; });
  }
  /// Contributes and returns an awaitable that yields the result, to every element.
  template <class V, class Op>
  [[nodiscard]] auto reduce(V value, Op op) {
    return detail::reduce_awaiter<T, V, Op>(next_reduction(), std::move(value), std::move(op));
  }
  template <class V, class Op>
  [[nodiscard]] auto reduce(const section<T>& over, V value, Op op) {
    return detail::reduce_awaiter<T, V, Op>(next_reduction(over), std::move(value), std::move(op));
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
  static task<R> beside(chare_core& self, presence given, task<R> t) {
    const auto until_the_end = std::move(given);
    co_await detail::belonging_to{&self};
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
  /// The worker of the placement, or the placeholder of its rank.
  [[nodiscard]] detail::local_elements& home() noexcept {
    auto& s = element_state();
    return s.tracked == nullptr ? *s.local : *array().locate_worker(s.tracked->home).local;
  }
  [[nodiscard]] detail::next_reduction next_reduction() {
    require_member();
    return {*this, array().reductions(), home().reductions, element_state().reductions};
  }
  [[nodiscard]] detail::next_reduction next_reduction(const section<T>& over) {
    require_member();
    detail::reduction_tree& tree = over.state().reductions;
    const auto& tracked = element_state().tracked;
    const detail::local_elements& at = home();
    if (at.home == nullptr)  // the home looks for the element in the section
      return {*this, tree, nullptr, tracked->section_contributions[tree.id()]};
    detail::reduction_site& site = tree.site(at.index);
    auto& members = over.state().by_worker[at.index].next_reduction;
    const auto mine = members.find(array().table().key_of(m_index));
    if (mine == members.end())
      throw detail::not_in_section(array().name_of(array().table().key_of(m_index)));
    if (tracked != nullptr)
      return {*this, tree, &site, tracked->section_contributions[tree.id()], &mine->second};
    site.require_in_use();
    return {*this, tree, &site, mine->second};
  }
  [[nodiscard]] T& self() noexcept { return static_cast<T&>(*this); }
  [[nodiscard]] detail::array_of<T>& array() noexcept {
    return detail::array_of<T>::of(*element_state().local);
  }

  Index m_index;
};

}  // namespace starling
