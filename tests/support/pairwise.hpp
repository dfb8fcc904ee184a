// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace starling_test {

namespace detail {

/// The positions of a row's values in their lists.
using row = std::vector<std::size_t>;

/// A pair of values of two lists: number of the list and position in it, twice.
using value_pair = std::array<std::size_t, 4>;

inline std::set<value_pair> pairs_of(const row& places) {
  std::set<value_pair> pairs;
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = i + 1; j < places.size(); ++j) pairs.insert({i, places[i], j, places[j]});
  return pairs;
}

/// Returns all rows, the first list's values changing slowest.
inline std::vector<row> product_of(const std::vector<std::size_t>& sizes) {
  std::vector<row> rows(1);
  for (const std::size_t size : sizes) {
    std::vector<row> longer;
    for (const row& begun : rows)
      for (std::size_t place = 0; place < size; ++place) {
        longer.push_back(begun);
        longer.back().push_back(place);
      }
    rows = std::move(longer);
  }
  return rows;
}

/// Repeatedly takes the row with the most pairs that no earlier row has, until all pairs are
/// covered.
inline std::vector<row> covering_rows(const std::vector<std::size_t>& sizes) {
  const std::vector<row> all = product_of(sizes);
  if (sizes.size() < 2) return all;
  std::set<value_pair> left;
  for (const row& r : all) left.merge(pairs_of(r));
  std::vector<row> chosen;
  while (!left.empty()) {
    const row* best = nullptr;
    std::size_t most = 0;
    for (const row& r : all) {
      std::size_t covered = 0;
      for (const value_pair& p : pairs_of(r)) covered += left.count(p);
      if (covered > most) {
        most = covered;
        best = &r;
      }
    }
    for (const value_pair& p : pairs_of(*best)) left.erase(p);
    chosen.push_back(*best);
  }
  return chosen;
}

}  // namespace detail

/// Returns rows of one value from each list, in which any two values of two lists occur together:
/// for testing::ValuesIn, in place of all rows (testing::Combine), as most faults depend on two
/// parameters at most. The rows are the same in every run; the work grows with the square of the
/// number of all rows, so that lists should have some hundred rows at most.
template <class... Value>
[[nodiscard]] std::vector<std::tuple<Value...>> pairwise(const std::vector<Value>&... lists) {
  std::vector<std::tuple<Value...>> rows;
  for (const detail::row& places : detail::covering_rows({lists.size()...})) {
    auto place = places.begin();
    rows.push_back(std::tuple<Value...>{lists[*place++]...});  // in braces: left to right
  }
  return rows;
}

}  // namespace starling_test
