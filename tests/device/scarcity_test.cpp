// SPDX-License-Identifier: Apache-2.0
// What becomes of work when there is no memory left for it, or for what accompanies it.
#include <cstdint>
#include <new>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "scarce_memory.hpp"

namespace starling {
namespace {

runtime_options on_host(unsigned workers) {
  runtime_options options;
  options.workers = workers;
  options.bind = binding::none;
  options.extra = {{"backend", "host"}};
  return options;
}

struct add_one {
  static constexpr const char* name = "add_one";
  std::uint64_t* a;
  void operator()(index3) const { *a += 1; }
};

TEST(without_memory, a_sequence_that_is_not_committed_keeps_its_operations) {
  std::uint64_t a = 0;
  runtime rt(on_host(1));
  aggregator another(devices(rt).device(0));
  rt.sync_wait(another.submit(range{1}, add_one{&a}).get_future());  // there are blocks for states
  aggregator gathered(devices(rt).device(0));
  sequence s = gathered.submit(range{1}, add_one{&a});
  s.submit(range{1}, add_one{&a});
  {
    const no_memory now;
    EXPECT_THROW(static_cast<void>(s.get_future()), std::bad_alloc);
  }
  EXPECT_FALSE(s.empty());
  rt.sync_wait(s.get_future());
  EXPECT_EQ(a, 3u);
  EXPECT_EQ(gathered.statistics().submissions, 1u);
}

}  // namespace
}  // namespace starling
