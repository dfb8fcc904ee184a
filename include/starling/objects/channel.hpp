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
#include <vector>

#include <starling/objects/chare.hpp>
#include <starling/objects/detail/channel_end.hpp>

namespace starling {

/// Awaitable that completes when a send or a receive does; see chare_channel. May be dropped.
class channel_wait {
 public:
  explicit channel_wait(std::shared_ptr<detail::channel_operation> what) noexcept
      : m_what(std::move(what)) {}

  bool await_ready() const noexcept { return m_what->is_over(); }
  template <detail::runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const detail::call_location& at = {}) {
    detail::mark_suspended(h.promise(), *m_what, at);
    m_what->enlist(h.promise());
  }
  void await_resume() const { m_what->check(); }

 private:
  std::shared_ptr<detail::channel_operation> m_what;
};

/// Elements lent by a channel. Work on the stream given to `borrow` may read them, and so may the
/// host if they are in host memory and that stream is idle. Destruction gives them back: work
/// submitted to the stream before it may read them. Must not outlive the channel or the stream.
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

/// The awaitable returned by `borrow`; yields `borrowed<T>`.
template <class T>
class borrow_wait : channel_wait {
 public:
  /// `end`: the lending end, where it has no other owner (offers).
  borrow_wait(channel_wait done, std::shared_ptr<detail::lent_memory> memory,
              std::shared_ptr<detail::channel_end> end = nullptr) noexcept
      : channel_wait(std::move(done)), m_memory(std::move(memory)), m_end(std::move(end)) {}
  borrow_wait(borrow_wait&&) noexcept = default;
  borrow_wait& operator=(borrow_wait&&) noexcept = default;

  using channel_wait::await_ready;
  using channel_wait::await_suspend;
  borrowed<T> await_resume() {
    channel_wait::await_resume();
    m_memory->keep = std::move(m_end);  // not earlier: the waiting end refers to the memory (cycle)
    return borrowed<T>(std::move(m_memory));
  }

 private:
  std::shared_ptr<detail::lent_memory> m_memory;
  std::shared_ptr<detail::channel_end> m_end;
};

/// One end of an ordered connection between two chares, for host or device memory. Data sent at one
/// end are received at the peer end in the order of the sends, directly from memory to memory.
///
/// Each of the two chares makes its own end at any time, with its peer and a common `id`; data sent
/// before the receiving end exists are kept. A channel is a member of its chare, is used by that
/// chare's entry methods only, and must not outlive it. It migrates with its chare; for another
/// rank or a checkpoint the chare's `serialize` names it: `ar(m_channel)`. Transfers in progress
/// delay a departure: docs/guide/migration.md.
///
/// Memory given with a stream is used in that stream's order: the host does not wait for a device.
/// Streams and memory must live until the operation is complete. Sizes at both ends must be equal,
/// else both ends get usage_error. Exception: a send to another rank whose data are not mapped
/// there (docs/design/0020) completes when the data may be overwritten. Destruction of a chare ends
/// its receives with operation_cancelled. Memory given with a stream must be readable by the
/// stream's device: its own memory or pinned memory.
template <class T>
class chare_channel {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Default of `most_in_place` in `borrow`, in bytes.
  static constexpr std::size_t read_in_place = std::size_t{1} << 20;

  /// Makes an unconnected channel; send and receive must not be called.
  chare_channel() noexcept = default;
  /// Makes the end of `self`. @throws usage_error when `self` has an end for this peer and id
  template <class Self, class Peer>
  chare_channel(Self& self, const element<Peer>& peer, int id = 0)
      : m_end(detail::make_channel_end(self, peer, id)) {}

  explicit operator bool() const noexcept { return m_end != nullptr; }

  /// Writes or reads the end as a part of the state of its chare: called by the chare's `serialize`
  /// only. The end that is read belongs to the chare that is read.
  template <class Archive>
  void serialize(Archive& ar) {
    std::vector<std::byte> bytes;  // none: not connected
    if constexpr (!Archive::is_reading)
      if (m_end != nullptr) bytes = detail::save_channel_end(*m_end);
    ar(bytes);
    if constexpr (Archive::is_reading) {
      m_end.reset();
      if (!bytes.empty()) m_end = detail::load_channel_end(bytes);
    }
  }

  /// Sends the contents that `data` has when `at` has passed this point. Complete when work
  /// submitted to `at` may overwrite `data`.
  [[nodiscard]] channel_wait send(std::span<const T> data, stream& at) {
    return channel_wait(m_end->send(type, std::as_bytes(data), {&at, at.record()}, true));
  }
  /// Sends the present contents of host memory. Complete when `data` may be overwritten.
  [[nodiscard]] channel_wait send(std::span<const T> data) {
    return channel_wait(m_end->send(type, std::as_bytes(data), {}, true));
  }
  /// As `send`, without a completion: for a sender that finds out in another way when `data` may be
  /// overwritten, for example by a reply that depends on it. The receiver must give a stream.
  void post(std::span<const T> data, stream& at) {
    m_end->send(type, std::as_bytes(data), {&at, at.record()}, false);
  }
  /// As above, for data that were complete when `ready` was recorded on `at`: one event for several
  /// sends.
  void post(std::span<const T> data, stream& at, const event& ready) {
    m_end->send(type, std::as_bytes(data), {&at, ready}, false);
  }
  void post(std::span<const T> data) { m_end->send(type, std::as_bytes(data), {}, false); }

  /// Receives into `into`, in the order of `at`. Complete when work submitted to `at` from then on
  /// reads the received elements.
  [[nodiscard]] channel_wait receive(std::span<T> into, stream& at) {
    return channel_wait(m_end->receive({into.data(), into.size_bytes(), &at}, type));
  }
  /// Receives into host memory. Complete when the elements have been stored.
  [[nodiscard]] channel_wait receive(std::span<T> into) {
    return channel_wait(m_end->receive({into.data(), into.size_bytes()}, type));
  }
  /// Receives `count` elements without a destination. Yields the sender's memory itself if it is on
  /// the device of `at`, or if that device can access it and it has at most `most_in_place` bytes;
  /// else a copy on that device. Work submitted to `at` may read it. Kernels that read much memory
  /// of another device slow down concurrent kernels; without these, reading in place is fastest.
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
