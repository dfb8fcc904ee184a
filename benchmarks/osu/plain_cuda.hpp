// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace osu {

[[nodiscard]] int cuda_device_count();

/// `cudaMemcpyPeerAsync` between two devices of one process, or two places of one: the floor of
/// what goes between devices. @throws std::runtime_error with CUDA's reason
class peer_copies {
 public:
  /// `window` places of `bytes` bytes at each end. The ends are devices 0 and 1, or 0 twice.
  peer_copies(std::size_t bytes, int window);
  ~peer_copies();

  /// Place `slot` of what end `from` sends, and of what end `to` has got.
  void write(int from, int slot, std::span<const std::byte> bytes);
  void read(int to, int slot, std::span<std::byte> bytes);

  /// There and back, each awaited by the host.
  void to_and_fro(int rounds);
  /// Windows from end 0 to end 1, and back if `both`; each awaited.
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
