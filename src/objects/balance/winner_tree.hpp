// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace starling::balance {

/// The position of the smallest of some keys; of equal keys, the first. A change costs
/// log₂(number of keys) comparisons.
class winner_tree {
 public:
  explicit winner_tree(std::size_t count)
      : m_leaves(std::bit_ceil(count > 0 ? count : 1)),
        m_keys(m_leaves, std::numeric_limits<double>::infinity()), m_winners(2 * m_leaves) {
    for (std::size_t i = 0; i < m_leaves; ++i) m_winners[m_leaves + i] = std::uint32_t(i);
    for (std::size_t node = m_leaves; node-- > 1;) play(node);
  }

  void set(std::uint32_t position, double key) noexcept {
    m_keys[position] = key;
    for (std::size_t node = (m_leaves + position) / 2; node > 0; node /= 2) play(node);
  }

  [[nodiscard]] double key(std::uint32_t position) const noexcept { return m_keys[position]; }
  [[nodiscard]] std::uint32_t best() const noexcept { return m_winners[1]; }

 private:
  void play(std::size_t node) noexcept {
    const std::uint32_t left = m_winners[2 * node], right = m_winners[2 * node + 1];
    m_winners[node] = m_keys[right] < m_keys[left] ? right : left;
  }

  std::size_t m_leaves;
  std::vector<double> m_keys;
  std::vector<std::uint32_t> m_winners;  // node 1 is the root
};

}  // namespace starling::balance
