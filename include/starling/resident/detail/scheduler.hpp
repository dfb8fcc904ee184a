// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/detail/call.hpp>
#include <starling/resident/detail/channels.hpp>
#include <starling/resident/detail/elements.hpp>
#include <starling/resident/detail/reducer.hpp>
#include <starling/resident/detail/rest.hpp>
#include <starling/resident/detail/scheduler_core.hpp>
#include <starling/resident/detail/step_order.hpp>
#include <starling/resident/entry.hpp>

namespace starling::resident {

template <class Group, class Program>
class context;

namespace detail {

/// A scheduler: takes messages and runs entry methods of its elements. All threads of its group
/// call `begin` and `step`; what lies in it is the group's, and only the leader changes it.
///
/// Where a group has several blocks, each has one. The leader's is the scheduler; in those of
/// others only what never changes is of use, and what the leader tells (`Group::tell`).
template <class Group, class Program>
class scheduler {
 public:
  using context_type = context<Group, Program>;
  using table = entry_table<context_type, Program>;

  constexpr scheduler(const world& w, std::uint32_t self) noexcept
      : core(w, self), channels(core), m_rest(core), m_reductions(core) {}

  /// Makes the elements that are born here; the first scheduler of a device tells the host.
  constexpr void begin(Group& group) noexcept {
    for (std::uint32_t a = 0; a < core.where().l.arrays; ++a) {
      const array_info& info = core.where().array(core.device(), a);
      const auto make = [&]<class Chare>() { make_elements<Chare>(group, core, info, a); };
      table::visit_type(info.type, make);
    }
    group.sync();
    const world& w = core.where();
    if (group.rank() == 0 && w.place_of(core.self()) == 0)
      Group::store_release(&w.link->begun_at[core.device()], Group::now_ns());
  }

  /// Works on one message, if there is any; first on what the elements begin with. `over`: the
  /// program has ended. Inlined, with all that calls entry methods: calls need local memory.
  [[gnu::always_inline]] constexpr work step(Group& group) noexcept {
    if (group.rank() == 0) {
      const work found = look();
      m_order.say(found, m_current, m_object);
    }
    m_order.spread(group);
    const work now = m_order.what();
    if (now == work::entry) run(group);
    group.sync();  // all know what this step was before there is another
    return now;
  }

  /// The leader, when all is over.
  constexpr void end() noexcept {
    core.in.close();
    Group::settle();
    scheduler_line& line = *core.where().line(core.self());
    line.sent = core.sent();
    line.done = core.done();
    line.entries_run = m_entries_run;
    const world& w = core.where();
    auto* const ended = w.template at<std::uint32_t>(core.device(), w.l.ended);
    if (Group::count_up(ended) + 1 == w.l.schedulers)
      Group::store_release(&w.link->ended[core.device() * 32], 1u);
  }

  // What contexts use.
  scheduler_core<Group> core;
  channel_table<Group> channels;
  // A message that the group makes together, and where its data goes: the leader's to write, for
  // all to read behind a `sync`.
  cell* composed = nullptr;
  std::byte* data = nullptr;
  // What is to be done behind the entry method: bits, so that nothing is seen at once. `channels`
  // know themselves whether to tell, but to ask them costs messages up to 3 %.
  static constexpr std::uint32_t expects = 1, moves = 2, lends = 4, for_all = 8, tells = 16;
  std::uint32_t behind = 0;
  std::uint32_t moves_to = 0;
  /// Whether messages may leave before the entry method ends: what they may rely on has been told.
  [[nodiscard]] constexpr bool may_leave() const noexcept { return (behind & tells) == 0; }

 private:
  static constexpr int errands_at_once = 8;
  static constexpr std::uint32_t look_every = 16;  // steps between looks for the end

  // --- the leader: what comes next

  /// Some time for the leader alone, where the group is costly to meet.
  [[nodiscard]] constexpr work look() noexcept {
    work found;
    do {
      if (!core.out.is_empty()) core.out.flush();  // first what an entry method has sent
      found = m_current != nullptr && end_entry() ? work::some : next();
    } while (found < work::entry && m_steps % Group::looks_at_once != 0);
    return found;
  }
  [[nodiscard]] constexpr work next() noexcept {
    const bool is_time = ++m_steps % look_every == 0;
    received first;
    // All asked at once: each branch would wait for its own load.
    const bool is_special =
        int(is_time) | int(m_sets_up) | int(m_everywhere != nullptr) | int(!core.is_calm());
    if (!is_special) {
      first = core.take_calmly();
    } else {
      const work before = what_goes_first(is_time);
      if (before != work::none) return before;
      if (core.is_full()) return wait_for_room();
      first.message = core.take();
    }
    if (first.message == nullptr) return idle();
    m_stall.end();
    return handle(first);
  }
  /// What is done before messages to elements; `none`: nothing more.
  [[nodiscard]] constexpr work what_goes_first(bool is_time) noexcept {
    core.end.see_to_stop(core.out.to_host());
    if ((core.end.is_due() || is_time) && core.look_for_end()) return work::over;
    if (is_time && channels.poll()) m_rest.disturb();
    run_errands();
    if (core.is_full()) return work::none;
    if (m_sets_up) return set_up();
    if (!may_broadcast()) return work::none;
    if (m_everywhere != nullptr) return next_of_all();
    return begin_broadcast() ? work::some : work::none;  // goes down the tree, then is run here
  }
  constexpr void run_errands() noexcept {
    for (int n = 0; n < errands_at_once; ++n) {
      cell* const c = core.take_errand();
      if (c == nullptr) return;
      m_rest.disturb();
      handle_other(c, c->m, c->m.kind());
    }
  }
  [[nodiscard]] constexpr work idle() noexcept {
    if (channels.poll())
      m_rest.disturb();
    else if (core.cells.left() == 0 || core.is_pressed())
      return wait_for_room();
    else if (core.is_idle())
      m_rest.idle();
    return work::none;
  }
  /// No entry method begins; ends the program when nobody has taken anything for too long.
  constexpr work wait_for_room() noexcept {
    core.drain();
    if (m_stall.is_over(core.out, core.where().l.stall_ns)) {
      core.end.set_running(nullptr, no_entry);
      core.fail(failure::no_room, core.out.waiting(), core.cells.count());
    }
    return work::none;
  }

  [[nodiscard]] constexpr work handle(const received& next) noexcept {
    cell* const c = next.message;
    message& m = c->m;
    const message_head head = head_of(m);  // once: it is some way off
    const message_kind kind = head.kind();
    if (kind == message_kind::entry) {
      m_rest.disturb();
      return prepare(next, head);
    }
    if (kind == message_kind::wave || kind == message_kind::wave_answer) {
      kind == message_kind::wave ? m_rest.begin() : m_rest.add(m);
      core.cells.give_back(c);
      return work::some;
    }
    m_rest.disturb();
    if (kind == message_kind::arrival) return handle_arrival(c, m);
    if (kind == message_kind::everywhere)
      core.add_broadcast(c);
    else
      handle_other(c, m, kind);
    return work::some;
  }
  /// What waited for it runs at once.
  [[nodiscard]] constexpr work handle_arrival(cell* c, const message& m) noexcept {
    core.count_done();
    const std::uint32_t home = core.home_of(m);
    if (home != core.self()) {
      core.send(c, home);
      return work::some;
    }
    chare* const object = core.object(m.array, m.target);
    counter_state& counter = counter_of(*object, m);
    if (!core.is_enough(object->native(), counter, read_at<std::uint32_t>(m, 4))) {
      core.cells.give_back(c);
      return work::some;
    }
    copy_used(c->m, counter.then);
    core.count_sent();
    return run_next(c, object, c->m.entry, 0);
  }
  [[nodiscard]] constexpr counter_state& counter_of(chare& object,
                                                    const message& arrival) const noexcept {
    return core.counter_at(object, read_at<std::uint32_t>(arrival, 0));
  }
  /// What runs no entry method.
  constexpr void handle_other(cell* c, message& m, message_kind kind) noexcept {
    core.count_done();
    if (kind == message_kind::contribution) return contribute(c, m);
    if (kind == message_kind::numbered) {
      m.set(message_kind::entry, m.place(), m.has_reference());
      return core.send_by_index(c);
    }
    if (kind == message_kind::quiet_wish) return m_rest.wish(c);
    if (kind == message_kind::arrival || kind == message_kind::opening) {
      const std::uint32_t home = core.home_of(m);
      if (home != core.self()) return core.send(c, home);
      tell_element(m, kind);
    }
    core.cells.give_back(c);
  }
  constexpr void contribute(cell* c, const message& m) noexcept {
    if (!m_reductions.add(m)) return core.cells.append(m_too_early, c);  // rests
    core.cells.give_back(c);
    if (!m_reductions.has_ended_one()) return;
    while (!m_too_early.empty()) core.send(core.cells.pop(m_too_early), core.self());
  }
  constexpr void tell_element(const message& m, message_kind kind) noexcept {
    chare* const object = core.object(m.array, m.target);
    if (kind == message_kind::opening) return channels.be_opened(object->native(), m);
    core.arrive(object->native(), counter_of(*object, m), read_at<std::uint32_t>(m, 4));
  }
  /// A message for one element: follows it where it has moved, waits for its turn, or is run.
  [[nodiscard]] constexpr work prepare(const received& next, const message_head& head) noexcept {
    cell* const c = next.message;
    const std::uint32_t afterwards = head.place() == payload_place::none ? 0 : lends;
    if (next.object != nullptr) return run_next(c, next.object, head.entry, afterwards);
    const std::uint32_t home = core.home_of(head);
    if (home != core.self()) {
      core.send(c, home);
      core.count_done();
      return work::some;
    }
    chare* const object = core.object(head.array, head.target);
    if (head.has_reference() && core.stash(object->native(), c)) return work::some;
    return run_next(c, object, head.entry, afterwards);
  }

  [[nodiscard]] constexpr work run_next(cell* c, chare* object, std::uint32_t entry,
                                        std::uint32_t afterwards) noexcept {
    m_current = c;
    m_object = object;
    behind = afterwards;
    core.end.set_running(&object->native(), entry);
    return work::entry;
  }

  // --- the leader: messages to all elements of an array

  /// Whether a message to all is to go on, or to begin: not while much waits to be sent, and after
  /// what the elements before have sent here where that takes much room.
  [[nodiscard]] constexpr bool may_broadcast() const noexcept {
    return !core.is_pressed() && !(core.is_short() && core.has_own());
  }
  /// Whether there is one.
  [[nodiscard]] constexpr bool begin_broadcast() noexcept {
    cell* const c = core.take_broadcast();
    if (c == nullptr) return false;
    core.where().for_each_child(core.self(), [this, c](std::uint32_t child) {
      cell* const copy = core.compose();
      copy->m = c->m;
      core.send(copy, child);
    });
    begin_for_all(c);
    return true;
  }
  /// For the elements born here, one in a step; those that have moved get a message.
  constexpr void begin_for_all(cell* c) noexcept {
    m_everywhere = c;
    m_slot = core.array(c->m.array).first;
    m_last_slot = core.array(c->m.array).end;
    if (m_slot == m_last_slot) end_for_all();
  }
  /// What elements run first, before any message is taken.
  constexpr work set_up() noexcept {
    if (m_everywhere != nullptr) return next_of_all();
    m_sets_up = m_arrays_set_up != core.where().l.arrays;
    if (!m_sets_up) return work::some;
    const array_info& info = core.where().array(core.device(), m_arrays_set_up++);
    if (info.has_setup == 0) return work::some;
    cell* const c = core.compose();
    c->m = info.setup;
    core.count_sent();
    begin_for_all(c);
    return work::some;
  }
  [[nodiscard]] constexpr work next_of_all() noexcept {
    message& m = m_everywhere->m;
    m.target = m_slot++;
    const std::uint32_t home = core.home_of(m);
    if (home == core.self() && is_its_turn(m))
      return run_next(m_everywhere, core.object(m.array, m.target), m.entry, for_all);
    // By way of a message of its own, which is kept or follows.
    cell* const c = core.compose();
    message& copy = c->m;
    copy = m;
    copy.set(message_kind::entry, m.place(), m.has_reference());
    core.send(c, home);
    if (m_slot == m_last_slot) end_for_all();
    return work::some;
  }
  [[nodiscard]] constexpr bool is_its_turn(const message& m) const noexcept {
    return !m.has_reference() ||
           reference_of(m) == core.object(m.array, m.target)->native().expected;
  }
  constexpr void end_for_all() noexcept {
    end_message(m_everywhere);
    m_everywhere = nullptr;
  }

  // --- the leader: what comes behind

  /// Whether there was something to be done behind it, which may have sent more.
  constexpr bool end_entry() noexcept {
    cell* const c = m_current;
    m_current = nullptr;
    ++m_entries_run;
    if (behind != 0) change(m_object->native());
    core.end.set_running(nullptr, no_entry);
    if (behind == 0)
      core.finish(c);
    else if ((behind & for_all) == 0)
      end_message(c);
    else if (m_slot == m_last_slot)
      end_for_all();
    return (behind & ~tells) != 0;
  }
  constexpr void change(element& e) noexcept {
    if ((behind & expects) != 0) core.look_into_stash(e);
    if ((behind & moves) != 0) core.migrate(e, moves_to);
  }
  /// Gives back what the message has lent.
  constexpr void end_message(cell* c) noexcept {
    const message& m = c->m;
    if (m.place() != payload_place::none) {
      const auto p = read_at<payload>(m, 0);
      if (m.place() == payload_place::block)
        core.give_back_block(p);
      else if (m.place() == payload_place::staged)
        core.heap.give_back(p.number);
      else if (m.place() == payload_place::reference)
        core.send_arrival({p.scheduler, p.number}, p.array, p.extra, 1);
    }
    core.finish(c);
  }

  // --- all threads

  [[gnu::always_inline]] constexpr void run(Group& group) noexcept {
    const message& m = m_order.text(m_current);
    chare* const object = m_order.object(m_object);
    context_type cx(*this, group, object->native());
    const auto call = [&]<auto Method>() { call_entry<Method>(cx, core, object, m); };
    table::visit(m.entry, call);
    // Before those messages leave that were sent behind it, which may rely on it.
    if (group.rank() == 0 && (behind & tells) != 0) channels.flush();
  }

  rest_finder<Group> m_rest;
  reducer<Group> m_reductions;
  std::uint64_t m_entries_run = 0;
  stall_watch<Group> m_stall;
  std::uint32_t m_steps = 0;
  cell* m_current = nullptr;     // the message that is run
  chare* m_object = nullptr;     // and its element
  cell* m_everywhere = nullptr;  // one that is run for all elements
  std::uint32_t m_slot = 0;      // the next one of these
  std::uint32_t m_last_slot = 0;
  std::uint32_t m_arrays_set_up = 0;
  bool m_sets_up = true;
  cell_list m_too_early;  // contributions to reductions that cannot begin yet
  step_order<Group> m_order;
};

}  // namespace detail
}  // namespace starling::resident
