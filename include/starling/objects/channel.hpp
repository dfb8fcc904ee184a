// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <starling/objects/chare.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling {

/// Awaiting it takes until a send or a receive is over; see chare_channel. May be dropped.
class channel_wait {
 public:
  explicit channel_wait(std::shared_ptr<detail::channel_operation> what) noexcept
      : m_what(std::move(what)) {}

  bool await_ready() const noexcept { return m_what->is_over(); }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const detail::source_mark& at = {}) {
    detail::mark_suspended(h.promise(), await_kind::custom,
                           static_cast<detail::described_wait*>(m_what.get()),
                           &detail::withdraw_channel_wait, at);
    m_what->enlist(h.promise());
  }
  void await_resume() const { m_what->check(); }

 private:
  std::shared_ptr<detail::channel_operation> m_what;
};

/// Elements that a channel has lent: read them by work on the stream given to `borrow`, and on the
/// host if they are in host memory and that stream is idle. Given back on destruction: what the
/// stream has been given until then may read them. Must not outlive the channel or the stream.
template <class T>
class borrowed {
 public:
  explicit borrowed(std::shared_ptr<detail::lent_memory> what) noexcept : m_what(std::move(what)) {}
  borrowed(borrowed&&) noexcept = default;
  borrowed& operator=(borrowed&&) noexcept = default;

  [[nodiscard]] std::span<const T> span() const noexcept {
    return {static_cast<const T*>(m_what->data), m_what->offer.bytes / sizeof(T)};
  }
  [[nodiscard]] const T* data() const noexcept { return span().data(); }
  void give_back() noexcept { m_what.reset(); }

 private:
  std::shared_ptr<detail::lent_memory> m_what;
};

/// What `borrow` returns: awaitable, yields `borrowed<T>`.
template <class T>
class borrow_wait {
 public:
  /// `end`: the lender, where nobody else keeps it.
  borrow_wait(channel_wait done, std::shared_ptr<detail::lent_memory> memory,
              std::shared_ptr<detail::channel_end> end = nullptr) noexcept
      : m_done(std::move(done)), m_memory(std::move(memory)), m_end(std::move(end)) {}
  borrow_wait(borrow_wait&&) noexcept = default;
  borrow_wait& operator=(borrow_wait&&) noexcept = default;

  bool await_ready() const noexcept { return m_done.await_ready(); }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const detail::source_mark& at = {}) {
    m_done.await_suspend(h, at);
  }
  borrowed<T> await_resume() {
    m_done.await_resume();
    m_memory->keep = std::move(m_end);  // not before: the end keeps what it is to lend
    return borrowed<T>(std::move(m_memory));
  }

 private:
  channel_wait m_done;
  std::shared_ptr<detail::lent_memory> m_memory;
  std::shared_ptr<detail::channel_end> m_end;
};

/// One end of an ordered connection between two chares, for memory of the host or of devices. What
/// one end sends the other receives, first sent, first received, straight from memory to memory.
///
/// Each of the two chares makes its own end, naming the other and the same `id`, when it likes:
/// what was sent before is kept. A channel is used by the entry methods of its chare only, is one
/// of its members, and must not outlive it.
///
/// Memory given with a stream is used in that stream's order: nothing waits on the host for a
/// device. Streams and memory must live until the operation is over. Sizes at both ends must be
/// equal: else both get usage_error, save a sender whose data went to another rank with the offer
/// (docs/design/0020): it is over when they may be overwritten. A chare that is destroyed ends what
/// it receives with operation_cancelled. With a stream goes memory that the stream's device reads:
/// its own, or pinned.
template <class T>
class chare_channel {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Bytes of another device's memory that are read in place where nothing else is said.
  static constexpr std::size_t read_in_place = std::size_t{1} << 20;

  /// Connects nothing; send and receive must not be called.
  chare_channel() noexcept = default;
  /// @throws usage_error when `self` has such an end already
  template <class Self, class Peer>
  chare_channel(Self& self, const element<Peer>& peer, int id = 0) {
    detail::chare_core& core = self;
    const auto& array = detail::array_of<Self>::of(*core.native().part);
    const detail::address<Peer>& to = peer.native();
    m_end = std::make_unique<detail::channel_end>(
        core, detail::name_end<Self>(array, array.key_of(self), id),
        detail::name_end<Peer>(to.array(), to.to, id),
        detail::make_peer<Self, Peer>(array, array.key_of(self), to, id),
        "channel " + std::to_string(id) + " of " + array.name_of(core));
  }

  explicit operator bool() const noexcept { return m_end != nullptr; }

  /// Sends what `data` holds when `at` has passed this point. Over when work submitted to `at`
  /// may overwrite it.
  [[nodiscard]] channel_wait send(std::span<const T> data, stream& at) {
    return channel_wait(
        m_end->send(type, data.data(), data.size_bytes(), {&at, at.record()}, true));
  }
  /// Sends host memory as it is now. Over when it may be overwritten.
  [[nodiscard]] channel_wait send(std::span<const T> data) {
    return channel_wait(m_end->send(type, data.data(), data.size_bytes(), {}, true));
  }
  /// As `send`, for who knows without being told when `data` may be overwritten: for example when
  /// something has come back that was made from it. For receivers that have a stream.
  void post(std::span<const T> data, stream& at) {
    m_end->send(type, data.data(), data.size_bytes(), {&at, at.record()}, false);
  }
  /// The same for data that were complete when `ready` was recorded on `at`: for several sends of
  /// one moment.
  void post(std::span<const T> data, stream& at, const event& ready) {
    m_end->send(type, data.data(), data.size_bytes(), {&at, ready}, false);
  }
  void post(std::span<const T> data) {
    m_end->send(type, data.data(), data.size_bytes(), {}, false);
  }

  /// Receives into `into`, in the order of `at`. Over when work submitted to `at` from then on
  /// finds the elements there.
  [[nodiscard]] channel_wait receive(std::span<T> into, stream& at) {
    return channel_wait(m_end->receive({into.data(), into.size_bytes(), &at}, type));
  }
  /// Receives into host memory. Over when the elements are there.
  [[nodiscard]] channel_wait receive(std::span<T> into) {
    return channel_wait(m_end->receive({into.data(), into.size_bytes()}, type));
  }
  /// Receives `count` elements without a place of one's own: yields the sender's memory itself
  /// where that lies on the device of `at`, or on one that it reaches and is at most
  /// `most_in_place` bytes, else a copy on that device. Work submitted to `at` may read it. Kernels
  /// that read much of another device's memory hold up those beside them; where none are, in place
  /// is fastest.
  [[nodiscard]] borrow_wait<T> borrow(stream& at, std::size_t count,
                                      std::size_t most_in_place = read_in_place) {
    auto memory = std::make_shared<detail::lent_memory>(*m_end, at);
    channel_wait done(
        m_end->receive({nullptr, count * sizeof(T), &at, memory, most_in_place, nullptr}, type));
    return {std::move(done), std::move(memory)};
  }

 private:
  static constexpr std::uint32_t type = detail::element_type<T>;

  std::unique_ptr<detail::channel_end> m_end;
};

}  // namespace starling
