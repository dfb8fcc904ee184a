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

/// What an entry method is given: its group of threads, and the runtime.
///
/// All threads of the group run the entry method and all must make the same calls with the same
/// arguments in the same order; what only one of them is to do goes into `once`. No call waits:
/// what has to wait continues in another entry method. On the host a group is one thread, if
/// `options` do not say more.
/// Errors (an index that is not there, a full mailbox) end the program; the host is told which
/// element made them.
template <class Group, class Program>
class context : public thread_group<Group> {
  using threads = thread_group<Group>;
  using scheduler = detail::scheduler<Group, Program>;
  using table = detail::entry_table<context, Program>;
  using group_type = Group;

 public:
  constexpr context(scheduler& by, Group& group, detail::element& self) noexcept
      : threads(group), m_scheduler(&by), m_self(&self) {}
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  using threads::once, threads::rank, threads::sync;

  // --- where
  [[nodiscard]] constexpr std::uint32_t scheduler_index() const noexcept {
    return m_scheduler->core.self();
  }
  [[nodiscard]] constexpr std::uint32_t scheduler_count() const noexcept {
    return m_scheduler->core.where().l.all_schedulers();
  }
  /// The array that an element, `*this`, is of.
  template <template <class> class Chare>
  [[nodiscard]] constexpr chare_array<Chare> array_of(const Chare<context>&) const noexcept {
    return {m_self->array, m_scheduler->core.array(m_self->array).count};
  }

  // --- messages
  /// Sends a message. Those from one element to another are run in the order in which they were
  /// sent, while neither migrates; also of those that waited for their turn. A span is copied and
  /// holds at most the bytes of a block (`options::block_bytes`); for more see `lend`. The message
  /// may arrive before this entry method ends; a full ring delays it, not this call.
  template <template <class> class Chare, auto Method, class... Args>
  constexpr void invoke(element_ref<Chare> to, entry_name<Method> what, const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    compose(what).to_element(to, args...);
  }
  /// To every element of the array, the sender too; a span must fit into the message (88 bytes with
  /// all arguments). Broadcasts of an array are run in one order everywhere, by elements that do
  /// not migrate meanwhile.
  template <template <class> class Chare, auto Method, class... Args>
  constexpr void broadcast(chare_array<Chare> to, entry_name<Method> what, const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    compose(what).to_all(to, args...);
  }
  /// To a host task that receives from the mailbox.
  template <class T>
  constexpr void send(mailbox<T> to, const std::type_identity_t<T>& value) {
    if (!is_leader()) return;
    auto& core = m_scheduler->core;
    detail::cell* const c = core.compose();
    detail::message& m = c->m;
    m.set(detail::message_kind::entry);
    m.target = to.number();
    m.bytes = sizeof(T);
    detail::write_at(m, 0, value);
    core.pass(c, core.where().l.all_schedulers());
  }
  /// A span as last argument of `invoke` that is not copied: memory from `allocate`, which must not
  /// change until the receiver's entry method has ended. `returned` of this element counts one
  /// then, which is the only sign of it: the count is not ordered with messages, so an answer of
  /// the receiver, or of the host that it has told, may arrive before. A device that does not map
  /// the memory copies it into the receiver's heap.
  template <class T>
  [[nodiscard]] constexpr detail::lent<T> lend(std::span<const T> data, counter& returned) const {
    return {data, &returned};
  }

  // --- waiting
  /// Has `what` run for this element when the counter has counted `wanted` arrivals, which it uses
  /// up; at once if they are there. One `when` at a time for each counter: the next one may be
  /// called by `what`, or behind it. Before that it ends the program with an error.
  template <auto Method, class... Args>
  constexpr void when(counter& of, std::uint32_t wanted, entry_name<Method>, const Args&... args) {
    if (!is_leader()) return;
    auto& core = m_scheduler->core;
    detail::counter_state& c = of.native();
    detail::cell* const now = core.use_up(c, wanted);
    detail::message& m = now != nullptr ? now->m : c.then;
    detail::write_plain<table, Method>(m, m_self->array, m_self->slot, args...);
    m.set(detail::message_kind::entry);  // its turn is when the counter says so
    now != nullptr ? core.send_here(now) : detail::arm(*m_self, c, wanted);
  }
  /// Whether the counter has counted `wanted` arrivals, which are used up then: for an entry method
  /// that goes on at once where `when` would have another run, as long as others may wait. What has
  /// come by channels meanwhile is counted before, and where nothing else is to be done here it
  /// looks a few more times, some microseconds on a device. A `sync`, with the same answer for all
  /// threads; what it counts must not be asked for (`arrived`, `has_come`) without another one
  /// before.
  [[nodiscard]] constexpr bool take(counter& of, std::uint32_t wanted) {
    if (is_leader()) m_scheduler->took = m_scheduler->take(of.native(), wanted) ? 1 : 0;
    m_group->tell(m_scheduler->took);
    const bool has_taken = m_scheduler->took != 0;
    sync();  // before the next one writes there
    return has_taken;
  }
  /// Counts for a counter of this element.
  constexpr void arrive(counter& of, std::uint32_t how_many = 1) {
    if (is_leader()) m_scheduler->core.arrive(*m_self, of.native(), how_many);
  }
  /// Counts for a counter of another element: the least message there is. It may count at once
  /// where that is on this scheduler: a counter of this element must not be asked for
  /// (`arrived`) without a `sync` behind it.
  template <template <class> class Chare>
  constexpr void signal(element_ref<Chare> to, counter Chare<context>::*of,
                        std::uint32_t how_many = 1) {
    if (!is_leader() || !is_there(to)) return;
    auto& core = m_scheduler->core;
    const auto there = core.locate(to.array(), to.index());
    const std::uint32_t counter = detail::offset_of(of);
    if (core.counts_at_once(there, to.array())) {
      auto& here = *core.object(to.array(), there.slot);
      return core.arrive(here.native(), detail::counter_at(here, counter), how_many);
    }
    core.send_arrival(there, to.array(), counter, how_many, m_scheduler->may_leave());
  }
  /// From now on messages with this number are run for entry methods in `referenced` (their first
  /// argument); those with later ones wait. Begins at 0; goes up only.
  constexpr void expect(std::uint32_t number) {
    sync();  // all have read what was expected before
    once([&] {
      m_self->expected = number;
      m_scheduler->behind |= scheduler::expects;
    });
  }

  // --- reductions: each element of the array contributes once to each; the sum of all goes to
  // `to`. The elements of an array contribute in one order, with the same type, operation and goal
  // each time; a difference ends the program with an error that names both.
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
      contribute_to(value, how, {0, 0, std::uint8_t(to.number()), detail::goal_kind::everywhere},
                    table::template number<Method>());
  }
  template <class T>
  constexpr void contribute(const T& value, reduction::operation how, mailbox<T> to) {
    if (is_leader()) contribute_to(value, how, {0, to.number(), 0, detail::goal_kind::host}, 0);
  }
  /// A barrier: `Method` of all elements, or of one, runs when each has come here.
  template <template <class> class Chare, auto Method>
  constexpr void contribute(chare_array<Chare> to, entry_name<Method>) {
    detail::require_fit<Chare<context>, Method>();
    if (is_leader() && is_array(to))
      contribute_nothing({0, 0, std::uint8_t(to.number()), detail::goal_kind::everywhere},
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
  /// `n` uninitialised elements in this device's memory, for as long as the program runs; from the
  /// scheduler's heap (`options::heap_bytes`). Empty when that is used up, which ends the program.
  template <class T>
  [[nodiscard]] constexpr std::span<T> allocate(std::uint32_t n) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 128);
    once_for_data([&] {
      m_scheduler->data = m_scheduler->core.memory.allocate(std::uint64_t(n) * sizeof(T));
    });
    std::byte* const at = m_scheduler->data;
    sync();  // before the next one writes there
    return {reinterpret_cast<T*>(at), at == nullptr ? 0u : n};
  }
  /// Opens a channel to this element, of at most `capacity` elements a time: `to.*out` is its other
  /// end. `arrivals`, a counter of this element, counts what arrives. `room`, one of the other
  /// element, counts two when that end is open: the sends that it has room for.
  template <class T, template <class> class Chare>
  constexpr void open(channel_in<T>& in, std::uint32_t capacity, counter& arrivals,
                      element_ref<Chare> to, channel_out<T> Chare<context>::*out,
                      counter Chare<context>::*room) {
    if (!is_leader() || !is_there(to)) return;
    m_scheduler->channels.open(*m_self, in.native(), std::uint64_t(capacity) * sizeof(T),
                               arrivals.native(), to.array(), to.index(),
                               {detail::offset_of(out), detail::offset_of(room)});
  }
  /// Copies into the receiver's memory, and tells it at the next `flush`, or when the entry method
  /// ends. At most two sends may be ahead of the receiver's releases; more, or more elements than
  /// the capacity, ends the program.
  template <class T>
  constexpr void send(channel_out<T>& to, std::span<const std::type_identity_t<T>> data) {
    auto& channels = m_scheduler->channels;
    once_for_data([&] { m_scheduler->data = channels.begin_send(to.native(), data.size_bytes()); });
    auto* const into = reinterpret_cast<T*>(m_scheduler->data);
    if (into != nullptr) detail::copy_by_all(*this, into, data);
    sync();  // all have written
    if (!is_leader() || into == nullptr) return;
    channels.end_send(to.native(), std::uint32_t(data.size()), std::uint32_t(data.size_bytes()));
    m_scheduler->behind |= scheduler::tells;
  }
  /// The same without a copy where the receiver is on this device: it reads `data` where it lies,
  /// memory from `allocate` or of an element, which must not change before the receiver has
  /// released it.
  template <class T>
  constexpr void lend(channel_out<T>& to, std::span<const std::type_identity_t<T>> data) {
    if (!to.is_beside() && is_leader()) ends().may_lend(data);
    if (!to.is_beside()) return send(to, data);
    sync();  // all have written
    if (is_leader()) ends().lend(to, data);
  }
  /// Calls f(ends) on one thread, behind a `sync`, to release and to lend there, and tells the
  /// other ends. The others go on, and use these channels and data, and what f writes, no more
  /// before a `sync`. f calls nothing that all threads must call.
  template <class F>
  constexpr void tell(F&& f) {
    sync();
    if (is_leader()) f(ends());
    flush();
    Group::converge();  // or what follows takes the leader's warp twice as long
  }
  /// Whether there is data, counted and not released; with `later` 1, whether of two sends.
  template <class T>
  [[nodiscard]] constexpr bool has_come(channel_in<T>& from, std::uint32_t later = 0) const {
    return from.native().seen - from.native().released > later;
  }
  /// The oldest data that has arrived and was not released, or with `later` 1 what was sent behind
  /// it. What the counter has not counted yet is not there.
  template <class T>
  [[nodiscard]] constexpr std::span<const T> received(channel_in<T>& from,
                                                      std::uint32_t later = 0) const {
    auto& in = from.native();
    const std::uint32_t number = in.released + later;
    return {reinterpret_cast<const T*>(m_scheduler->channels.data(in, number)),
            in.counts[number % detail::channel_depth]};
  }
  /// The sender may write there again, which it finds out by itself after the next `flush` or the
  /// end of the entry method: it knows that it may when data goes both ways in turn.
  template <class T>
  constexpr void release(channel_in<T>& from) {
    sync();  // all have read
    once([&] { ends().release(from); });
  }
  /// The same for a sender that cannot know: its counter `room` counts one.
  template <class T>
  constexpr void return_room(channel_in<T>& from) {
    sync();
    once([&] { ends().return_room(from); });
  }
  /// Tells the other ends of channels what was sent and released so far, together: for an entry
  /// method that has more to do, as its end would. Not a `sync`: the others go on meanwhile.
  constexpr void flush() {
    if (!is_leader()) return;
    m_scheduler->channels.flush();
    m_scheduler->behind &= ~scheduler::tells;
  }

  // --- the program
  /// Moves this element to another scheduler of its device when the entry method has ended.
  /// Messages that are on their way follow it, but may arrive after later ones.
  constexpr void migrate(std::uint32_t to) {
    if (!is_leader()) return;
    m_scheduler->moves_to = to;
    m_scheduler->behind |= scheduler::moves;
  }
  /// `Method` of `to` runs when nothing is left to do and nothing on its way anywhere.
  template <template <class> class Chare, auto Method, class... Args>
  constexpr void when_quiet(element_ref<Chare> to, entry_name<Method>, const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    if (!is_leader() || !is_there(to)) return;
    auto& core = m_scheduler->core;
    detail::cell* const c = core.compose();
    detail::message& m = c->m;
    detail::write_plain<table, Method>(m, to.array(), to.index(), args...);
    m.set(detail::message_kind::quiet_wish);
    core.send(c, 0);
  }
  /// Ends the program: every scheduler finishes the entry method that it runs. What this one has
  /// sent to the host before arrives. Messages between elements that are still on their way are
  /// dropped, and the host is told how many; what waits for its turn or others' contributions is
  /// not among them.
  constexpr void stop() {
    if (is_leader()) m_scheduler->core.end.stop();
  }
  /// Ends the program with an error that the host throws: `resident_error` with this number.
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
  /// `once` for what says where data goes: all read `data` of the scheduler afterwards, until the
  /// next `sync`.
  template <class F>
  constexpr void once_for_data(F&& f) const {
    if (is_leader()) f();
    m_group->tell(m_scheduler->data);
  }
  template <template <class> class Chare>
  [[nodiscard]] constexpr bool is_there(element_ref<Chare> to) const noexcept {
    const chare_array<Chare> all(to.array(), to.count());
    const bool is_in = to.index() < to.count();
    if (is_in & is_known(all)) return true;  // asked at once, and one branch
    if (!is_in) m_scheduler->core.fail(detail::failure::bad_index, to.index(), to.count());
    return is_in && is_array(all);
  }
  template <template <class> class Chare>
  [[nodiscard]] constexpr bool is_array(chare_array<Chare> which) const noexcept {
    if (is_known(which)) return true;
    auto& core = m_scheduler->core;
    core.fail(detail::failure::bad_array, which.number(), core.where().l.arrays);
    return false;
  }
  /// Whether it is one of this program: not made by default or by another system.
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
  detail::element* m_self;
};

}  // namespace starling::resident
