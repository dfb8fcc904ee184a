// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <starling/resident/channel.hpp>
#include <starling/resident/chare.hpp>
#include <starling/resident/detail/channel_ends.hpp>
#include <starling/resident/detail/composer.hpp>
#include <starling/resident/detail/counters.hpp>
#include <starling/resident/detail/scheduler.hpp>
#include <starling/resident/entry.hpp>
#include <starling/resident/reduction.hpp>
#include <starling/resident/thread_group.hpp>

namespace starling::resident {

/// The argument of each entry method: its group of threads and access to the runtime.
///
/// All threads of the group run the entry method, and all must make the same calls with the same
/// arguments in the same order. Work of a single thread is put into `once`. No call waits for
/// messages: the continuation of a wait is another entry method. On the host a group is one thread
/// unless `options` request more.
/// Errors (an invalid index, no room for another message) end the program; the host's error names
/// the element.
template <class Group, class Program>
class context : public thread_group<Group> {
  using threads = thread_group<Group>;
  using scheduler = detail::scheduler<Group, Program>;
  using table = detail::entry_table<context, Program>;
  using group_type = Group;

 public:
  constexpr context(scheduler& by, Group& group, detail::element_state& self) noexcept
      : threads(group), m_scheduler(&by), m_self(&self) {}
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  using threads::once, threads::rank, threads::sync;

  // --- position
  [[nodiscard]] constexpr std::uint32_t scheduler_index() const noexcept {
    return m_scheduler->core.self();
  }
  [[nodiscard]] constexpr std::uint32_t scheduler_count() const noexcept {
    return m_scheduler->core.shared().l.all_schedulers();
  }
  /// Returns the array of the running element; the argument is `*this`.
  template <template <class> class Chare>
  [[nodiscard]] constexpr chare_array<Chare> array_of(const Chare<context>&) const noexcept {
    return {m_self->array, m_scheduler->core.array(m_self->array).count};
  }

  // --- messages
  /// Sends a message. Messages from one element to another run in the order in which they were sent
  /// as long as neither migrates; this includes messages that waited for `expect`. A span is copied
  /// and has at most `options::block_bytes` bytes; for more see `lend`. The message may arrive
  /// before this entry method ends; a full ring delays the message, not this call.
  template <template <class> class Chare, auto Method, class... Args>
  constexpr void invoke(element_ref<Chare> to, entry_name<Method> what, const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    compose(what).to_element(to, args...);
  }
  /// Sends a message to every element of the array, including the sender. A span must fit into the
  /// message (88 bytes with all arguments). All elements that do not migrate meanwhile run the
  /// broadcasts to an array in the same order.
  template <template <class> class Chare, auto Method, class... Args>
  constexpr void broadcast(chare_array<Chare> to, entry_name<Method> what, const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    compose(what).to_all(to, args...);
  }
  /// Sends a value to the host mailbox, for a host task that calls `system::receive`.
  template <class T>
  constexpr void send(host_mailbox<T> to, const std::type_identity_t<T>& value) {
    if (!is_leader()) return;
    auto& core = m_scheduler->core;
    detail::cell* const c = core.compose();
    detail::message& m = c->m;
    m.set(detail::message_kind::entry);
    m.target = to.number();
    m.bytes = sizeof(T);
    detail::write_at(m, 0, value);
    core.send(c, core.shared().l.all_schedulers());
  }
  /// Returns a span, for the last argument of `invoke`, that is read in place. The memory is from
  /// `allocate` and must not change until the receiver's entry method has ended; then `returned`, a
  /// counter of this element, counts one. Only this count shows it: the count is not ordered with
  /// messages, so an answer of the receiver, or of the host, may arrive before it. A device that
  /// does not map the memory copies it into the receiver's heap.
  template <class T>
  [[nodiscard]] constexpr detail::lent<T> lend(std::span<const T> data, counter& returned) const {
    return {data, &returned};
  }

  // --- waiting
  /// Runs the entry method for this element when the counter has counted `wanted` arrivals, and
  /// subtracts them; queues it at once if they have been counted. At most one call may be pending
  /// on a counter: the next is allowed from that entry method on; an earlier one ends the program.
  template <auto Method, class... Args>
  constexpr void when_counted(counter& of, std::uint32_t wanted, entry_name<Method>,
                              const Args&... args) {
    if (!is_leader()) return;
    auto& core = m_scheduler->core;
    detail::counter_state& c = of.state();
    detail::cell* const now = core.use_up(c, wanted);
    detail::message& m = now != nullptr ? now->m : c.then;
    detail::write_plain<table, Method>(m, m_self->array, m_self->slot, args...);
    m.set(detail::message_kind::entry);  // the counter replaces the reference number
    now != nullptr ? core.deliver(now, m.kind()) : detail::arm(*m_self, c, wanted);
  }
  /// Subtracts `wanted` arrivals if the counter has counted them; returns whether it did. With it
  /// an entry method continues directly instead of through `when_counted`; other messages wait
  /// longer. First counts data that has arrived on channels; if the scheduler has no other work,
  /// polls a few more times (some microseconds on a device). Ends the program if a `when_counted`
  /// is pending on the counter. A `sync`; all threads get the same result. `arrived` and `has_come`
  /// for the affected counters and channels need a `sync` between them and a following `take`.
  [[nodiscard]] constexpr bool take(counter& of, std::uint32_t wanted) {
    if (is_leader()) m_scheduler->took = m_scheduler->take(of.state(), wanted) ? 1 : 0;
    m_group->tell(m_scheduler->took);
    const bool has_taken = m_scheduler->took != 0;
    sync();  // all have read `took` before the next call writes it
    return has_taken;
  }
  /// Adds arrivals to a counter of this element.
  constexpr void arrive(counter& of, std::uint32_t how_many = 1) {
    if (is_leader()) m_scheduler->core.arrive(*m_self, of.state(), how_many);
  }
  /// Adds arrivals to a counter of any element, by the smallest message there is. Counts at once if
  /// the element is on this scheduler, so reading a counter of this element (`arrived`) afterwards
  /// requires a `sync` in between.
  template <template <class> class Chare>
  constexpr void signal(element_ref<Chare> to, counter Chare<context>::*of,
                        std::uint32_t how_many = 1) {
    if (!is_leader() || !is_there(to)) return;
    auto& core = m_scheduler->core;
    const auto there = core.locate(to.array(), to.index());
    const std::uint32_t counter = detail::offset_of(of);
    if (core.counts_at_once(there, to.array())) {
      auto& here = *core.object(to.array(), there.slot);
      return core.arrive(here.state(), detail::counter_at(here, counter), how_many);
    }
    core.send_arrival(there, to.array(), counter, how_many, m_scheduler->may_leave());
  }
  /// Sets the expected reference number, the first argument of entry methods in `referenced`. From
  /// now on messages with this number run and messages with higher numbers wait; a message with a
  /// lower number ends the program. Begins at 0 and must only increase.
  constexpr void expect(std::uint32_t number) {
    sync();  // all have read the previous number
    once([&] {
      m_self->expected = number;
      m_scheduler->behind |= scheduler::expects;
    });
  }

  // --- reductions: each element of the array contributes once to each reduction; the combined
  // value is sent to `to`. All elements contribute to an array's reductions in the same order, with
  // the same type, operation and target; a mismatch ends the program with an error that names both.
  template <class T, template <class> class Chare, auto Method>
  constexpr void contribute(const T& value, reduction::operation how, element_ref<Chare> to,
                            entry_name<Method>) {
    detail::require_fit<Chare<context>, Method, T>();
    if (is_leader() && is_there(to))
      contribute_to(value, how,
                    {0, to.index(), std::uint8_t(to.array()), detail::goal_kind::element},
                    table::template number<Method>());
  }
  template <class T, template <class> class Chare, auto Method>
  constexpr void contribute(const T& value, reduction::operation how, chare_array<Chare> to,
                            entry_name<Method>) {
    detail::require_fit<Chare<context>, Method, T>();
    if (is_leader() && is_array(to))
      contribute_to(value, how, {0, 0, std::uint8_t(to.number()), detail::goal_kind::broadcast},
                    table::template number<Method>());
  }
  template <class T>
  constexpr void contribute(const T& value, reduction::operation how, host_mailbox<T> to) {
    if (is_leader()) contribute_to(value, how, {0, to.number(), 0, detail::goal_kind::host}, 0);
  }
  /// A barrier: `Method` of all elements, or of one element, runs when each element has
  /// contributed.
  template <template <class> class Chare, auto Method>
  constexpr void contribute(chare_array<Chare> to, entry_name<Method>) {
    detail::require_fit<Chare<context>, Method>();
    if (is_leader() && is_array(to))
      contribute_nothing({0, 0, std::uint8_t(to.number()), detail::goal_kind::broadcast},
                         table::template number<Method>());
  }
  template <template <class> class Chare, auto Method>
  constexpr void contribute(element_ref<Chare> to, entry_name<Method>) {
    detail::require_fit<Chare<context>, Method>();
    if (is_leader() && is_there(to))
      contribute_nothing({0, to.index(), std::uint8_t(to.array()), detail::goal_kind::element},
                         table::template number<Method>());
  }

  // --- memory and channels
  /// Allocates `n` uninitialised elements in this device's memory, from the scheduler's heap
  /// (`options::heap_bytes`), until the program ends. If the heap is exhausted, returns an empty
  /// span and ends the program. A `sync`.
  template <class T>
  [[nodiscard]] constexpr std::span<T> allocate(std::uint32_t n) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 128);
    once_for_data([&] {
      m_scheduler->data = m_scheduler->core.memory.allocate(std::uint64_t(n) * sizeof(T));
    });
    std::byte* const at = m_scheduler->data;
    sync();  // all have read `data` before the next call writes it
    return {reinterpret_cast<T*>(at), at == nullptr ? 0u : n};
  }
  /// Opens a channel to this element, for at most `capacity` elements in a send. `to.*out` is its
  /// sending end. `arrivals`, a counter of this element, counts each send that arrives. `room`, a
  /// counter of the sending element, counts two when its end is open: the sends that may be made.
  template <class T, template <class> class Chare>
  constexpr void open(channel_in<T>& in, std::uint32_t capacity, counter& arrivals,
                      element_ref<Chare> to, channel_out<T> Chare<context>::*out,
                      counter Chare<context>::*room) {
    if (!is_leader() || !is_there(to)) return;
    m_scheduler->channels.open(*m_self, in.state(), std::uint64_t(capacity) * sizeof(T),
                               arrivals.state(), to.array(), to.index(),
                               {detail::offset_of(out), detail::offset_of(room)});
  }
  /// Copies `data` into the receiver's memory; the receiver is notified at the next `flush` or at
  /// the end of the entry method. At most two sends may be ahead of the receiver's releases; a
  /// third one, or more elements than the capacity, ends the program.
  template <class T>
  constexpr void send(channel_out<T>& to, std::span<const std::type_identity_t<T>> data) {
    auto& channels = m_scheduler->channels;
    once_for_data([&] { m_scheduler->data = channels.begin_send(to.state(), data.size_bytes()); });
    auto* const into = reinterpret_cast<T*>(m_scheduler->data);
    if (into != nullptr) detail::copy_by_all(*this, into, data);
    sync();  // all have copied
    if (!is_leader() || into == nullptr) return;
    channels.end_send(to.state(), std::uint32_t(data.size()), std::uint32_t(data.size_bytes()));
    m_scheduler->behind |= scheduler::tells;
  }
  /// As `send`, but without a copy if the receiver is on this device: it reads `data` in place. The
  /// memory is from `allocate` or part of an element, and must not change until the receiver has
  /// released it.
  template <class T>
  constexpr void lend(channel_out<T>& to, std::span<const std::type_identity_t<T>> data) {
    if (!to.is_beside() && is_leader()) ends().may_lend(data);
    if (!to.is_beside()) return send(to, data);
    sync();  // all have written `data`
    if (is_leader()) ends().lend(to, data);
  }
  /// Calls f(ends) on one thread, after a `sync`, to release and lend; then notifies the other
  /// ends. The remaining threads continue, and must not use these channels, their data or values
  /// written by f before a `sync`. f makes no call that all threads must make.
  template <class F>
  constexpr void tell(F&& f) {
    sync();
    if (is_leader()) f(ends());
    flush();
    Group::converge();  // a diverged warp would run the following code twice
  }
  /// Returns whether data is counted and not released; with `later` 1, of at least two sends.
  template <class T>
  [[nodiscard]] constexpr bool has_come(channel_in<T>& from, std::uint32_t later = 0) const {
    return from.state().seen - from.state().released > later;
  }
  /// Returns the oldest data that was counted and not released, or with `later` 1 the data of the
  /// next send. Valid only if `has_come` for the same `later`.
  template <class T>
  [[nodiscard]] constexpr std::span<const T> received(channel_in<T>& from,
                                                      std::uint32_t later = 0) const {
    auto& in = from.state();
    const std::uint32_t number = in.released + later;
    return {reinterpret_cast<const T*>(m_scheduler->channels.data(in, number)),
            in.counts[number % detail::channel_depth]};
  }
  /// Releases the oldest data, so that the sender may overwrite it. The sender sees the release
  /// after the next `flush` or the end of the entry method, but is not notified: for data that
  /// moves in both directions in turn, where received data shows the sender that it may send.
  template <class T>
  constexpr void release(channel_in<T>& from) {
    sync();  // all have read the data
    once([&] { ends().release(from); });
  }
  /// As `release`, and notifies the sender: its counter `room` counts one.
  template <class T>
  constexpr void return_room(channel_in<T>& from) {
    sync();
    once([&] { ends().return_room(from); });
  }
  /// Notifies the other ends of channels, together, of all sends and releases so far, as the end of
  /// the entry method does: for an entry method with more work to do. No `sync`.
  constexpr void flush() {
    if (!is_leader()) return;
    m_scheduler->channels.flush();
    m_scheduler->behind &= ~scheduler::tells;
  }

  // --- the program
  /// Moves this element to another scheduler of its device when the entry method has ended.
  /// Messages in flight are forwarded, but may arrive after messages that were sent later.
  constexpr void migrate(std::uint32_t to) {
    if (!is_leader()) return;
    m_scheduler->moves_to = to;
    m_scheduler->behind |= scheduler::moves;
  }
  /// Runs `Method` of `to` at the next quiescence of the program.
  template <template <class> class Chare, auto Method, class... Args>
  constexpr void when_quiescent(element_ref<Chare> to, entry_name<Method>, const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    if (!is_leader() || !is_there(to)) return;
    auto& core = m_scheduler->core;
    detail::cell* const c = core.compose();
    detail::message& m = c->m;
    detail::write_plain<table, Method>(m, to.array(), to.index(), args...);
    m.set(detail::message_kind::at_quiescence);
    core.send(c, 0);
  }
  /// Ends the program: every scheduler finishes its running entry method. Earlier messages of this
  /// scheduler to the host arrive if the host takes them within `options::stall_seconds`.
  /// Messages between elements that are in flight are dropped and counted in `end_report::left`,
  /// without messages that wait for `expect` and contributions that wait for further ones.
  constexpr void stop() {
    if (is_leader()) m_scheduler->core.end.stop();
  }
  /// Ends the program with an error; the host throws `resident_error` with this number.
  constexpr void fail(std::uint32_t number) {
    if (is_leader()) m_scheduler->core.fail(detail::failure::by_user, number, 0);
  }

 private:
  template <auto Method>
  [[nodiscard]] constexpr detail::composer<context, Method> compose(entry_name<Method>) noexcept {
    return {*this, *m_scheduler, *m_self};
  }
  template <class, auto>
  friend class detail::composer;

  [[nodiscard]] constexpr const Group& group() const noexcept { return *m_group; }
  using threads::is_leader;
  [[nodiscard]] constexpr channel_ends<scheduler> ends() const noexcept {
    return channel_ends<scheduler>(*m_scheduler);
  }
  /// Calls f() on the leader, which sets the scheduler's `data` (a destination); all threads may
  /// read it afterwards, until the next `sync`.
  template <class F>
  constexpr void once_for_data(F&& f) const {
    if (is_leader()) f();
    m_group->tell(m_scheduler->data);
  }
  template <template <class> class Chare>
  [[nodiscard]] constexpr bool is_there(element_ref<Chare> to) const noexcept {
    const chare_array<Chare> all(to.array(), to.count());
    const bool is_in = to.index() < to.count();
    if (is_in & is_known(all)) return true;  // no short circuit: a single branch
    if (!is_in) m_scheduler->core.fail(detail::failure::bad_index, to.index(), to.count());
    return is_in && is_array(all);
  }
  template <template <class> class Chare>
  [[nodiscard]] constexpr bool is_array(chare_array<Chare> which) const noexcept {
    if (is_known(which)) return true;
    auto& core = m_scheduler->core;
    core.fail(detail::failure::bad_array, which.number(), core.shared().l.arrays);
    return false;
  }
  /// Returns whether the array belongs to this program: neither default-made nor of another system.
  template <template <class> class Chare>
  [[nodiscard]] constexpr bool is_known(chare_array<Chare> which) const noexcept {
    return m_scheduler->core.in.has_array(which.number(), which.size(),
                                          table::template type_number<Chare<context>>());
  }
  template <class T>
  constexpr void contribute_to(const T& value, reduction::operation how,
                               detail::contribution_head head, std::uint8_t entry) {
    static_assert(detail::reducible<T>, "reductions take int, float and double of 4 or 8 bytes");
    head.type = detail::scalar_of<T>();
    head.how = how;
    head.size = sizeof(T);
    detail::cell* const c = m_scheduler->core.compose();
    detail::write_at(c->m, sizeof(head), value);
    pass_contribution(c, head, entry);
  }
  constexpr void contribute_nothing(const detail::contribution_head& head, std::uint8_t entry) {
    pass_contribution(m_scheduler->core.compose(), head, entry);
  }
  constexpr void pass_contribution(detail::cell* c, detail::contribution_head head,
                                   std::uint8_t entry) {
    head.generation = m_self->contributed++;
    detail::message& m = c->m;
    m.set(detail::message_kind::contribution);
    m.array = static_cast<std::uint8_t>(m_self->array);
    m.entry = entry;
    m.bytes = static_cast<std::uint8_t>(sizeof(head) + head.size);
    detail::write_at(m, 0, head);
    m_scheduler->core.send(c, m_self->born);
  }

  using threads::m_group;
  scheduler* m_scheduler;
  detail::element_state* m_self;
};

}  // namespace starling::resident
