// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace starling {

namespace detail {

/// Is told when a message that has come from another rank is destroyed: only then may that rank
/// send more. Any thread.
class message_keeper {
 public:
  virtual void destroyed(int from, std::size_t bytes) noexcept = 0;

 protected:
  ~message_keeper() = default;
};

/// Memory of a sender that is sent from where it lies.
struct attached_memory {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// A message's memory: this, then its bytes, but for those that are attached.
struct alignas(16) message_block {
  static constexpr std::size_t room_bytes = 56;

  message_block* next = nullptr;     // in lists of transports
  message_keeper* keeper = nullptr;  // of one that has come
  attached_memory* tail = nullptr;   // of one that is to be sent: its last bytes
  std::size_t size = 0;              // all
  int from = 0;
  std::uint32_t number = 0;
  // A transport's. It ends where the bytes begin, so that a header in it goes with them.
  alignas(8) std::byte room[room_bytes];

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  /// How many of them are here.
  [[nodiscard]] std::size_t size_here() const noexcept {
    return tail == nullptr ? size : size - tail->bytes.size();
  }
  /// @throws std::bad_alloc
  [[nodiscard]] static message_block* make(std::size_t size);
  static void destroy(message_block* b) noexcept;
  /// For whoever sent it, it is destroyed.
  void leave_keeper() noexcept {
    if (keeper != nullptr) std::exchange(keeper, nullptr)->destroyed(from, size);
  }
};
static_assert(offsetof(message_block, room) + message_block::room_bytes == sizeof(message_block));

}  // namespace detail

/// Bytes that one rank sends another, and their owner. Movable. One that has come from another rank
/// counts against what that rank may send until it is destroyed; it must not outlive its transport.
class message {
 public:
  message() noexcept = default;
  /// Bytes that are not initialised, 16-byte aligned. @throws std::bad_alloc
  explicit message(std::size_t size) : m_block(detail::message_block::make(size)) {}
  /// `size` bytes of its own, and behind them `more`, which are sent from where they are and must
  /// not change until `owner` has been let go: by any thread, without a lock of the transport;
  /// where a rank has died perhaps only when the transport is destroyed. Who gets it gets one
  /// piece.
  message(std::size_t size, std::span<const std::byte> more, std::shared_ptr<const void> owner);

  /// All that is sent.
  [[nodiscard]] std::size_t size() const noexcept { return m_block ? m_block->size : 0; }
  [[nodiscard]] std::byte* data() noexcept { return m_block ? m_block->bytes() : nullptr; }
  [[nodiscard]] const std::byte* data() const noexcept {
    return m_block ? m_block->bytes() : nullptr;
  }
  /// Its own: all, of one that has come.
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {data(), m_block ? m_block->size_here() : 0};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {data(), m_block ? m_block->size_here() : 0};
  }
  /// Copies what is attached, so that all bytes are its own. @throws std::bad_alloc
  void join();
  /// `room` bytes that are not initialised, and behind them a copy of this, with the same attached
  /// memory. @throws std::bad_alloc
  [[nodiscard]] message behind(std::size_t room) const;
  /// Keeps the bytes of one that has come, and lets its sender send more, as if it were destroyed.
  /// They may outlive the transport. @throws std::bad_alloc; `m` is as it was
  [[nodiscard]] static std::shared_ptr<const void> share(message& m);

  /// It counts no longer against what its sender may send.
  void leave_window() noexcept {
    if (m_block != nullptr) m_block->leave_keeper();
  }

  /// For transports: takes over what `release` returned.
  [[nodiscard]] static message adopt(detail::message_block* block) noexcept {
    message m;
    m.m_block.reset(block);
    return m;
  }
  [[nodiscard]] detail::message_block* release() noexcept {
    if (m_block != nullptr) m_block->leave_keeper();
    return m_block.release();
  }

 private:
  struct destroyer {
    void operator()(detail::message_block* b) const noexcept { detail::message_block::destroy(b); }
  };
  std::unique_ptr<detail::message_block, destroyer> m_block;
};

}  // namespace starling
