// SPDX-License-Identifier: Apache-2.0
// Irregular work on resident chares: searchers count the nodes of a tree that is generated while it
// is searched. Each searcher has a stack and sends a part of it on when it is large. The program
// detects by itself when no work is left. The tree is as in Olivier et al., "UTS: an unbalanced
// tree search benchmark" (2006): a node has five children or none, depending on its number.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#include <starling/core.hpp>
#include <starling/resident.hpp>

using namespace starling;
using resident::entry;

using node = std::uint32_t;
constexpr std::uint32_t root_children = 400, children = 5;

constexpr node child_of(node parent, std::uint32_t which) {
  node n = parent * 5 + which + 1;
  n = (n ^ n >> 16) * 0x7feb352du;
  n = (n ^ n >> 15) * 0x846ca68bu;
  return n ^ n >> 16;
}
/// True for 19.5 % of the nodes: 0.98 children for each node on average, so the tree is finite.
constexpr bool has_children(node n) { return n < 0x32000000u; }

template <class Cx>
struct searcher : resident::chare {
  static constexpr std::uint32_t room = 4096, much = 256, at_once = 64;
  std::array<node, room> m_stack;
  std::uint32_t m_size = 0, m_given = 1;
  bool m_is_working = false;
  std::int64_t m_found = 0;

  constexpr void search(Cx& cx, std::span<const node> nodes) {
    cx.once([&] {
      for (const node n : nodes) m_stack[m_size++] = n;
    });
    if (!m_is_working) go_on(cx);
  }
  constexpr void go_on(Cx& cx) {
    cx.once([&] {
      for (std::uint32_t i = 0; i < at_once && m_size != 0; ++i) {
        const node n = m_stack[--m_size];
        ++m_found;
        for (std::uint32_t c = 0; c < children && has_children(n); ++c)
          m_stack[m_size++] = child_of(n, c);
      }
      m_is_working = m_size != 0;
    });
    const auto all = cx.array_of(*this);
    if (m_size > much) {
      cx.once([&] { m_size -= much / 2; });
      cx.invoke(all[(index() + m_given) % all.size()], entry<&searcher::search>,
                std::span<const node>(m_stack).subspan(m_size, much / 2));
      cx.once([&] { ++m_given; });
    }
    if (m_is_working) cx.invoke(all[index()], entry<&searcher::go_on>);
  }
  constexpr void begin(Cx& cx, resident::host_mailbox<std::int64_t> result) {
    cx.when_quiescent(cx.array_of(*this)[0], entry<&searcher::all_done>, result);
    cx.once([&] {
      for (std::uint32_t c = 0; c < root_children; ++c) m_stack[m_size++] = child_of(1, c);
    });
    go_on(cx);
  }
  constexpr void all_done(Cx& cx, resident::host_mailbox<std::int64_t> result) {
    cx.broadcast(cx.array_of(*this), entry<&searcher::tell>, result);
  }
  constexpr void tell(Cx& cx, resident::host_mailbox<std::int64_t> result) {
    cx.contribute(m_found, resident::reduction::sum, result);
  }
  struct entries : resident::entries<&searcher::search, &searcher::go_on, &searcher::begin,
                                     &searcher::all_done, &searcher::tell> {};
};

std::int64_t count_below(node n) {
  std::int64_t found = 1;
  for (std::uint32_t c = 0; c < children && has_children(n); ++c)
    found += count_below(child_of(n, c));
  return found;
}

using search_program = resident::system<resident::program<searcher>>;
using host = searcher<search_program::context>;

task<int> search(runtime& rt) {
  search_program program(rt, {.schedulers = 4});
  const auto searchers = program.create<searcher>(8);
  const auto result = program.make_host_mailbox<std::int64_t>();
  co_await program.start();
  co_await program.invoke(searchers[0], entry<&host::begin>, result);
  const std::int64_t found = co_await program.receive(result);
  std::printf("%lld nodes\n", static_cast<long long>(found));
  std::int64_t expected = 0;
  for (std::uint32_t c = 0; c < root_children; ++c) expected += count_below(child_of(1, c));
  co_return found == expected ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return rt.sync_wait(search(rt));
}
