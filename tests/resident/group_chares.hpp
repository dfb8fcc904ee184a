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
  using entries = resident::entries<&grouped::sum>;
};

using grouped_program = resident::program<grouped>;

}  // namespace starling_test
