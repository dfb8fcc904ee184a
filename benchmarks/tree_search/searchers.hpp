// SPDX-License-Identifier: Apache-2.0
//
// The search as resident chares: each searcher has a stack of nodes that are not expanded yet, and
// sends some of them on when it has many. No searcher can detect the end; the runtime detects it.
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

#include "tree.hpp"

namespace tree_search {

namespace resident = starling::resident;
using resident::entry;

/// Mailboxes for the results of all searchers together.
struct results {
  resident::host_mailbox<std::uint64_t> nodes;
  resident::host_mailbox<std::uint64_t> sum;
};

template <class Cx>
class searcher : public resident::chare {
 public:
  /// Begins a search. The children of the root are spread evenly. Nodes may have arrived before.
  constexpr void begin(Cx& cx, tree whole, results to) {
    const auto all = cx.array_of(*this);
    const std::uint32_t each = whole.roots / all.size(), more = whole.roots % all.size();
    const auto bound = [&](std::uint32_t of) { return each * of + (of < more ? of : more); };
    const std::uint32_t first = bound(index()), count = bound(index() + 1u) - first;
    const std::uint32_t size = m_size;
    if (count > room - size) return cx.fail(count);
    cx.for_each(count, [&](std::uint32_t i) { m_stack[size + i] = tree::child(0, first + i); });
    cx.sync();  // all threads have read m_size
    cx.once([&] {
      m_tree = whole;
      m_size = size + count;
      m_has_begun = true;
    });
    if (index() == 0) cx.when_quiescent(all[0], entry<&searcher::end>, to);
    wake(cx);
  }
  /// Takes surplus nodes of another searcher.
  constexpr void take(Cx& cx, std::span<const node> nodes) {
    const auto count = static_cast<std::uint32_t>(nodes.size());
    const std::uint32_t size = m_size;
    if (count > room - size) return cx.fail(count);
    cx.for_each(count, [&](std::uint32_t i) { m_stack[size + i] = nodes[i]; });
    cx.sync();  // all threads have read m_size
    cx.once([&] { m_size = size + count; });
    wake(cx);
  }
  constexpr void go_on(Cx& cx) {
    std::uint32_t size = m_size;
    findings mine;
    for (int round = 0; round < rounds_at_once && size != 0; ++round) size = expand(cx, size, mine);
    const auto add = [](std::uint64_t a, std::uint64_t b) { return a + b; };
    mine = {cx.reduce(mine.nodes, add), cx.reduce(mine.sum, add)};
    const bool is_alone = cx.array_of(*this).size() == 1;
    for (int i = 0; i < gifts_at_once && size > much && !is_alone; ++i) {
      size -= gift;
      give(cx, std::span<const node>(m_stack + size, gift));
    }
    cx.once([&] {
      m_found.nodes += mine.nodes;
      m_found.sum += mine.sum;
      m_size = size;
      m_is_awake = false;
    });
    wake(cx);
  }
  constexpr void end(Cx& cx, results to) {
    cx.broadcast(cx.array_of(*this), entry<&searcher::tell>, to);
  }
  constexpr void tell(Cx& cx, results to) {
    cx.contribute(m_found.nodes, resident::reduction::sum, to.nodes);
    cx.contribute(m_found.sum, resident::reduction::sum, to.sum);
    cx.sync();  // all threads have read m_found
    cx.once([&] {
      m_found = {};
      m_has_begun = false;
    });
  }
  struct entries : resident::entries<&searcher::begin, &searcher::take, &searcher::go_on,
                                     &searcher::end, &searcher::tell> {};

 private:
  static constexpr std::uint32_t room = 1 << 16;
  static constexpr std::uint32_t much = 1024, gift = 256;
  static constexpr int rounds_at_once = 32, gifts_at_once = 4;

  /// Replaces the topmost nodes, one for each thread, by their children. Returns the new size.
  [[nodiscard]] constexpr std::uint32_t expand(Cx& cx, std::uint32_t size, findings& mine) {
    const auto threads = static_cast<std::uint32_t>(cx.size());
    const auto rank = static_cast<std::uint32_t>(cx.rank());
    const std::uint32_t first = size < threads ? 0 : size - threads;
    node parent = 0;
    std::uint32_t children = 0;
    if (first + rank < size) {
      parent = m_stack[first + rank];
      children = m_tree.children_of(parent);
      ++mine.nodes;
      mine.sum += parent;
    }
    const resident::prefix_sum<std::uint32_t> place = cx.scan(children);
    if (place.all > room - first) {
      cx.fail(place.all);
      return 0;
    }
    for (std::uint32_t c = 0; c < children; ++c)
      m_stack[first + place.before + c] = tree::child(parent, c);
    cx.sync();
    return first + place.all;
  }
  constexpr void give(Cx& cx, std::span<const node> nodes) {
    const auto all = cx.array_of(*this);
    const std::uint32_t to = (index() + 1 + m_given % (all.size() - 1)) % all.size();
    cx.invoke(all[to], entry<&searcher::take>, nodes);
    cx.once([&] { ++m_given; });
  }
  constexpr void wake(Cx& cx) {
    const bool is_to_wake = m_has_begun && !m_is_awake && m_size != 0;
    cx.sync();  // all threads have read the members
    if (!is_to_wake) return;
    cx.once([&] { m_is_awake = true; });
    cx.invoke(cx.array_of(*this)[index()], entry<&searcher::go_on>);
  }

  node m_stack[room];
  tree m_tree;
  findings m_found;
  std::uint32_t m_size = 0;
  std::uint32_t m_given = 0;
  bool m_has_begun = false;
  bool m_is_awake = false;
};

using program = resident::program<searcher>;

}  // namespace tree_search
