// SPDX-License-Identifier: Apache-2.0
// Reductions that show which elements have contributed: a missing contribution and a double one
// cancel out in a sum.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace starling_test {

/// Returns the numbers `first`, `first` + `step` and so on that are less than `end`.
inline std::vector<int> numbers(int first, int end, int step = 1) {
  std::vector<int> result;
  for (int i = first; i < end; i += step) result.push_back(i);
  return result;
}

/// Returns what the elements of an array contribute in `T::name(to)`, in order: lists of their
/// indices, which a reduction concatenates.
template <class T>
starling::task<std::vector<typename T::index_type>> named(starling::chare_array<T> all) {
  auto [to, names] = starling::make_reply<std::vector<typename T::index_type>>();
  all.template invoke<&T::name>(to);
  std::vector<typename T::index_type> result = co_await std::move(names);
  std::ranges::sort(result);
  co_return result;
}
/// As above, for those of a section: `T::name_in(some, to)`.
template <class T>
starling::task<std::vector<typename T::index_type>> named(starling::section<T> some) {
  auto [to, names] = starling::make_reply<std::vector<typename T::index_type>>();
  some.template invoke<&T::name_in>(some, to);
  std::vector<typename T::index_type> result = co_await std::move(names);
  std::ranges::sort(result);
  co_return result;
}

}  // namespace starling_test
