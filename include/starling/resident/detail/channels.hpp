// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/resident/channel.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// The ends of channels of a scheduler's elements. Used by the leader.
template <class Group>
class channel_table {
 public:
  static constexpr std::uint32_t most = 64;  // receiving ends of a scheduler: the bits of a word
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
    in.buffers = here(buffers);
    in.peer =
        address::of(device, info.objects + std::uint64_t(peer.slot) * info.stride + opening.member);
    in.room = opening.counter;
    in.peer_array = peer_array;
    in.peer_slot = peer.slot;
    in.peer_scheduler = peer.scheduler;
    in.is_open = 1;
    ++e.channels;
    m_in[m_count] = &in;
    opening.state = {0,       0,        1,          m_core->self(),
                     m_count, in.bytes, in.buffers, here(reinterpret_cast<std::byte*>(&in)),
                     nullptr};
    ++m_count;
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
                                                std::uint64_t bytes) const noexcept {
    if (out.is_open == 0) {
      m_core->fail(failure::channel_closed, 0, 0);
    } else if (bytes > out.bytes) {
      m_core->fail(failure::payload_too_big, bytes, out.bytes);
    } else if (out.sent - Group::load_credit(&out.acknowledged) >= channel_depth &&
               out.sent - Group::load_acquire(&out.acknowledged) >= channel_depth) {
      m_core->fail(failure::channel_full, channel_depth, 0);
    } else {
      return is_far(out) ? out.outgoing : place_of_next(out);
    }
    return nullptr;
  }
  /// What the group wrote, `count` elements of `bytes` in all, is there.
  constexpr void end_send(channel_out_state& out, std::uint32_t count,
                          std::uint32_t bytes) const noexcept {
    const world& w = m_core->where();
    if (is_far(out)) Group::copy(place_of_next(out), out.outgoing, bytes);
    auto& in = *w.at<channel_in_state>(out.peer);
    // Fences take a device long: one before the number, which may be seen before the bit, and one
    // in the bit, which must not be seen before the number.
    Group::store(&in.counts[out.sent % channel_depth], count);
    Group::release_data();
    ++out.sent;
    Group::store_fenced(&in.arrived, out.sent);
    m_core->count_sent();
    Group::set_bits(&w.line(out.scheduler)->ready_channels, std::uint64_t(1) << out.bit);
  }
  [[nodiscard]] constexpr std::byte* data(const channel_in_state& in) const noexcept {
    return m_core->where().template at<std::byte>(in.buffers) +
           std::uint64_t(in.released % channel_depth) * whole_lines(in.bytes);
  }
  constexpr void release(channel_in_state& in) const noexcept {
    ++in.released;
    auto& out = *m_core->where().template at<channel_out_state>(in.peer);
    // A release on devices, too: what was read may be used, and so be on its way, after this.
    Group::store_release(&out.acknowledged, in.released);
  }

  constexpr void return_room(channel_in_state& in) const noexcept {
    release(in);
    Group::release_data();  // the message must not be there first
    m_core->send_arrival({in.peer_scheduler, in.peer_slot}, in.peer_array, in.room, 1);
  }

  /// Counts what has arrived. False: nothing.
  [[nodiscard]] constexpr bool poll() noexcept {
    if (m_count == 0 || !m_core->in.has_channels()) return false;
    std::uint64_t* const mask = &m_core->line().ready_channels;
    const std::uint64_t all = Group::load(mask);
    if (all == 0) return false;
    std::uint64_t ready = Group::clear_bits(mask, all);
    for (std::uint32_t i = 0; ready != 0; ++i, ready >>= 1)
      if ((ready & 1) != 0) arrive(*m_in[i]);
    return true;
  }

 private:
  /// Where the receiver keeps the next send.
  [[nodiscard]] constexpr std::byte* place_of_next(const channel_out_state& out) const noexcept {
    return m_core->where().template at<std::byte>(out.buffers) +
           std::uint64_t(out.sent % channel_depth) * whole_lines(out.bytes);
  }
  /// Whether the receiver's buffers are not mapped here.
  [[nodiscard]] constexpr bool is_far(const channel_out_state& out) const noexcept {
    return m_core->out.is_far(out.scheduler);
  }
  [[nodiscard]] constexpr address here(const std::byte* p) const noexcept {
    const world& w = m_core->where();
    return address::of(m_core->device(), static_cast<std::uint64_t>(p - w.slabs[m_core->device()]));
  }
  constexpr void arrive(channel_in_state& in) noexcept {
    const std::uint32_t arrived = Group::load_acquire(&in.arrived);
    const std::uint32_t fresh = arrived - in.seen;
    in.seen = arrived;
    chare& object = *m_core->object(in.array, in.slot);
    m_core->arrive(object.native(), m_core->counter_at(object, in.counter), fresh);
    m_core->count_done(fresh);
  }

  scheduler_core<Group>* m_core;
  channel_in_state* m_in[most] = {};
  std::uint32_t m_count = 0;
};

}  // namespace starling::resident::detail
