// SPDX-License-Identifier: Apache-2.0
#include <starling/device/detail/memory_access.hpp>

#include <algorithm>
#include <cstring>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>

#include "stream_state.hpp"

namespace starling::detail {
namespace {

constexpr std::size_t piece_bytes = std::size_t(8) << 20;

/// A stream for copies that block the calling worker until they are complete.
class blocking_stream {
 public:
  /// Later copies run after the work that `other` has so far, whether or not it has failed.
  void follow(stream_state& other) {
    m_stream.state().wait(other.record().state(), dependency::order);
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    m_stream.copy_bytes(to, from, bytes);
    finish_work(&m_stream.state());
  }

 protected:
  stream m_stream = device_here().make_stream();
};

/// A stream and pinned memory through which the pieces are copied.
class staging : public blocking_stream {
 public:
  explicit staging(std::size_t bytes)
      : m_memory(m_stream.device().allocate<std::byte>(memory_kind::pinned,
                                                       std::min(bytes, piece_bytes))) {}
  [[nodiscard]] std::span<std::byte> memory() noexcept { return m_memory.span(); }

 private:
  buffer<std::byte> m_memory;
};

}  // namespace

device& device_here() {
  runtime* const rt = runtime::current();
  if (rt == nullptr)
    throw usage_error(
        "a buffer is packed or unpacked outside of a runtime: only a worker knows its device");
  return devices(*rt).here();
}

recycling_allocator& allocator_here(memory_kind kind) { return device_here().allocator(kind); }

void read_memory(memory_kind kind, const void* from, std::size_t bytes, stream_state* order,
                 const std::function<void(std::span<const std::byte>)>& sink) {
  const auto* const first = static_cast<const std::byte*>(from);
  if (kind != memory_kind::device) {
    finish_work(order);
    return sink({first, bytes});
  }
  staging pieces(bytes);
  if (order != nullptr) pieces.follow(*order);
  for (std::size_t at = 0; at < bytes; at += pieces.memory().size()) {
    const std::span piece = pieces.memory().first(std::min(pieces.memory().size(), bytes - at));
    pieces.copy(piece.data(), first + at, piece.size());
    sink(piece);
  }
}

void write_memory(memory_kind kind, void* to, const std::byte* from, std::size_t bytes) {
  if (kind != memory_kind::device) {
    std::memcpy(to, from, bytes);
    return;
  }
  staging pieces(bytes);
  for (std::size_t at = 0; at < bytes; at += pieces.memory().size()) {
    const std::span piece = pieces.memory().first(std::min(pieces.memory().size(), bytes - at));
    std::memcpy(piece.data(), from + at, piece.size());
    pieces.copy(static_cast<std::byte*>(to) + at, piece.data(), piece.size());
  }
}

void copy_memory(void* to, const void* from, std::size_t bytes) {
  blocking_stream().copy(to, from, bytes);
}

void try_to_reach(device& reader, device& owner) noexcept {
  try {
    static_cast<void>(reader.backend() == owner.backend() && reader.enable_peer_access(owner));
  } catch (...) {  // the driver has no resources for it: access stays disabled
  }
}

void finish_work(stream_state* order) {
  if (order == nullptr || order->is_idle()) return;
  order->finish();
  static_cast<void>(order->is_idle());  // throws if the device is lost
}

}  // namespace starling::detail
