// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace osu {

[[nodiscard]] int cuda_device_count();

/// `cudaMemcpyPeerAsync` between two devices of one process, or within one device: the floor of
/// transfers between devices. @throws std::runtime_error with CUDA's reason
class peer_copies {
 public:
  /// Allocates `window` slots of `bytes` bytes at each end: devices 0 and 1, or device 0 twice.
  peer_copies(std::size_t bytes, int window);
  ~peer_copies();

  /// Writes a slot of the memory that end `from` sends; reads a slot that end `to` has received.
  void write(int from, int slot, std::span<const std::byte> bytes);
  void read(int to, int slot, std::span<std::byte> bytes);

  /// Copies there and back; the host awaits each copy.
  void to_and_fro(int rounds);
  /// Copies windows from end 0 to end 1, and back if `both`; the host awaits each window.
  void windows(int rounds, bool both);

 private:
  struct end;
  void copy(int from, int slot);
  void wait(int from);
  std::unique_ptr<end[]> m_ends;
  std::size_t m_bytes;
  int m_window;
};

}  // namespace osu
