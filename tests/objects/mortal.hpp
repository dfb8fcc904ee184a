// SPDX-License-Identifier: Apache-2.0
// Tests destroy some of these elements while other elements wait in load_balance().
#pragma once

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace starling_test {

/// Waits in load_balance(); returns whether the wait ended because the element was destroyed.
struct mortal : starling::chare<mortal> {
  template <class Archive>
  void serialize(Archive&) {}
  starling::task<bool> wait() {
    try {
      co_await load_balance();
    } catch (const starling::operation_cancelled&) {
      co_return true;
    }
    co_return false;
  }
};

/// Destroys an element that waits and one that does not wait yet. Expects that the remaining
/// elements pass load_balance() three times.
inline starling::task<> destroy_while_others_wait(starling::runtime& rt) {
  const auto all = starling::create_array<mortal>(rt, 5, starling::placement::round_robin);
  auto first = all[1].call<&mortal::wait>();
  co_await starling::quiescence();
  all[1].destroy();
  EXPECT_TRUE(co_await std::move(first));
  all[2].destroy();
  for (int round = 0; round < 3; ++round) {
    std::vector<starling::future<bool>> waits;
    for (const int i : {0, 3, 4}) waits.push_back(all[i].call<&mortal::wait>());
    for (const bool is_cancelled : co_await when_all(std::move(waits))) EXPECT_FALSE(is_cancelled);
  }
}

}  // namespace starling_test
