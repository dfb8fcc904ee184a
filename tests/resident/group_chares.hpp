// SPDX-License-Identifier: Apache-2.0
// A chare that computes with its group. It supports groups of any size, so that it runs on devices,
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
                     resident::host_mailbox<std::uint64_t> to) {
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
  /// Each thread has 0, 1 or 2 numbers; they are stored one behind the other.
  constexpr void compact(Cx& cx, std::uint32_t times, resident::host_mailbox<std::uint32_t> to) {
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
  /// Values stored with `store_kept` are readable, for any count.
  template <class T>
  [[nodiscard]] constexpr std::uint32_t kept(Cx& cx, std::uint32_t n) {
    const auto all = cx.template allocate<T>(n);
    cx.for_each(n, [&](std::uint32_t i) { cx.store_kept(&all[i], T{{i, 2 * i}}); });
    cx.prefetch_all_of(*this);
    cx.sync();
    std::uint32_t right = 0;
    cx.for_each(n, [&](std::uint32_t i) {
      const T& other = all[n - 1 - i];
      right += other.of[0] == n - 1 - i && other.of[1] == 2 * (n - 1 - i) ? 1 : 0;
    });
    return cx.reduce(right, [](std::uint32_t a, std::uint32_t b) { return a + b; });
  }
  constexpr void keep(Cx& cx, std::uint32_t n, resident::host_mailbox<std::uint32_t> to) {
    struct alignas(16) of_16_bytes {
      std::uint32_t of[4];
    };
    struct of_8_bytes {
      std::uint32_t of[2];
    };
    const std::uint32_t right = kept<of_16_bytes>(cx, n) + kept<of_8_bytes>(cx, n);
    cx.send(to, right);
  }
  /// Forwards a received span of small elements, which is stored in the message itself.
  constexpr void begin_relay(Cx& cx, std::uint32_t n, std::uint32_t left,
                             resident::host_mailbox<std::uint32_t> to) {
    const auto data = cx.template allocate<std::uint8_t>(n);
    cx.for_each(n, [&](std::uint32_t i) { data[i] = static_cast<std::uint8_t>(7 * i); });
    cx.sync();
    relay(cx, left, to, data);
  }
  constexpr void relay(Cx& cx, std::uint32_t left, resident::host_mailbox<std::uint32_t> to,
                       std::span<const std::uint8_t> data) {
    const auto all = cx.array_of(*this);
    std::uint32_t right = 0;
    cx.for_each(std::uint32_t(data.size()), [&](std::uint32_t i) {
      right += data[i] == static_cast<std::uint8_t>(7 * i) ? 1 : 0;
    });
    right = cx.reduce(right, [](std::uint32_t a, std::uint32_t b) { return a + b; });
    if (left == 0 || right != data.size()) return cx.send(to, right);
    cx.invoke(all[(index() + 1) % all.size()], entry<&grouped::relay>, left - 1, to, data);
  }
  /// Reductions and scans without a `sync` between them, of values that differ in size and each
  /// time.
  constexpr void many_sums(Cx& cx, std::uint32_t times, resident::host_mailbox<std::uint32_t> to) {
    const auto add = [](auto a, auto b) { return a + b; };
    const auto size = std::uint64_t(cx.size()), rank = std::uint64_t(cx.rank());
    std::uint32_t wrong = 0;
    for (std::uint64_t t = 0; t < times; ++t) {
      wrong += cx.reduce(rank + t, add) != size * t + size * (size - 1) / 2 ? 1 : 0;
      wrong += cx.reduce(float(t), add) != float(t * size) ? 1 : 0;
      const auto sum = cx.scan(std::uint32_t(t));
      wrong += sum.before != rank * t || sum.all != size * t ? 1 : 0;
      const auto most = cx.reduce(std::uint32_t(rank ^ t),
                                  [](std::uint32_t a, std::uint32_t b) { return a < b ? b : a; });
      wrong += most < (size - 1 > t ? size - 1 - t : 0) ? 1 : 0;
    }
    cx.send(to, cx.reduce(wrong, add));
  }
  struct entries : resident::entries<&grouped::sum, &grouped::compact, &grouped::begin_relay,
                                     &grouped::relay, &grouped::many_sums, &grouped::keep> {};

 private:
  /// The sum before the last thread's value, which is large, must not be computed by a subtraction.
  [[nodiscard]] static constexpr bool is_exact(Cx& cx) {
    const float ones = static_cast<float>(cx.rank());
    return cx.scan(cx.rank() + 1 == cx.size() ? 1e30F : 1.0F).before == ones;
  }
  /// Returns the count of numbers; 0xffffffff: they are not the expected numbers.
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
