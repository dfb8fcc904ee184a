// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/detail/counters.hpp>
#include <starling/resident/detail/scheduler.hpp>

/// Composition of messages to entry methods.
namespace starling::resident::detail {

template <class T>
struct lent {
  std::span<const T> data;
  counter* returned;
};

/// Returns the offset of a member, which the Itanium ABI stores in a pointer to member.
template <class Member, class Class>
[[nodiscard]] constexpr std::uint32_t offset_of(Member Class::*member) noexcept {
  static_assert(sizeof(member) == sizeof(std::ptrdiff_t));
  return static_cast<std::uint32_t>(std::bit_cast<std::ptrdiff_t>(member));
}

/// Writes the plain arguments at their offsets.
template <class... Params, class... Args>
constexpr void fill(message& m, parameters<Params...>, const Args&... args) noexcept {
  using all = parameters<Params...>;
  std::size_t i = 0;
  [[maybe_unused]] const auto write = [&]<class Param, class Arg>(std::type_identity<Param>,
                                                                  const Arg& arg) {
    if constexpr (!is_span<Param>) write_at(m, all::offset(i), static_cast<Param>(arg));
    ++i;
  };
  (write(std::type_identity<Params>(), args), ...);
}

/// Writes a message without a span, to an element by index or slot.
template <class Table, auto Method, class... Args>
constexpr void write_plain(message& m, std::uint32_t array, std::uint32_t target,
                           const Args&... args) noexcept {
  using all = typename types_of<Method>::arguments;
  static_assert(!all::has_span(), "this message cannot have a span");
  message_head head;
  head.target = target;
  head.entry = Table::template number<Method>();
  head.array = static_cast<std::uint8_t>(array);
  head.bytes = static_cast<std::uint8_t>(all::bytes());
  head.set(message_kind::entry, payload_storage::none, is_referenced<Method>());
  set_head(m, head);
  fill(m, all{}, args...);
}

/// Composes a message to `Method` and sends it. All threads of the group call the public members.
template <class Context, auto Method>
class composer {
  using scheduler = typename Context::scheduler;
  using table = typename scheduler::table;
  using all = typename types_of<Method>::arguments;

 public:
  constexpr composer(Context& cx, scheduler& by, element_state& self) noexcept
      : m_cx(&cx), m_scheduler(&by), m_self(&self) {}

  template <template <class> class Chare, class... Args>
  constexpr void to_element(element_ref<Chare> to, const Args&... args) {
    if constexpr (all::has_span()) return send_span(to, last(args...), args...);
    if (!m_cx->is_leader() || !m_cx->is_there(to)) return;
    if constexpr (!all::has_span()) {
      auto& core = m_scheduler->core;
      const location there = core.locate(to.array(), to.index());
      const auto write = [&](message& m) {
        write_plain<table, Method>(m, to.array(), there.slot, args...);
      };
      core.template send_made<message_kind::entry>(there.scheduler, units_of(all::bytes()),
                                                   m_scheduler->may_leave(), write);
    }
  }
  template <template <class> class Chare, class... Args>
  constexpr void to_all(chare_array<Chare> to, const Args&... args) {
    if constexpr (all::has_span()) return broadcast_span(to, last(args...), args...);
    if (!m_cx->is_leader() || !m_cx->is_array(to)) return;
    if constexpr (!all::has_span()) {
      cell* const c = m_scheduler->core.compose();
      message& m = c->m;
      write_plain<table, Method>(m, to.number(), 0, args...);
      m.set(message_kind::broadcast, payload_storage::none, is_referenced<Method>());
      m_scheduler->core.send(c, 0);
    }
  }

 private:
  template <class First, class... Rest>
  [[nodiscard]] static constexpr const auto& last(const First& first,
                                                  const Rest&... rest) noexcept {
    if constexpr (sizeof...(Rest) == 0)
      return first;
    else
      return last(rest...);
  }
  template <class Data>
  [[nodiscard]] static constexpr auto as_span(const Data& data) noexcept {
    return typename all::span(data);
  }

  [[nodiscard]] constexpr message& composed() noexcept { return m_scheduler->composed->m; }
  /// Called by the leader: writes head and plain arguments of the message that the group composes.
  template <class... Args>
  constexpr void begin(std::uint32_t array, std::uint32_t target, const Args&... args) noexcept {
    m_scheduler->composed = m_scheduler->core.compose();
    message& m = composed();
    m.target = target;
    m.entry = table::template number<Method>();
    m.array = static_cast<std::uint8_t>(array);
    m.bytes = static_cast<std::uint8_t>(all::bytes());
    fill(m, all{}, args...);
  }
  constexpr void describe(message_kind kind, payload_storage storage, const payload& p) noexcept {
    composed().set(kind, storage, is_referenced<Method>());
    write_at(composed(), 0, p);
  }
  /// Returns whether the span fits into the message itself.
  [[nodiscard]] static constexpr bool is_inlined(std::size_t bytes) noexcept {
    return all::inlined_offset() + bytes <= inline_bytes;
  }
  /// Returns room in the message itself, or null.
  [[nodiscard]] constexpr std::byte* inline_room(message_kind kind, std::size_t count,
                                                 std::size_t bytes) noexcept {
    constexpr std::size_t at = all::inlined_offset();
    if (!is_inlined(bytes)) return nullptr;
    message& m = composed();
    m.bytes = static_cast<std::uint8_t>(at + bytes);
    payload p;
    p.count = static_cast<std::uint32_t>(count);
    describe(kind, payload_storage::inlined, p);
    return reinterpret_cast<std::byte*>(m.arguments + at);
  }
  /// Returns room in a payload block of the destination, or in the heap, where the span waits for
  /// such a block; null after a failure.
  [[nodiscard]] constexpr std::byte* block_room(std::uint32_t destination, std::size_t count,
                                                std::size_t bytes) noexcept {
    auto& core = m_scheduler->core;
    const world& w = core.shared();
    if (bytes > w.l.block_bytes) return too_big(bytes, w.l.block_bytes);
    payload p;
    p.count = static_cast<std::uint32_t>(count);
    p.scheduler = static_cast<std::uint16_t>(destination);
    p.device = static_cast<std::uint8_t>(core.device());
    p.extra = static_cast<std::uint32_t>(bytes);
    p.number = core.out.take_block(destination);
    if (p.number != ~0u) {
      describe(message_kind::entry, payload_storage::block, p);
      return w.block(destination, core.device(), p.number);
    }
    p.number = core.heap.take_block();
    if (p.number == no_block) {
      core.fail(failure::no_blocks, core.out.staged(), core.heap.left());
      return nullptr;
    }
    describe(message_kind::entry, payload_storage::staged, p);
    return core.heap.block(p.number);
  }
  constexpr std::byte* too_big(std::size_t bytes, std::size_t most) noexcept {
    m_scheduler->core.fail(failure::payload_too_big, bytes, most);
    return nullptr;
  }

  /// Copies the span with all threads and synchronizes them. Where a group has several blocks, only
  /// threads of the first block copy into the message itself, which may be in that block's shared
  /// memory.
  template <class Span>
  constexpr void copy(Span data) noexcept {
    using group = typename Context::group_type;
    using value = typename Span::value_type;
    auto* const to = reinterpret_cast<value*>(m_scheduler->data);
    if (to == nullptr) return;
    if (group::is_wide && is_inlined(data.size_bytes()))
      copy_by_all(near_threads(m_cx->group()), to, std::span<const value>(data));
    else
      copy_by_all(*m_cx, to, std::span<const value>(data));
    m_cx->sync();
  }
  constexpr void finish(std::uint32_t destination) noexcept {
    if (m_scheduler->data != nullptr)
      m_scheduler->core.send(m_scheduler->composed, destination, may_leave());
    else if (m_scheduler->composed != nullptr)
      m_scheduler->core.drop(m_scheduler->composed);
  }

  template <template <class> class Chare, class Data, class... Args>
  constexpr void send_span(element_ref<Chare> to, const Data& given, const Args&... args) {
    const auto data = as_span(given);
    location there;
    m_cx->once_for_data([&] {
      m_scheduler->data = nullptr;
      m_scheduler->composed = nullptr;
      if (!m_cx->is_there(to)) return;
      there = m_scheduler->core.locate(to.array(), to.index());
      begin(to.array(), there.slot, args...);
      std::byte*& room = m_scheduler->data;
      room = inline_room(message_kind::entry, data.size(), data.size_bytes());
      if (room == nullptr) room = block_room(there.scheduler, data.size(), data.size_bytes());
    });
    copy(data);
    m_cx->once([&] { finish(there.scheduler); });
  }
  template <template <class> class Chare, class Data, class... Args>
  constexpr void broadcast_span(chare_array<Chare> to, const Data& given, const Args&... args) {
    const auto data = as_span(given);
    m_cx->once_for_data([&] {
      m_scheduler->data = nullptr;
      m_scheduler->composed = nullptr;
      if (!m_cx->is_array(to)) return;
      begin(to.number(), 0, args...);
      m_scheduler->data = inline_room(message_kind::broadcast, data.size(), data.size_bytes());
      if (m_scheduler->data == nullptr) too_big(data.size_bytes(), inline_bytes);
    });
    copy(data);
    m_cx->once([&] { finish(0); });
  }
  template <template <class> class Chare, class T, class... Args>
  constexpr void send_span(element_ref<Chare> to, const lent<T>& given, const Args&... args) {
    m_cx->sync();  // all threads have written
    if (!m_cx->is_leader() || !m_cx->is_there(to)) return;
    auto& core = m_scheduler->core;
    const auto* const at = reinterpret_cast<const std::byte*>(given.data.data());
    if (!core.memory.is_shared(at, given.data.size_bytes()))
      return core.fail(failure::not_shared, 0, 0);
    begin(to.array(), to.index(), args...);
    payload p;
    p.lent = core.memory.address_of(at);
    p.count = static_cast<std::uint32_t>(given.data.size());
    p.scheduler = static_cast<std::uint16_t>(core.self());
    p.array = static_cast<std::uint8_t>(m_self->array);
    p.number = m_self->slot;
    p.extra = offset_in(*m_self, given.returned);
    describe(message_kind::entry, payload_storage::reference, p);
    core.send(m_scheduler->composed, core.resolve(composed()));
  }

  /// Returns whether the message may leave before the entry method ends: not a broadcast, which
  /// must keep its order, nor a message that waits for a payload block.
  [[nodiscard]] constexpr bool may_leave() noexcept {
    return composed().kind() == message_kind::entry &&
           composed().storage() != payload_storage::staged && m_scheduler->may_leave();
  }

  Context* m_cx;
  scheduler* m_scheduler;
  element_state* m_self;
};

}  // namespace starling::resident::detail
