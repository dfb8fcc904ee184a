// SPDX-License-Identifier: Apache-2.0
#include "mesh/divide.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace stars {
namespace {

/// Sums of weights, and the cuts that they allow.
class runs {
 public:
  runs(std::span<const std::int64_t> weights, int parts) : m_parts(parts) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / parts;
    m_sums.reserve(weights.size() + 1);
    m_sums.push_back(0);
    for (const std::int64_t w : weights) {
      if (w < 0) throw std::invalid_argument("divide: the weight " + std::to_string(w));
      if (w > most - m_sums.back())
        throw std::invalid_argument("divide: the sum of the weights is too large");
      m_sums.push_back(m_sums.back() + w);
      m_heaviest = std::max(m_heaviest, w);
    }
    if (m_sums.back() == 0)
      for (std::size_t i = 0; i < m_sums.size(); ++i) m_sums[i] = std::int64_t(i);
    m_heaviest = std::max<std::int64_t>(m_heaviest, 1);
  }

  /// Returns the smallest weight that the heaviest part can have.
  [[nodiscard]] std::int64_t bottleneck() const {
    std::int64_t low = m_heaviest, high = m_sums.back();
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (earliest_starts(middle).front() == 0) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  [[nodiscard]] std::vector<int> cuts() const {
    const std::int64_t limit = bottleneck();
    const std::vector<int> earliest = earliest_starts(limit);
    std::vector<int> first(std::size_t(m_parts), 0);
    for (int p = 1; p < m_parts; ++p) {
      const int before = first[std::size_t(p) - 1];
      const int lower = std::max(earliest[std::size_t(p)], before + 1);
      const int upper = std::min(end_of_run(before, limit), leaves() - (m_parts - p));
      first[std::size_t(p)] = std::clamp(equal_share(p), lower, upper);
    }
    return first;
  }

 private:
  [[nodiscard]] int leaves() const { return int(m_sums.size()) - 1; }

  /// Returns for each part the first leaf from which on this and the later parts suffice, if no
  /// part exceeds `limit`; 0 for the first part if the limit is feasible.
  [[nodiscard]] std::vector<int> earliest_starts(std::int64_t limit) const {
    std::vector<int> starts(std::size_t(m_parts), 0);
    int end = leaves();
    for (int p = m_parts - 1; p >= 0; --p) {
      const std::int64_t sum = m_sums[std::size_t(end)];
      end = int(std::lower_bound(m_sums.begin(), m_sums.end(), sum - limit) - m_sums.begin());
      starts[std::size_t(p)] = end;
    }
    return starts;
  }
  /// Returns the leaf behind the longest run from `begin` on that does not exceed `limit`.
  [[nodiscard]] int end_of_run(int begin, std::int64_t limit) const {
    const std::int64_t sum = m_sums[std::size_t(begin)];
    return int(std::upper_bound(m_sums.begin(), m_sums.end(), sum + limit) - m_sums.begin()) - 1;
  }
  /// Returns the last leaf before which the sum is at most p/parts of the whole.
  [[nodiscard]] int equal_share(int p) const {
    const std::int64_t whole = m_sums.back();
    const auto within = [&](std::int64_t sum) { return sum * m_parts <= whole * p; };
    return int(std::partition_point(m_sums.begin(), m_sums.end(), within) - m_sums.begin()) - 1;
  }

  int m_parts;
  std::int64_t m_heaviest = 0;
  std::vector<std::int64_t> m_sums;  ///< of the weights before each leaf
};

}  // namespace

std::vector<int> divide(std::span<const std::int64_t> weights, int parts) {
  if (parts < 1 || std::size_t(parts) > weights.size())
    throw std::invalid_argument("divide: " + std::to_string(weights.size()) + " leaves for " +
                                std::to_string(parts) + " parts");
  return runs(weights, parts).cuts();
}

}  // namespace stars
