// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

/// Each rank has a speaker, which numbers its messages to the listeners of all ranks: broadcasts,
/// section messages and single messages, large and small, urgent and not.
namespace broadcast_order {

enum class way { all_large, each_small, all_small, some_large, each_large, some_small };
constexpr int urgent_ways = 3;  // sections have no urgent messages
constexpr int normal_ways = 6;

struct track {
  int speaker;
  bool is_urgent;
  [[nodiscard]] way of(int n) const {
    return way((5 * n + speaker) % (is_urgent ? urgent_ways : normal_ways));
  }
  /// Returns whether a listener is in the speaker's section.
  [[nodiscard]] bool is_of_some(int listener) const { return listener % 3 != speaker % 3; }
  [[nodiscard]] bool is_for(int listener, int n) const {
    return (of(n) != way::some_large && of(n) != way::some_small) || is_of_some(listener);
  }
};

using numbers = std::vector<int>;
/// Sizes above and below the limit from which a broadcast is sent over a tree of ranks.
constexpr std::size_t large = 5000;
constexpr std::size_t small = 3;

struct listener : starling::chare<listener> {
  explicit listener(int speakers)
      : m_next{numbers(std::size_t(speakers)), numbers(std::size_t(speakers))} {}
  explicit listener(starling::migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_next, m_wrong);
  }
  void take(track of, int n, const numbers& data) {
    int& next = m_next[of.is_urgent][std::size_t(of.speaker)];
    skip(of, next);
    m_wrong += n != next || !std::ranges::all_of(data, [n](int each) { return each == n; });
    ++next;
  }
  /// Returns the number of messages that were out of order, damaged or missing.
  int wrong(int count) {
    for (int s = 0; s < int(m_next[0].size()); ++s)
      for (const bool is_urgent : {false, true}) {
        int& next = m_next[is_urgent][std::size_t(s)];
        skip({s, is_urgent}, next);
        m_wrong += next < count;
      }
    return m_wrong;
  }

 private:
  void skip(track of, int& next) const {
    while (!of.is_for(this_index(), next)) ++next;
  }
  std::array<numbers, 2> m_next;  // by priority and speaker
  int m_wrong = 0;
};

struct speaker : starling::chare<speaker> {
  template <class Archive>
  void serialize(Archive&) {}
  starling::task<> speak(starling::chare_array<listener> to, int count) {
    std::vector<int> some;
    for (int l = 0; l < to.extent().extent(); ++l)
      if (track{this_index(), false}.is_of_some(l)) some.push_back(l);
    const auto part = make_section(to, some);
    for (int n = 0; n < count; ++n) {
      send({this_index(), true}, n, to.urgent(), part);
      send({this_index(), false}, n, to, part);
      if (n % 7 == 0) co_await starling::yield();
    }
  }

 private:
  static void send(track t, int n, const starling::chare_array<listener>& to,
                   const starling::section<listener>& part) {
    const way w = t.of(n);
    const bool is_large = w == way::all_large || w == way::some_large || w == way::each_large;
    const numbers data(is_large ? large : small, n);
    if (w == way::all_large || w == way::all_small)
      to.invoke<&listener::take>(t, n, data);
    else if (w == way::some_large || w == way::some_small)
      part.invoke<&listener::take>(t, n, data);
    else
      for (int l = 0; l < to.extent().extent(); ++l) to[l].invoke<&listener::take>(t, n, data);
  }
};

/// Returns the number of errors.
inline starling::task<int> play(starling::runtime& rt, int count) {
  const auto speakers = starling::create_rank_group<speaker>(rt);
  const int listeners = 2 * int(starling::total_worker_count(rt)) + 1;
  const auto all = starling::create_array<listener>(rt, listeners, starling::placement::round_robin,
                                                    starling::rank_count());
  speakers.invoke<&speaker::speak>(all, count);
  co_await starling::quiescence();
  int wrong = 0;
  for (int l = 0; l < listeners; ++l) wrong += co_await all[l].call<&listener::wrong>(count);
  co_return wrong;
}

}  // namespace broadcast_order
