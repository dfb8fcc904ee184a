// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/broadcasts.hpp>
#include <starling/resident/detail/call.hpp>
#include <starling/resident/detail/channels.hpp>
#include <starling/resident/detail/counters.hpp>
#include <starling/resident/detail/elements.hpp>
#include <starling/resident/detail/quiescence.hpp>
#include <starling/resident/detail/reducer.hpp>
#include <starling/resident/detail/scheduler_core.hpp>
#include <starling/resident/detail/step_order.hpp>
#include <starling/resident/entry.hpp>

namespace starling::resident {

template <class Group, class Program>
class context;

namespace detail {

/// A scheduler: takes messages and runs entry methods of its elements. All threads of its group
/// call `begin` and `step`. The group shares the object; only the leader changes it.
///
/// Where a group has several thread blocks, each has an object. The leader's object is the
/// scheduler; in the remaining objects only constants and values copied by `Group::tell` are valid.
template <class Group, class Program>
class scheduler {
 public:
  using context_type = context<Group, Program>;
  using table = entry_table<context_type, Program>;

  constexpr scheduler(const world& w, std::uint32_t self) noexcept
      : core(w, self), channels(core), m_quiescence(core), m_reductions(core), m_broadcasts(core) {}

  /// Makes the elements created here; a device's first scheduler reports the start to the host.
  constexpr void begin(Group& group) noexcept {
    for (std::uint32_t a = 0; a < core.shared().l.arrays; ++a) {
      const array_info& info = core.shared().array(core.device(), a);
      const auto make = [&]<class Chare>() { make_elements<Chare>(group, core, info, a); };
      table::visit_type(info.type, make);
    }
    group.sync();
    const world& w = core.shared();
    if (group.rank() == 0 && w.local_index(core.self()) == 0)
      Group::store_release(&w.link->begun_at[core.device()], Group::now_ns());
  }

  /// Runs an entry method or does other work, if there is any; setup messages come first. Returns
  /// `over` after the program's end. Inlined, as all callers of entry methods are: calls need local
  /// memory.
  [[gnu::always_inline]] constexpr work step(Group& group) noexcept {
    if (group.rank() == 0) {
      const work found = look();
      m_order.say(found, core.in.text(m_position), m_object);
    }
    m_order.spread(group);
    const work now = m_order.what();
    if (now == work::entry) run(group);
    group.sync();  // all threads have read the work of this step before the next step
    return now;
  }

  /// Ends the scheduler. Called by the leader after the last step.
  constexpr void end() noexcept {
    core.in.close();
    Group::settle();
    core.end.report(core.sent(), core.done(), m_entries_run);
  }

  // Used by contexts.
  scheduler_core<Group> core;
  channel_table<Group> channels;
  // The message that the group composes together, and where its data is written. Set by the leader,
  // read by all threads after a synchronization.
  cell* composed = nullptr;
  std::byte* data = nullptr;
  std::uint32_t took = 0;  // 1: the leader took the arrivals that `context::take` asked for
  // Work after the entry method, as bits, so that one test covers all. `channels` could be asked in
  // position of `tells`, but that costs messages up to 3 %.
  static constexpr std::uint32_t expects = 1, moves = 2, lends = 4, for_all = 8, tells = 16;
  std::uint32_t behind = 0;
  std::uint32_t moves_to = 0;
  /// Returns whether messages may leave before the entry method ends: no channel flush is pending.
  [[nodiscard]] constexpr bool may_leave() const noexcept { return (behind & tells) == 0; }
  /// The leader: uses up `wanted` arrivals and returns true if they have come. Polls again only
  /// while there is no other work here, so that a short wait delays no other entry method.
  [[nodiscard]] constexpr bool take(counter_state& c, std::uint32_t wanted) noexcept {
    if (c.wanted != 0) {
      core.refuse_wait(c);
      return false;
    }
    core.in.serve_oneself();  // as each poll does
    for (int looks = 0;; ++looks) {
      if (!core.is_full()) static_cast<void>(channels.poll());
      if (c.arrived >= wanted) break;
      if (looks == looks_to_take || !may_wait()) return false;
    }
    c.arrived -= wanted;
    return true;
  }

 private:
  static constexpr int errands_at_once = 8;
  static constexpr int looks_to_take = 4;
  // Number of steps after which the hot path is left: to check for the end, poll channels and claim
  // a private ring.
  static constexpr std::uint32_t look_every = 16;
  static constexpr std::uint32_t flush_every = 4;  // while `much_waits` wait to be sent
  static constexpr std::uint32_t much_waits = 16;

  /// Polls, and returns whether there is no other work here: none queued, and none to be done after
  /// the running entry method.
  [[nodiscard]] constexpr bool may_wait() noexcept {
    if ((behind & ~lends) != 0 || !core.is_calm() || core.has_own()) return false;
    return !core.in.wait(Group::looks_nearby, m_position == core.in.beside ? 0 : 1);
  }

  // --- the leader: the next work

  /// Searches for work; takes several steps where the group is costly to synchronize.
  [[nodiscard]] constexpr work look() noexcept {
    work found;
    do {
      const bool is_time = ++m_steps % look_every == 0;
      const bool is_plain = is_hot_path(is_time);
      found = is_plain ? hot_path() : deferred_work(is_time);
      if (found == work::none) found = take_any(is_plain || is_time);
    } while (found < work::entry && m_steps % Group::looks_at_once != 0);
    return found;
  }
  /// Returns whether the hot path applies: no deferred work is pending.
  [[nodiscard]] constexpr bool is_hot_path(bool is_time) const noexcept {
    // No branches between the loads: each would wait for its own load.
    return (int(is_time) | int(m_broadcasts.sets_up()) | int(m_broadcasts.is_on()) |
            int((behind & ~tells) != 0) | int(!core.is_calm()) | int(!core.takes_at_once())) == 0;
  }
  /// The hot path, with no other code, because jumps over code are slow on a device. Ends the last
  /// message. Returns `none` for any other work, which it leaves unchanged.
  [[nodiscard]] constexpr work hot_path() noexcept {
    if (m_is_running) end_plain_entry();
    if (cell* const own = core.own_in_turn(); own != nullptr) {
      chare* const object = core.in.find(head_of(own->m));
      if (object == nullptr) return work::none;
      core.take_own();
      return work_on(of_cell(own), object);
    }
    const bool has_own = core.has_ready();
    if (core.in.wait(has_own ? 1 : Group::looks_nearby)) {
      chare* const object = core.in.object(core.in.front());
      if (object == nullptr) return work::none;
      if (has_own) core.take_turn();
      return work_on(core.in.front(), object);
    }
    work found = work::some;
    const auto run_first = [this, &found, has_own](chare& object, const message& then) {
      if (has_own || found == work::entry) return false;
      found = run_what_waited(core.in.beside, then, &object);
      return true;
    };
    if (!channels.poll(run_first)) return work::none;
    m_quiescence.disturb();
    return found;
  }
  constexpr void end_plain_entry() noexcept {
    m_is_running = false;
    ++m_entries_run;
    core.end.set_running(nullptr, no_entry);
    core.count_done();
    release(m_position);
  }
  /// Returns whether to flush now. Finding rings full costs as much as running a message, so while
  /// many messages wait, received messages are run first.
  [[nodiscard]] constexpr bool is_time_to_flush() noexcept {
    return core.out.waiting() < much_waits || m_steps % flush_every == 0 || !core.in.wait(1);
  }
  /// Flushes, ends the last entry method, and does the work that precedes messages to elements.
  /// Returns `none` when none is left.
  [[nodiscard]] constexpr work deferred_work(bool is_time) noexcept {
    if (!core.out.is_empty() && is_time_to_flush()) core.out.flush();
    const bool has_more = m_is_running && end_entry();
    return has_more && !is_time ? work::some : what_goes_first(is_time);
  }
  [[nodiscard]] constexpr work take_any(bool soon) noexcept {
    if (core.is_full()) return wait_for_room();
    const incoming next = core.take(soon || !core.is_calm() ? 1 : Group::looks_nearby);
    if (next.text == nullptr) return idle();
    m_stall.end();
    return handle(next);
  }
  [[nodiscard]] constexpr work what_goes_first(bool is_time) noexcept {
    core.end.see_to_stop(core.out.to_host());
    if ((core.end.is_due() || is_time) && core.look_for_end()) return work::over;
    if (is_time && channels.poll()) m_quiescence.disturb();
    if (is_time) core.out.seek_private_ring();
    run_errands();
    if (core.is_full()) return work::none;
    if (m_broadcasts.sets_up()) return set_up();
    if (!core.may_broadcast()) return work::none;
    if (m_broadcasts.is_on()) return next_element();
    return m_broadcasts.begin_broadcast() ? work::some
                                          : work::none;  // sent down the tree, then run here
  }
  constexpr void run_errands() noexcept {
    for (int n = 0; n < errands_at_once; ++n) {
      cell* const c = core.take_errand();
      if (c == nullptr) return;
      static_cast<void>(handle(incoming::of(c)));  // an errand runs no entry method
    }
  }
  [[nodiscard]] constexpr work idle() noexcept {
    if (channels.poll())
      m_quiescence.disturb();
    else if (is_starved() || core.is_pressed())
      return wait_for_room();
    else if (core.is_idle())
      m_quiescence.idle();
    return work::none;
  }
  /// Returns whether too few cells are free for a received message and a message that it sends.
  [[nodiscard]] constexpr bool is_starved() noexcept {
    return core.cells.left() < 2 && (core.cells.left() == 0 || core.in.wait(1));
  }
  /// Begins no entry method. Ends the program if no destination has taken a message for too long.
  constexpr work wait_for_room() noexcept {
    core.drain();
    if (m_stall.is_over(core.out, core.shared().l.stall_ns)) {
      core.end.set_running(nullptr, no_entry);
      core.fail(failure::no_room, core.out.waiting(), core.cells.count());
    }
    return work::none;
  }

  // --- messages stay at inbox positions while they are handled
  /// Moves the message of a cell to the position `beside` and returns the position.
  [[nodiscard]] constexpr std::uint32_t of_cell(cell* c) noexcept {
    core.in.text(core.in.beside) = c->m;  // all of it, which needs no branches
    core.cells.give_back(c);
    return core.in.beside;
  }
  /// Frees the position of a message that no thread reads any more.
  constexpr void release(std::uint32_t position) noexcept {
    if (position != core.in.beside) core.in.pop();
  }
  /// Handles a message whose element was found.
  [[nodiscard]] constexpr work work_on(std::uint32_t position, chare* object) noexcept {
    m_stall.end();
    m_quiescence.disturb();
    const message_head head = head_of(core.in.text(position));
    if (head.kind() == message_kind::entry) return run_next(position, head, object);
    return count_arrival(position, object);
  }
  /// Counts arrivals. An entry method that waited for them runs at once.
  [[nodiscard]] constexpr work count_arrival(std::uint32_t position, chare* object) noexcept {
    message& m = core.in.text(position);
    core.count_done();
    counter_state& counter = counter_of(*object, m);
    if (!count_for(object->state(), counter, read_at<std::uint32_t>(m, 4))) {
      release(position);
      return work::some;
    }
    return run_what_waited(position, counter.then, object);
  }
  [[nodiscard]] constexpr work run_what_waited(std::uint32_t position, const message& then,
                                               chare* object) noexcept {
    copy_used(core.in.text(position), then);
    core.count_sent();
    return run_next(position, head_of(then), object);
  }
  [[nodiscard]] constexpr work run_next(std::uint32_t position, const message_head& head,
                                        chare* object) noexcept {
    m_is_running = true;
    m_position = position;
    m_object = object;
    behind = head.storage() == payload_storage::none ? 0 : lends;
    core.end.set_running(&object->state(), head.entry);
    return work::entry;
  }
  /// Handles any message, by its kind.
  [[nodiscard]] constexpr work handle(const incoming& next) noexcept {
    const message_head head = head_of(*next.text);
    const message_kind kind = head.kind();
    if (kind < message_kind::wave) m_quiescence.disturb();
    if (kind < message_kind::broadcast) return handle_for_element(next, head);
    if (kind == message_kind::contribution) {
      core.count_done();
      m_reductions.take(next);
    } else if (kind == message_kind::broadcast) {  // done when all elements have run it
      core.add_broadcast(core.keep(next));
    } else if (kind >= message_kind::wave) {
      if (!core.in.opens_ring(*next.text)) m_quiescence.take(*next.text);
      core.release(next);
    } else {
      core.count_done();
      if (kind == message_kind::at_quiescence)
        m_quiescence.hold(core.keep(next));
      else
        send_numbered(core.keep(next));
    }
    return work::some;
  }
  /// Handles a message to an element, which may have moved, or before the message's turn.
  [[nodiscard]] constexpr work handle_for_element(const incoming& next,
                                                  const message_head& head) noexcept {
    const std::uint32_t home = core.home_of(head);
    if (home != core.self()) {
      core.send(core.keep(next), home);
      core.count_done();
      return work::some;
    }
    chare* const object = core.object(head.array, head.target);
    if (head.kind() == message_kind::opening) {
      channels.be_opened(object->state(), *next.text);
      core.count_done();
      core.release(next);
      return work::some;
    }
    if (next.kept == nullptr && !head.has_reference()) return work_on(core.in.front(), object);
    cell* const c = core.keep(next);
    if (head.has_reference() && core.stash(object->state(), c)) return work::some;
    return work_on(of_cell(c), object);
  }
  /// Sends a message of the host, or one held until quiescence, to its element.
  constexpr void send_numbered(cell* c) noexcept {
    c->m.set(message_kind::entry, c->m.storage(), c->m.has_reference());
    core.send(c, core.resolve(c->m));
  }

  // --- the leader: messages to all elements of an array

  constexpr work set_up() noexcept {
    if (m_broadcasts.is_on()) return next_element();
    m_broadcasts.begin_set_up();
    return work::some;
  }
  /// Runs the broadcast for its next element.
  [[nodiscard]] constexpr work next_element() noexcept {
    chare* const object = m_broadcasts.next();
    if (object == nullptr) return work::some;
    const work found = run_next(core.in.beside, head_of(core.in.text(core.in.beside)), object);
    behind = for_all;
    return found;
  }

  // --- the leader: after an entry method

  /// Ends the entry method. Returns whether there was work after it, which may have sent messages.
  constexpr bool end_entry() noexcept {
    const std::uint32_t what = behind;
    m_is_running = false;
    behind = 0;
    ++m_entries_run;
    if (what != 0) change(m_object->state(), what);
    core.end.set_running(nullptr, no_entry);
    if ((what & for_all) == 0) {
      core.end_message(core.in.text(m_position));
      release(m_position);
    } else {
      m_broadcasts.end_element();
    }
    return (what & ~tells) != 0;
  }
  constexpr void change(element_state& e, std::uint32_t what) noexcept {
    if ((what & expects) != 0) core.look_into_stash(e);
    if ((what & moves) != 0) core.migrate(e, moves_to);
  }

  // --- all threads

  [[gnu::always_inline]] constexpr void run(Group& group) noexcept {
    const message& m = m_order.text(core.in.text(m_position));
    chare* const object = m_order.object(m_object);
    context_type cx(*this, group, object->state());
    const auto call = [&]<auto Method>() { call_entry<Method>(cx, core, object, m); };
    table::visit(m.entry, call);
    // Before the messages that were sent after the channel operations, which may rely on them.
    if (group.rank() == 0 && (behind & tells) != 0) channels.flush();
  }

  quiescence_detector<Group> m_quiescence;
  reducer<Group> m_reductions;
  broadcasts<Group> m_broadcasts;
  std::uint64_t m_entries_run = 0;
  stall_watch<Group> m_stall;
  std::uint32_t m_steps = 0;
  bool m_is_running = false;     // an entry method runs, or ran in the previous step
  std::uint32_t m_position = 0;  // inbox position of its message
  chare* m_object = nullptr;     // its element
  step_order<Group> m_order;
};

}  // namespace detail
}  // namespace starling::resident
