// SPDX-License-Identifier: Apache-2.0
// A chare that computes with its group. Written for groups of any size, so that devices run them,
// too.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;

template <class Cx>
struct grouped : resident::chare {
  std::uint32_t m_times = 0;
  constexpr void sum(Cx& cx, std::uint32_t n, std::uint32_t times,
                     resident::mailbox<std::uint64_t> to) {
    const auto squares = cx.template allocate<std::uint32_t>(n);
    cx.for_each(n, [&](std::uint32_t i) { squares[i] = i * i; });
    cx.sync();
    std::uint64_t mine = 0;
    cx.for_each(n, [&](std::uint32_t i) { mine += squares[n - 1 - i]; });
    const auto all = cx.reduce(mine, [](std::uint64_t a, std::uint64_t b) { return a + b; });
    cx.once([&] { ++m_times; });
    if (m_times != times) cx.fail(m_times);
    cx.send(to, all);
  }
  /// Threads with 0, 1 or 2 numbers each put them one behind the other.
  constexpr void compact(Cx& cx, std::uint32_t times, resident::mailbox<std::uint32_t> to) {
    const auto size = std::uint32_t(cx.size());
    const auto numbers = cx.template allocate<std::uint32_t>(2 * size);
    for (std::uint32_t t = 0; t < times; ++t) {
      const auto rank = std::uint32_t(cx.rank());
      const std::uint32_t mine = (rank + t) % 3;
      const resident::prefix_sum<std::uint32_t> place = cx.scan(mine);
      for (std::uint32_t i = 0; i < mine; ++i) numbers[place.before + i] = 3 * rank + i;
      cx.sync();
      cx.once([&] { m_wrong += is_compact(numbers, size, t) != place.all ? 1 : 0; });
    }
    const std::uint32_t wrong =
        cx.reduce(is_exact(cx) ? 0u : 1u, [](std::uint32_t a, std::uint32_t b) { return a + b; });
    cx.once([&] { m_wrong += wrong; });
    cx.send(to, m_wrong);
  }
  using entries = resident::entries<&grouped::sum, &grouped::compact>;

 private:
  /// What is before the last thread's number, which is large, is not found by taking that away.
  [[nodiscard]] static constexpr bool is_exact(Cx& cx) {
    const float ones = static_cast<float>(cx.rank());
    return cx.scan(cx.rank() + 1 == cx.size() ? 1e30F : 1.0F).before == ones;
  }
  /// How many there are; 0xffffffff: not those that there should be.
  [[nodiscard]] static constexpr std::uint32_t is_compact(std::span<const std::uint32_t> numbers,
                                                          std::uint32_t size, std::uint32_t t) {
    std::uint32_t at = 0;
    bool is_right = true;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      for (std::uint32_t i = 0; i < (rank + t) % 3; ++i)
        is_right = numbers[at++] == 3 * rank + i && is_right;
    return is_right ? at : ~std::uint32_t{0};
  }

  std::uint32_t m_wrong = 0;
};

using grouped_program = resident::program<grouped>;

}  // namespace starling_test
