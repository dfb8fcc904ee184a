// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <starling/resident/channel.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// The channel ends of a scheduler's elements. Used by the leader only.
///
/// Sends and releases are recorded, and the peer ends are notified together (`flush`): on a device
/// a fence takes up to 0.6 µs, however many writes it orders.
template <class Group>
class channel_table {
 public:
  static constexpr std::uint32_t most = most_channels;
  static constexpr std::uint64_t most_bytes = 0xffffff80;

  constexpr explicit channel_table(scheduler_core<Group>& core) noexcept : m_core(&core) {}

  /// Opens the receiving end `in` of `e`. `offsets`: of the sending end and its counter in the peer
  /// element.
  constexpr void open(element_state& e, channel_in_state& in, std::uint64_t bytes,
                      counter_state& counter, std::uint32_t peer_array, std::uint32_t peer_index,
                      channel_offsets offsets) noexcept {
    if (in.is_open != 0) return m_core->fail(failure::channel_open, 0, 0);
    if (m_count == most) return m_core->fail(failure::no_channels, most, most);
    if (bytes > most_bytes) return m_core->fail(failure::payload_too_big, bytes, most_bytes);
    std::byte* const buffers =
        m_core->memory.allocate(std::uint64_t(channel_depth) * whole_lines(bytes));
    if (buffers == nullptr) return;
    const location peer = m_core->locate(peer_array, peer_index);
    const world& w = m_core->shared();
    const std::uint32_t device = w.device_of(peer.scheduler);
    const array_info& info = w.array(m_core->device(), peer_array);
    const std::uint64_t out =
        info.objects + std::uint64_t(peer.slot) * info.stride + offsets.member;
    in.bytes = static_cast<std::uint32_t>(bytes);
    in.buffers = buffers;
    in.acknowledged = &w.template at<channel_out_state>(device, out)->acknowledged;
    in.is_beside = device == m_core->device() ? 1 : 0;
    in.room = offsets.counter;
    in.peer_array = peer_array;
    in.peer_slot = peer.slot;
    in.peer_scheduler = peer.scheduler;
    in.is_open = 1;
    ++e.channels;
    m_in[m_count] = {&in, m_core->object(e.array, e.slot), &counter};
    channel_opening opening;
    opening.offsets = offsets;
    opening.scheduler = m_core->self();
    opening.number = m_count++;
    opening.bytes = in.bytes;
    opening.buffers = m_core->memory.address_of(buffers);
    opening.peer = m_core->memory.address_of(reinterpret_cast<std::byte*>(&in));
    m_core->in.watch_channels(m_count);
    cell* const c = m_core->compose();
    message& m = c->m;
    m.set(message_kind::opening);
    m.array = static_cast<std::uint8_t>(peer_array);
    m.target = peer.slot;
    m.bytes = sizeof(opening);
    write_at(m, 0, opening);
    m_core->send(c, peer.scheduler);
  }
  /// Opens the sending end in `e`: the element with the receiving end has sent the opening message
  /// `m`.
  constexpr void be_opened(element_state& e, const message& m) noexcept {
    chare& object = *m_core->object(e.array, e.slot);
    const auto opening = read_at<channel_opening>(m, 0);
    const world& w = m_core->shared();
    auto& state = *reinterpret_cast<channel_out_state*>(reinterpret_cast<std::byte*>(&object) +
                                                        opening.offsets.member);
    if (state.is_open != 0) return m_core->fail(failure::channel_open, 0, 0);
    state.bytes = opening.bytes;
    state.peer = w.at<channel_in_state>(opening.peer);
    state.buffers = w.at<std::byte>(opening.buffers);
    state.arrived = w.line(opening.scheduler)->arrived + opening.number;
    state.is_beside = w.device_of(opening.scheduler) == m_core->device() ? 1 : 0;
    state.is_open = 1;
    if (is_far(state)) state.outgoing = m_core->memory.allocate(state.bytes);
    m_core->arrive(e, counter_at(object, opening.offsets.counter), channel_depth);
  }

  /// Returns where the next send is to be written; null after a failure.
  [[nodiscard]] constexpr std::byte* begin_send(channel_out_state& out,
                                                std::uint64_t bytes) noexcept {
    if (!find_room(out, bytes)) return nullptr;
    return is_far(out) ? out.outgoing : next_buffer(out);
  }
  /// Completes a send that the group wrote, `count` elements of `bytes` in all; the receiver is
  /// notified at the next `flush`.
  constexpr void end_send(channel_out_state& out, std::uint32_t count,
                          std::uint32_t bytes) noexcept {
    if (is_far(out)) Group::copy(next_buffer(out), out.outgoing, bytes);
    describe(out, count, nullptr);
  }
  /// Sends data of this device without a copy: the receiver, on the same device, reads it in place.
  constexpr void lend(channel_out_state& out, const std::byte* data, std::uint32_t count,
                      std::uint64_t bytes) noexcept {
    if (!find_room(out, bytes)) return;
    describe(out, count, bytes == 0 ? nullptr : data);
  }
  /// Returns the data of send `number`.
  [[nodiscard]] constexpr const std::byte* data(const channel_in_state& in,
                                                std::uint32_t number) const noexcept {
    const std::uint64_t lent = in.lent[number % channel_depth];
    if (lent != 0) return reinterpret_cast<const std::byte*>(lent);
    return in.buffers + std::uint64_t(number % channel_depth) * whole_lines(in.bytes);
  }
  constexpr void release(channel_in_state& in) noexcept {
    note(m_releases, in, in.released);
    ++in.released;
  }
  constexpr void return_room(channel_in_state& in) noexcept {
    release(in);
    m_core->send_arrival({in.peer_scheduler, in.peer_slot}, in.peer_array, in.room, 1);
  }

  /// Notifies the peer ends of recorded sends and releases, after one fence for all data that was
  /// written for a send or read before a release.
  constexpr void flush() noexcept {
    if (m_releases == nullptr && m_sends == nullptr) return;
    std::exchange(m_tells_far, false) ? Group::release_data() : Group::release_beside();
    for (auto* in = std::exchange(m_releases, nullptr); in != nullptr; in = in->next)
      Group::store_fenced(in->acknowledged, in->told = in->released);
    for (auto* out = std::exchange(m_sends, nullptr); out != nullptr; out = out->next)
      Group::store_fenced(out->arrived, out->told = out->sent);
  }

  /// Counts arrived sends. Returns false if there are none. For an entry method that waited for
  /// them, calls run(object, message); if that returns false, the entry method is queued as a
  /// message.
  template <class Run>
  [[nodiscard]] constexpr bool poll(Run run) noexcept {
    if (m_count == 0 || !m_core->in.has_channels()) return false;
    m_core->in.begin_channels();
    for (std::uint32_t i = 0; i < m_count; ++i) {
      const std::uint32_t arrived = m_core->in.arrived_on(i);
      if (arrived != m_in[i].seen) arrive(m_in[i], arrived, run);
    }
    return true;
  }
  [[nodiscard]] constexpr bool poll() noexcept {
    return poll([](chare&, const message&) { return false; });
  }

 private:
  /// Finds room for a send. Returns false after a failure. Tests again after `make_room`: the
  /// compiler then knows the values, and the code that follows does not load them again.
  [[nodiscard]] constexpr bool find_room(const channel_out_state& out,
                                         std::uint64_t bytes) noexcept {
    for (bool has_room = false; !fits(out, bytes) && !has_room; has_room = true)
      if (!make_room(out, bytes)) return false;
    return true;
  }
  /// Returns whether a send fits, by values that may be out of date.
  [[nodiscard]] constexpr bool fits(const channel_out_state& out,
                                    std::uint64_t bytes) const noexcept {
    const bool has_room = out.sent - Group::load_stale_credit(&out.acknowledged) < channel_depth;
    return has_room & (out.is_open != 0) & (bytes <= out.bytes);
  }
  /// Called if a send does not seem to fit. A release may still be in flight although later
  /// messages of the peer have arrived; or it is recorded in this object, if both ends are on this
  /// scheduler. So this function flushes, and waits at most 100 ms. Returns false after a failure.
  [[nodiscard]] constexpr bool make_room(const channel_out_state& out,
                                         std::uint64_t bytes) noexcept {
    if (out.is_open == 0) return refuse(failure::channel_closed, 0, 0);
    if (bytes > out.bytes) return refuse(failure::payload_too_big, bytes, out.bytes);
    constexpr std::uint64_t most_ns = 100'000'000;
    flush();
    for (const std::uint64_t last = Group::now_ns() + most_ns;;) {
      const bool is_over = Group::now_ns() > last;
      if (out.sent - Group::load_acquire(&out.acknowledged) < channel_depth) return true;
      if (is_over) return refuse(failure::channel_full, channel_depth, 0);
      Group::give_way();
    }
  }
  [[nodiscard]] constexpr bool refuse(failure why, std::uint64_t first,
                                      std::uint64_t second) noexcept {
    m_core->fail(why, first, second);
    return false;
  }
  constexpr void describe(channel_out_state& out, std::uint32_t count,
                          const std::byte* lent) noexcept {
    const std::uint32_t sent = out.sent, which = sent % channel_depth;
    channel_in_state& in = *out.peer;
    out.sent = sent + 1;
    note(m_sends, out, sent);
    m_core->count_sent();
    Group::store(&in.counts[which], count);
    if (out.is_beside != 0) Group::store(&in.lent[which], reinterpret_cast<std::uint64_t>(lent));
  }
  /// Adds an end to the list `first` of unflushed ends. `number`: the end's count of sends or
  /// releases before this operation.
  template <class End>
  constexpr void note(End*& first, End& end, std::uint32_t number) noexcept {
    if (end.told != number) return;  // the end is in the list already
    m_tells_far |= end.is_beside == 0;
    end.next = first;
    first = &end;
  }
  /// Returns the receiver's buffer for the next send.
  [[nodiscard]] constexpr std::byte* next_buffer(const channel_out_state& out) const noexcept {
    return out.buffers + std::uint64_t(out.sent % channel_depth) * whole_lines(out.bytes);
  }
  /// Returns whether the receiver's buffers are not mapped here.
  [[nodiscard]] constexpr bool is_far(const channel_out_state& out) const noexcept {
    if constexpr (Group::reaches_all)
      return false;
    else
      return detail::is_far(out.buffers);
  }
  /// A receiving end, and the pointers that the leader needs when data arrives. They are stored
  /// together here, because each of them would have to be read from the element.
  struct receiving_end {
    channel_in_state* state;
    chare* object;
    counter_state* counter;
    std::uint32_t seen = 0;  // copy of `state->seen`
  };
  template <class Run>
  constexpr void arrive(receiving_end& in, std::uint32_t arrived, Run& run) noexcept {
    const std::uint32_t fresh = arrived - in.seen;
    in.state->seen = in.seen = arrived;
    m_core->count_done(fresh);
    counter_state& counter = *in.counter;
    if (!count_for(in.object->state(), counter, fresh)) return;
    if (!run(*in.object, counter.then)) m_core->send_what_waited(counter);
  }

  scheduler_core<Group>* m_core;
  channel_out_state* m_sends = nullptr;    // ends with unflushed sends
  channel_in_state* m_releases = nullptr;  // ends with unflushed releases
  bool m_tells_far = false;  // an end in one of the lists has its peer on another device
  receiving_end m_in[most] = {};
  std::uint32_t m_count = 0;
};

}  // namespace starling::resident::detail
