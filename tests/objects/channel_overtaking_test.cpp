// SPDX-License-Identifier: Apache-2.0
// Data of a channel that overtake earlier ones, as their sender has migrated.
#include <array>
#include <atomic>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::options_with;
using starling_test::stay_in_place;

/// Data that take two ways: element 0 sends them to element 1, by way of a home that `detour` keeps
/// from running, and from its next worker directly.
struct racer : chare<racer> {
  void go(int to) { migrate_to(std::size_t(to)); }
  void greet(element<racer> to) { to.urgent().invoke<&racer::nothing>(); }
  void nothing() {}
  void start() {
    send();
    migrate_to(2);
  }
  void after_migration() {
    if (m_sent == 0) return;
    send();
    this_array()[1].urgent().invoke<&racer::open>();  // behind the data
  }
  void open() {
    is_open = true;
    is_open.notify_all();
  }
  task<std::vector<int>> receive(int count) {
    std::vector<int> values(static_cast<std::size_t>(count));
    for (int& value : values) co_await m_channel.receive(std::span(&value, 1));
    co_return values;
  }
  static inline std::atomic<bool> is_open{false};

 private:
  void send() {
    m_channel.post(std::span(&m_values[std::size_t(m_sent)], 1));
    ++m_sent;
  }
  std::array<int, 2> m_values{10, 11};
  int m_sent = 0;
  chare_channel<int> m_channel{*this, this_array()[this_index() ^ 1]};
};
struct detour : chare<detour> {
  void hold(element<racer> sender) {
    sender.invoke<&racer::start>();
    racer::is_open.wait(false);
  }
};

TEST(channels_of_migrating_elements, hold_data_that_overtake_earlier_ones) {
  runtime rt(options_with(4));
  stay_in_place(rt, "names the workers");
  racer::is_open = false;
  const auto racers = create_array<racer>(rt, 4, placement::round_robin);
  const auto detours = create_array<detour>(rt, 4, placement::round_robin);
  rt.sync_wait([](chare_array<racer> a, chare_array<detour> d) -> task<> {
    a[1].invoke<&racer::go>(3);
    co_await quiescence();
    for (int i = 0; i < 2; ++i) {  // worker 2 learns where element 1 is
      a[2].invoke<&racer::greet>(a[1]);
      co_await quiescence();
    }
    d[1].invoke<&detour::hold>(a[0]);
    const auto received = co_await a[1].call<&racer::receive>(2);
    EXPECT_EQ(received, (std::vector<int>{10, 11}));
  }(racers, detours));
}

}  // namespace
}  // namespace starling
