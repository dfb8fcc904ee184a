// SPDX-License-Identifier: Apache-2.0
// Functions that cannot throw must survive a failed allocation.
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "support.hpp"
#include "support/scarce_memory.hpp"

namespace {

using namespace starling;
using namespace starling_test;

/// Hangs twice; the worker has memory for `allocations` further allocations.
task<> hangs_twice(channel<int>& never, int allocations) {
  refuse_memory_after(allocations);
  try {
    static_cast<void>(co_await never.receive());
  } catch (const hang_error&) {
  } catch (const std::bad_alloc&) {
  }
  static_cast<void>(co_await never.receive());
}

TEST(a_hang_without_memory, ends_with_an_error_whichever_allocation_fails) {
  for (int allocations = 0; allocations < 60; ++allocations) {
    channel<int> never;
    runtime rt(options_with(1));
    try {
      rt.sync_wait(hangs_twice(never, allocations));
      ADD_FAILURE() << "no error with " << allocations;
    } catch (const hang_error&) {
    } catch (const std::bad_alloc&) {
    }
    rt.on_worker(0).post([]() -> task<> {
      refuse_memory(false);
      co_return;
    }());
  }
}

TEST(a_promise_without_memory, is_broken_all_the_same) {
  std::optional<promise<int>> p(std::in_place);
  auto f = p->get_future();
  {
    const no_memory scarce;
    p.reset();
  }
  ASSERT_TRUE(f.is_ready());
  EXPECT_TRUE(f.state()->result.has_error());
}

}  // namespace
