// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include <starling/resident/reduction.hpp>

namespace starling::resident::detail {

/// The host threads that run a scheduler together. (Mostly a scheduler has a single thread, which
/// needs no synchronization.) They synchronize as blocks of a device do: the threads of each block,
/// then one thread of each block, then again the threads of each block.
class host_team {
 public:
  host_team(int block_size, int blocks)
      : m_size(block_size * blocks), m_block_size(block_size), m_barrier(blocks),
        m_tells(std::size_t(blocks)) {
    for (int b = 0; b < blocks; ++b) m_barriers.emplace_back(block_size);
  }
  [[nodiscard]] int size() const noexcept { return m_size; }
  [[nodiscard]] int block_size() const noexcept { return m_block_size; }
  [[nodiscard]] int block_of(int rank) const noexcept { return rank / m_block_size; }

  void sync(int rank) {
    sync_by_blocks(
        rank, [] {}, [] {});
  }
  /// Synchronizes and sets `what` of each block to the leader's value.
  template <class T>
  void tell(int rank, T& what) {
    // Uses two pointers in turn: the leader may publish the next value before all blocks have read
    // this one.
    const auto told = [&]() -> const void*& {
      return m_told[m_tells[std::size_t(block_of(rank))] % 2];
    };
    sync_by_blocks(
        rank,
        [&] {
          ++m_tells[std::size_t(block_of(rank))];
          if (rank == 0) told() = &what;
        },
        [&] {
          if (rank != 0) what = *static_cast<const T*>(told());
        });
  }

  template <class T, class Op>
  [[nodiscard]] T reduce(int rank, T x, Op op) {
    static_assert(sizeof(T) <= sizeof(value_bytes) && std::is_trivially_copyable_v<T>);
    std::memcpy(m_values[rank].bytes, &x, sizeof(T));
    sync(rank);
    T all = read<T>(0);
    for (int r = 1; r < m_size; ++r) all = op(all, read<T>(r));
    sync(rank);  // before the next call writes there
    return all;
  }

  template <class T>
  [[nodiscard]] prefix_sum<T> scan(int rank, T x) {
    static_assert(sizeof(T) <= sizeof(value_bytes) && std::is_trivially_copyable_v<T>);
    std::memcpy(m_values[rank].bytes, &x, sizeof(T));
    sync(rank);
    prefix_sum<T> sum{};
    for (int r = 0; r < m_size; ++r) {
      if (r == rank) sum.before = sum.all;
      sum.all += read<T>(r);
    }
    sync(rank);  // before the next call writes there
    return sum;
  }

  static constexpr int most = 64;

 private:
  /// Synchronizes all threads. The first thread of each block runs `before` and `after` around the
  /// synchronization of these threads.
  template <class Before, class After>
  void sync_by_blocks(int rank, Before before, After after) {
    auto& block = m_barriers[std::size_t(block_of(rank))];
    block.arrive_and_wait();
    if (m_size == m_block_size) return;
    if (rank % m_block_size == 0) {
      before();
      m_barrier.arrive_and_wait();
      after();
    }
    block.arrive_and_wait();
  }
  struct alignas(64) value_bytes {
    unsigned char bytes[64];
  };
  template <class T>
  [[nodiscard]] T read(int rank) const noexcept {
    T value;
    std::memcpy(&value, m_values[rank].bytes, sizeof(T));
    return value;
  }
  int m_size;
  int m_block_size;
  std::deque<std::barrier<>> m_barriers;  // one for each block
  std::barrier<> m_barrier;               // of the first threads of the blocks
  std::vector<std::uint32_t> m_tells;     // calls of `tell`, by block
  const void* m_told[2] = {};
  value_bytes m_values[most];
};

}  // namespace starling::resident::detail
