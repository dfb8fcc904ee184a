// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <tuple>
#include <utility>

#include <starling/objects/detail/remote_entry.hpp>

/// Insertions of elements, also where an earlier element with the same index has migrated:
/// docs/design/0051-indices-used-again.md.
namespace starling::detail {

/// Throws usage_error for an insertion. `exists`: the element exists already; otherwise the array
/// takes no more elements.
[[noreturn]] void throw_not_insertable(bool exists);

/// The insertion of an element with the index of an earlier one that has migrated. It follows the
/// messages to that element to wherever it is, and comes back to the home with its state: there it
/// makes the new element.
template <class T, class Arguments>
class insert_message final : public work_item, public pooled<block_kind::state> {
 public:
  insert_message(const address<T>& to, Arguments args)
      : work_item(&run, &drop, &name), m_to(to), m_args(std::move(args)) {}

  /// The earlier element has not been destroyed.
  static void deliver_to(work_item& m, local_elements& here, T&) noexcept {
    auto& self = static_cast<insert_message&>(m);
    self.m_to.local = &here;
    self.fail([] { throw_not_insertable(true); });
    delete &self;
  }
  static void miss(work_item& m) noexcept {
    auto& self = static_cast<insert_message&>(m);
    self.fail([&self, &at = self.m_to] {
      array_of<T>& array = at.array();
      const std::uint32_t first = array.begin_again(*at.local, at.to);
      std::apply([&](auto&... a) { array.make(*at.local, at.to, first, std::move(a)...); },
                 self.m_args);
    });
    delete &self;
  }
  static void write(work_item& m, job&, const value_user& use) {
    if constexpr (travels<Arguments>)
      use_values(use, number_of_maker<message_maker<T, insert_message>>,
                 static_cast<insert_message&>(m).m_args);
    else
      refuse_to_travel<Arguments>("insert");
  }
  static insert_message& make(const address<T>& to, input_archive& ar) {
    return *new insert_message(to, ar.read<Arguments>());
  }

 private:
  static constexpr named_location name{"", "starling: insertion"};
  /// Only the home makes such messages, for elements that have migrated.
  static void run(void* item) noexcept {
    auto* self = static_cast<insert_message*>(static_cast<work_item*>(item));
    self->fail([self] { throw_unexpected_insertion(self->m_to.array().name_of(self->m_to.to)); });
    delete self;
  }
  static void drop(void* item) noexcept {
    delete static_cast<insert_message*>(static_cast<work_item*>(item));
  }
  /// Calls `f()`; its exception ends the run.
  template <class F>
  void fail(const F& f) const noexcept {
    std::exception_ptr error;
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    if (error) m_to.fail(constructor_info, error);
  }

  address<T> m_to;
  Arguments m_args;
};

// --- an earlier element with the same index has migrated

template <class T>
template <class Construct>
T* array_of<T>::make_again(local_elements& home, const key& k, Construct construct) {
  auto& e = entry(home.index, k);
  try {
    T* const made = construct(e.destroyed);
    e.element = made;
    e.here->put_back(e.waiting);
    return made;
  } catch (...) {  // the constructor has ended the state if it has begun
    if (e.destroyed == nullptr) e.here = nullptr;
    throw;
  }
}

template <class T>
std::uint32_t array_of<T>::begin_again(local_elements& home, const key& k) {
  auto& e = entry(home.index, k);
  if (e.insertions.empty() || e.destroyed == nullptr) throw_unexpected_insertion(name_of(k));
  const std::uint32_t first = e.insertions.front();
  e.insertions.erase(e.insertions.begin());
  return home.reductions->begin_after(e.next_reduction, first);
}

template <class T>
bool array_of<T>::keep_waiting(local_elements& home, typename directory::entry& e,
                               tracked_message<T>& m) {
  const bool may_be_made = home.may_get_elements() || !e.insertions.empty();
  if (is_closed() || !may_be_made || m.position.drops_if_missing) return false;
  const if_missing what = m.without_element();
  if (what == if_missing::ends || (makes_on_demand() && what == if_missing::waits)) return false;
  if (makes_on_demand() && make_for(m)) return false;
  e.waiting.push(m);
  return true;
}

/// Makes the element for its first message. If its constructor throws, returns false: the run ends,
/// and the message stays unanswered.
template <class T>
bool array_of<T>::make_for(const tracked_message<T>& m) {
  try {
    make_on_demand(*m.to().local, m.to().to);
    return true;
  } catch (...) {
    m.to().fail(constructor_info, std::current_exception());
    return false;
  }
}

template <class T>
void array_of<T>::replay_waiting(const local_elements& home) noexcept {
  tracked_list all;
  m_tracked.for_each(home.index, [&all](const key&, typename directory::entry& e) {
    if (e.insertions.empty()) all.take(e.waiting);
  });
  while (tracked_item* m = all.pop())
    static_cast<tracked_message<T>*>(m)->deliver(local(home.index), nullptr);
}

// --- insertions

/// Makes the element on its home. Ends the run when that fails. `position`: the number in the
/// sender's sequence, if there is one.
template <class T, class Arguments>
void insert_here(const address<T>& at, Arguments& args, const ticket& position) {
  array_of<T>& array = at.array();
  if (array.is_closed()) return;
  const std::uint32_t first = at.local->reductions->join_inserted();
  try {
    if (!at.local->takes_more || at.find() != nullptr) throw_not_insertable(at.local->takes_more);
    if (at.is_tracked()) {
      array.expect_again(*at.local, at.to, first);
      return pass_on_from_home(at, *new insert_message<T, Arguments>(at, std::move(args)),
                               position);
    }
    std::apply([&](auto&... a) { array.make(*at.local, at.to, first, std::move(a)...); }, args);
  } catch (...) {  // reductions that wait for the element end with the run
    return at.fail(constructor_info, std::current_exception());
  }
  array.replay_early(*at.local, at.to);
}

template <class T, class Arguments>
struct remote_insertion {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto at = read_address<T>(a, ar);
    ticket position{.priority = a.priority()};
    ar(position.sender, position.number);
    a.require(!position.has_sender() || position.sender < a.space().worker_total(),
              "an insertion by a worker that does not exist");
    auto args = ar.read<Arguments>();
    require_end(ar);
    at.local->reductions->expect_insertion();
    insert_here(at, args, position);
  }
};

/// Sends an insertion to the element's home. `position`: see insert_here.
template <class T, class Arguments>
void send_insertion_home(const address<T>& at, const remote_way& way, Arguments args,
                         const ticket& position) {
  if (at.local->home != nullptr) {
    at.local->reductions->expect_insertion();
    send_call(
        *at.local->home,
        [at, args = std::move(args), position]() mutable { insert_here(at, args, position); },
        way.priority);
  } else if constexpr (travels<typename address<T>::key> && travels<Arguments>) {
    job& j = *at.array().space().current_job();
    j.send(int(at.local->index),
           make_remote_for<remote_insertion<T, Arguments>>(j, way, at.array().id(), at.to,
                                                           position.sender, position.number, args));
  } else {
    refuse_to_travel<typename address<T>::key, Arguments>("insert");
  }
}

/// Inserts an element. If elements of its home have migrated, the insertion is numbered: then no
/// later message of the sender precedes it, which may not go by way of the home.
template <class T, class Arguments>
void send_insertion(const address<T>& at, const remote_way& way, Arguments args) {
  array_of<T>& array = at.array();
  worker* const here = at.local->has_tracked() ? worker_beside(array) : nullptr;
  ticket position{.priority = way.priority};
  if (here == nullptr) return send_insertion_home(at, way, std::move(args), position);
  auto& e = array.entry(here->index(), at.to);
  number_at_sender(e, array.worker_number(*here), way.priority, position);
  try {
    send_insertion_home(at, way, std::move(args), position);
  } catch (...) {
    --e.sent[std::size_t(way.priority)];  // the number is not used
    throw;
  }
}

}  // namespace starling::detail
