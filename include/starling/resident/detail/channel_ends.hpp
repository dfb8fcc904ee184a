// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <starling/resident/channel.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident {

/// Operations of one thread of a group on channel ends of its element: see `context::tell`.
template <class Scheduler>
class channel_ends {
 public:
  constexpr explicit channel_ends(Scheduler& by) noexcept : m_scheduler(&by) {}

  /// As `context::release`.
  template <class T>
  constexpr void release(channel_in<T>& from) const noexcept {
    m_scheduler->channels.release(from.state());
    m_scheduler->behind |= Scheduler::tells;
  }
  /// As `context::return_room`.
  template <class T>
  constexpr void return_room(channel_in<T>& from) const noexcept {
    m_scheduler->channels.return_room(from.state());
    m_scheduler->behind |= Scheduler::tells;
  }
  /// Returns whether other schedulers can read the data in place; if they cannot, ends the program
  /// with a failure.
  template <class T>
  constexpr bool may_lend(std::span<const T> data) const noexcept {
    auto& core = m_scheduler->core;
    const auto* const at = reinterpret_cast<const std::byte*>(data.data());
    if (data.empty() || core.memory.is_shared(at, data.size_bytes())) return true;
    core.fail(detail::failure::not_shared, 0, 0);
    return false;
  }
  /// As `context::lend`; if the receiver is on another device, the calling thread copies the data
  /// alone.
  template <class T>
  constexpr void lend(channel_out<T>& to,
                      std::span<const std::type_identity_t<T>> data) const noexcept {
    auto& channels = m_scheduler->channels;
    auto& out = to.state();
    const auto* const at = reinterpret_cast<const std::byte*>(data.data());
    const auto count = static_cast<std::uint32_t>(data.size());
    if (!may_lend(data)) return;
    if (out.is_beside != 0) {
      channels.lend(out, at, count, data.size_bytes());
    } else if (auto* const into = reinterpret_cast<T*>(channels.begin_send(out, data.size_bytes()));
               into != nullptr) {
      for (std::uint32_t i = 0; i < count; ++i) into[i] = data[i];
      channels.end_send(out, count, static_cast<std::uint32_t>(data.size_bytes()));
    }
    m_scheduler->behind |= Scheduler::tells;
  }

 private:
  Scheduler* m_scheduler;
};

}  // namespace starling::resident
