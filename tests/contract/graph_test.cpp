// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <stdexcept>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class graphs : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, graphs, testing::ValuesIn(all_setups), name_of);

TEST_P(graphs, run_at_each_launch_and_not_at_capture) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 3, 1);
    stream s = d.make_stream();
    const graph g = s.capture([&] {
      s.submit(range{3}, affine{a.data(), 2, 0});
      s.submit(range{3}, affine{a.data(), 1, 5});
    });
    EXPECT_EQ(g.size(), 2u);
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 1u);
    std::uint64_t expected = 1;
    for (int i = 0; i < 10; ++i) {
      co_await g.launch(s);
      expected = 2 * expected + 5;
      EXPECT_EQ(a.data()[2], expected);
    }
  });
}

TEST_P(graphs, may_be_launched_again_before_they_are_done) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 1);
    stream s = d.make_stream();
    const graph g = s.capture([&] { s.submit(range{1}, affine{a.data(), 3, 1}); });
    for (int i = 0; i < 100; ++i) static_cast<void>(g.launch(s));
    co_await s.completion();
    std::uint64_t expected = 1;
    for (int i = 0; i < 100; ++i) expected = 3 * expected + 1;
    EXPECT_EQ(a.data()[0], expected);
  });
}

TEST_P(graphs, are_captured_while_other_streams_are_queried) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 2, 1);
    stream s = d.make_stream();
    stream other = d.make_stream();
    std::uint64_t expected = 1;
    for (int i = 0; i < 100; ++i, expected = 3 * expected + 1)
      other.submit(range{1}, affine{a.data() + 1, 3, 1});
    const graph g = s.capture([&] {
      s.submit(range{1}, affine{a.data(), 3, 1});
      static_cast<void>(other.is_idle());
      s.submit(range{1}, affine{a.data(), 3, 1});
    });
    co_await other.completion();
    co_await g.launch(s);
    EXPECT_EQ(g.size(), 2u);
    EXPECT_EQ(a.data()[0], 13u);
    EXPECT_EQ(a.data()[1], expected);
  });
}

TEST_P(graphs, alternate_where_pointers_swap) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 64, 1);
    auto b = shared_buffer<std::uint64_t>(d, 64, 0);
    stream s = d.make_stream();
    const graph there = s.capture([&] { s.submit(range{64}, add_to{b.data(), a.data(), 1}); });
    const graph back = s.capture([&] { s.submit(range{64}, add_to{a.data(), b.data(), 1}); });
    for (int i = 0; i < 10; ++i) {
      static_cast<void>(there.launch(s));
      co_await back.launch(s);
    }
    for (const std::uint64_t value : a) EXPECT_EQ(value, 21u);
  });
}

TEST_P(graphs, hold_copies_and_fills) {
  run([](device& d) -> task<void> {
    stream s = d.make_stream();
    auto in = shared_buffer<std::uint64_t>(d, 100, 4);
    auto out = shared_buffer<std::uint64_t>(d, 100, 0);
    auto work = d.allocate<std::uint64_t>(memory_kind::device, 100, s);
    const graph g = s.capture([&] {
      s.copy(work, in);
      s.submit(range{100}, affine{work.data(), 10, 1});
      s.fill(work.span().first(1), 7);
      s.copy(out, work);
    });
    EXPECT_EQ(g.size(), 4u);
    co_await g.launch(s);
    EXPECT_EQ(out.data()[0], 7u);
    EXPECT_EQ(out.data()[99], 41u);
    in.data()[99] = 5;
    stream other = d.make_stream();
    co_await g.launch(other);  // any stream of the device
    EXPECT_EQ(out.data()[99], 51u);
  });
}

TEST_P(graphs, refuse_operations_that_they_cannot_hold) {
  stream s = first().make_stream();
  EXPECT_THROW(static_cast<void>(s.capture([&] { static_cast<void>(s.record()); })), usage_error);
  EXPECT_THROW(static_cast<void>(s.capture([&] { static_cast<void>(s.get_future()); })),
               usage_error);
  EXPECT_THROW(static_cast<void>(s.capture([&] { throw std::runtime_error("user's own"); })),
               std::runtime_error);
  EXPECT_THROW(static_cast<void>(graph().launch(s)), usage_error);
  runtime elsewhere(options_for({"host", "word"}));
  stream foreign = devices(elsewhere).device(0).make_stream();
  const graph g = s.capture([] {});
  EXPECT_THROW(static_cast<void>(g.launch(foreign)), usage_error) << "of another device";
  auto a = shared_buffer<std::uint64_t>(first(), 1, 3);
  s.submit(range{1}, affine{a.data(), 2, 0});  // the stream works as before
  rt().sync_wait(s.completion());
  EXPECT_EQ(a.data()[0], 6u);
}

}  // namespace
}  // namespace starling::contract
