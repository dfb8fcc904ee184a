// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <starling/resident/channel.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// The ends of channels of a scheduler's elements. Used by the leader.
///
/// What is sent and released is noted, and the other ends are told together (`flush`): on a device
/// a fence takes about a microsecond, however much is behind it.
template <class Group>
class channel_table {
 public:
  static constexpr std::uint32_t most = most_channels;
  static constexpr std::uint64_t most_bytes = 0xffffff80;

  constexpr explicit channel_table(scheduler_core<Group>& core) noexcept : m_core(&core) {}

  /// Opens the receiving end `in` of `e`. `opening` says where the peer keeps the sending end.
  constexpr void open(element& e, channel_in_state& in, std::uint64_t bytes, std::uint32_t counter,
                      std::uint32_t peer_array, std::uint32_t peer_index,
                      channel_opening opening) noexcept {
    if (in.is_open != 0) return m_core->fail(failure::channel_open, 0, 0);
    if (m_count == most) return m_core->fail(failure::no_channels, most, most);
    if (bytes > most_bytes) return m_core->fail(failure::payload_too_big, bytes, most_bytes);
    std::byte* const buffers = m_core->allocate(std::uint64_t(channel_depth) * whole_lines(bytes));
    if (buffers == nullptr) return;
    const location peer = m_core->locate(peer_array, peer_index);
    const world& w = m_core->where();
    const std::uint32_t device = w.device_of(peer.scheduler);
    const array_info& info = w.array(m_core->device(), peer_array);
    in.array = e.array;
    in.slot = e.slot;
    in.counter = counter;
    in.bytes = static_cast<std::uint32_t>(bytes);
    in.buffers = m_core->address_of(buffers);
    in.peer =
        address::of(device, info.objects + std::uint64_t(peer.slot) * info.stride + opening.member);
    in.room = opening.counter;
    in.peer_array = peer_array;
    in.peer_slot = peer.slot;
    in.peer_scheduler = peer.scheduler;
    in.is_open = 1;
    ++e.channels;
    m_in[m_count] = &in;
    channel_out_state& out = opening.state;
    out.is_open = 1;
    out.scheduler = m_core->self();
    out.number = m_count++;
    out.bytes = in.bytes;
    out.buffers = in.buffers;
    out.peer = m_core->address_of(reinterpret_cast<std::byte*>(&in));
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
  /// The peer has opened a channel from `e`, which has the sending end.
  constexpr void be_opened(element& e, const message& m) noexcept {
    chare& object = *m_core->object(e.array, e.slot);
    const auto opening = read_at<channel_opening>(m, 0);
    auto* const out = reinterpret_cast<std::byte*>(&object) + opening.member;
    auto& state = *reinterpret_cast<channel_out_state*>(out);
    state = opening.state;
    if (is_far(state)) state.outgoing = m_core->allocate(state.bytes);
    m_core->arrive(e, m_core->counter_at(object, opening.counter), channel_depth);
  }

  /// Where the next send is to be written; null after a failure.
  [[nodiscard]] constexpr std::byte* begin_send(channel_out_state& out,
                                                std::uint64_t bytes) noexcept {
    if (out.is_open == 0) {
      m_core->fail(failure::channel_closed, 0, 0);
    } else if (bytes > out.bytes) {
      m_core->fail(failure::payload_too_big, bytes, out.bytes);
    } else if (!has_room(out)) {
      m_core->fail(failure::channel_full, channel_depth, 0);
    } else {
      return is_far(out) ? out.outgoing : place_of_next(out);
    }
    return nullptr;
  }
  /// What the group wrote, `count` elements of `bytes` in all, is for the receiver, once it is
  /// told.
  constexpr void end_send(channel_out_state& out, std::uint32_t count,
                          std::uint32_t bytes) noexcept {
    if (is_far(out)) Group::copy(place_of_next(out), out.outgoing, bytes);
    end_send(out, count, address());
  }
  /// Whether the receiver is on this device. For all threads.
  [[nodiscard]] constexpr bool is_beside(const channel_out_state& out) const noexcept {
    return is_beside(out.scheduler);
  }
  /// The same with what lies elsewhere on this device.
  constexpr void lend(channel_out_state& out, const std::byte* data, std::uint32_t count,
                      std::uint64_t bytes) noexcept {
    if (begin_send(out, bytes) != nullptr)
      end_send(out, count, bytes == 0 ? address() : m_core->address_of(data));
  }
  [[nodiscard]] constexpr const std::byte* data(const channel_in_state& in) const noexcept {
    const world& w = m_core->where();
    const address lent = in.lent[in.released % channel_depth];
    if (lent.bits != 0) return w.at<std::byte>(lent);
    return w.at<std::byte>(in.buffers) +
           std::uint64_t(in.released % channel_depth) * whole_lines(in.bytes);
  }
  constexpr void release(channel_in_state& in) noexcept {
    note(m_releases, in, in.released, in.peer_scheduler);
    ++in.released;
  }
  constexpr void return_room(channel_in_state& in) noexcept {
    release(in);
    m_core->send_arrival({in.peer_scheduler, in.peer_slot}, in.peer_array, in.room, 1);
  }

  /// Tells the other ends what was sent and released, behind one fence for what was written and
  /// for what was read, and so used.
  constexpr void flush() noexcept {
    if (m_releases == nullptr && m_sends == nullptr) return;
    std::exchange(m_tells_far, false) ? Group::release_data() : Group::release_nearby();
    for (; m_releases != nullptr; m_releases = m_releases->next)
      Group::store_fenced(&peer_of(*m_releases).acknowledged,
                          m_releases->told = m_releases->released);
    for (; m_sends != nullptr; m_sends = m_sends->next)
      Group::store_fenced(m_core->where().line(m_sends->scheduler)->arrived + m_sends->number,
                          m_sends->told = m_sends->sent);
  }

  /// Counts what has arrived. False: nothing.
  [[nodiscard]] constexpr bool poll() noexcept {
    if (m_count == 0 || !m_core->in.has_channels()) return false;
    m_core->in.begin_channels();
    for (std::uint32_t i = 0; i < m_count; ++i) {
      const std::uint32_t arrived = m_core->in.arrived_on(i);
      if (arrived != m_seen[i]) arrive(*m_in[i], arrived - m_seen[i]);
      m_seen[i] = arrived;
    }
    return true;
  }

 private:
  [[nodiscard]] constexpr bool is_beside(std::uint32_t scheduler) const noexcept {
    return m_core->where().device_of(scheduler) == m_core->device();
  }
  constexpr void end_send(channel_out_state& out, std::uint32_t count, address lent) noexcept {
    channel_in_state& in = peer_of(out);
    Group::store(&in.counts[out.sent % channel_depth], count);
    if (is_beside(out)) Group::store(&in.lent[out.sent % channel_depth].bits, lent.bits);
    m_core->count_sent();
    note(m_sends, out, out.sent, out.scheduler);
    ++out.sent;
  }
  /// Into a list of those that have more than was `told`, `number` up to now, to tell `peer`.
  template <class End>
  constexpr void note(End*& first, End& end, std::uint32_t number, std::uint32_t peer) noexcept {
    if (end.told != number) return;  // is there
    m_tells_far |= !is_beside(peer);
    end.next = first;
    first = &end;
  }
  /// A release may still be on its way when what was sent behind it has been seen, or be noted here
  /// where both ends are: where there seems to be no room, that is told and waited for.
  [[nodiscard]] constexpr bool has_room(const channel_out_state& out) noexcept {
    if (out.sent - Group::load_credit(&out.acknowledged) < channel_depth) return true;
    flush();
    constexpr std::uint64_t most_ns = 100'000'000;
    for (const std::uint64_t last = Group::now_ns() + most_ns;;) {
      const bool is_over = Group::now_ns() > last;
      if (out.sent - Group::load_acquire(&out.acknowledged) < channel_depth) return true;
      if (is_over) return false;
      Group::give_way();
    }
  }
  [[nodiscard]] constexpr channel_in_state& peer_of(const channel_out_state& out) const noexcept {
    return *m_core->where().template at<channel_in_state>(out.peer);
  }
  [[nodiscard]] constexpr channel_out_state& peer_of(const channel_in_state& in) const noexcept {
    return *m_core->where().template at<channel_out_state>(in.peer);
  }
  /// Where the receiver keeps the next send.
  [[nodiscard]] constexpr std::byte* place_of_next(const channel_out_state& out) const noexcept {
    return m_core->where().template at<std::byte>(out.buffers) +
           std::uint64_t(out.sent % channel_depth) * whole_lines(out.bytes);
  }
  /// Whether the receiver's buffers are not mapped here.
  [[nodiscard]] constexpr bool is_far(const channel_out_state& out) const noexcept {
    return m_core->out.is_far(out.scheduler);
  }
  constexpr void arrive(channel_in_state& in, std::uint32_t fresh) noexcept {
    in.seen += fresh;
    chare& object = *m_core->object(in.array, in.slot);
    m_core->arrive(object.native(), m_core->counter_at(object, in.counter), fresh);
    m_core->count_done(fresh);
  }

  scheduler_core<Group>* m_core;
  channel_out_state* m_sends = nullptr;
  channel_in_state* m_releases = nullptr;
  bool m_tells_far = false;  // not only ends of this device
  channel_in_state* m_in[most] = {};
  std::uint32_t m_seen[most] = {};  // what each has `seen`, near the leader
  std::uint32_t m_count = 0;
};

}  // namespace starling::resident::detail
