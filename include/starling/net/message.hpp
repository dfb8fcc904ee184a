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

/// Observer of received messages. It is notified when such a message is destroyed, because only
/// then may the sender send more. `destroyed` is called by any thread.
class message_keeper {
 public:
  virtual void destroyed(int from, std::size_t bytes) noexcept = 0;

 protected:
  ~message_keeper() = default;
};

/// Memory of the sender that is sent in place, without a copy into the message.
struct attached_memory {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Memory block of a message: this header, then the message's bytes except attached memory.
struct alignas(16) message_block {
  static constexpr std::size_t room_bytes = 56;

  message_block* next = nullptr;     // link in the lists of a transport
  message_keeper* keeper = nullptr;  // set in received messages only
  attached_memory* tail = nullptr;   // last bytes of a message to be sent, or null
  std::size_t size = 0;              // bytes, attached memory included
  int from = 0;
  std::uint32_t number = 0;
  // For the transport. It ends where the bytes begin, so that a header at its end can be sent with
  // them as one piece.
  alignas(8) std::byte room[room_bytes];

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  /// Returns the number of bytes in this block, without attached memory.
  [[nodiscard]] std::size_t size_here() const noexcept {
    return tail == nullptr ? size : size - tail->bytes.size();
  }
  /// @throws std::bad_alloc
  [[nodiscard]] static message_block* make(std::size_t size);
  static void destroy(message_block* b) noexcept;
  /// Notifies the keeper as if the message were destroyed.
  void leave_keeper() noexcept {
    if (keeper != nullptr) std::exchange(keeper, nullptr)->destroyed(from, size);
  }
};
static_assert(offsetof(message_block, room) + message_block::room_bytes == sizeof(message_block));

}  // namespace detail

/// Owner of bytes that one rank sends to another. Movable. A received message counts against the
/// window of its sender until it is destroyed, and must not outlive its transport.
class message {
 public:
  message() noexcept = default;
  /// Allocates `size` bytes, uninitialised and 16-byte aligned. @throws std::bad_alloc
  explicit message(std::size_t size) : m_block(detail::message_block::make(size)) {}
  /// Allocates `size` bytes and attaches `more`, which follows them. Where the transport can, it
  /// sends `more` without a copy, so `more` must not change until `owner` is released: by any
  /// thread, without a lock of the transport; perhaps only by the transport's destructor if the
  /// receiver has failed. The receiver gets contiguous bytes. @throws std::bad_alloc
  message(std::size_t size, std::span<const std::byte> more, std::shared_ptr<const void> owner);

  /// Returns the number of bytes to be sent, attached memory included.
  [[nodiscard]] std::size_t size() const noexcept { return m_block ? m_block->size : 0; }
  [[nodiscard]] std::byte* data() noexcept { return m_block ? m_block->bytes() : nullptr; }
  [[nodiscard]] const std::byte* data() const noexcept {
    return m_block ? m_block->bytes() : nullptr;
  }
  /// Returns the bytes without attached memory: all bytes of a received message.
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {data(), m_block ? m_block->size_here() : 0};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {data(), m_block ? m_block->size_here() : 0};
  }
  /// Copies attached memory into the message. @throws std::bad_alloc
  void join();
  /// Returns a message of `room` uninitialised bytes followed by a copy of this message, with the
  /// same attached memory. @throws std::bad_alloc
  [[nodiscard]] message behind(std::size_t room) const;
  /// Returns an owner of the bytes of a received message that may outlive the transport. The sender
  /// may send more, as if `m` were destroyed. @throws std::bad_alloc, leaving `m` unchanged
  [[nodiscard]] static std::shared_ptr<const void> share(message& m);

  /// Ends counting this message against the window of its sender.
  void leave_window() noexcept {
    if (m_block != nullptr) m_block->leave_keeper();
  }

  /// For transports: takes ownership of a block that `release` returned.
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
