// SPDX-License-Identifier: Apache-2.0
// The code of kernels is loaded before the first of them is launched.
#include <atomic>
#include <cstdint>
#include <string_view>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class loading : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, loading, testing::ValuesIn(all_setups), name_of);

TEST_P(loading, does_not_change_the_results_of_kernels) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 4, 5);
    stream s = d.make_stream();
    for (int i = 0; i < 2; ++i) {
      d.load_kernels();
      s.submit(range{4}, affine{a.data(), 3, 1});
    }
    co_await s.completion();
    for (const std::uint64_t value : a) EXPECT_EQ(value, 49u);
  });
}

/// Without the loading, the second kernel's first launch would wait for the kernel that waits for
/// it.
task<void> run_during_a_long_kernel(device& d) {
  auto flag = shared_buffer<int>(d, 1, 0);
  auto a = shared_buffer<std::uint64_t>(d, 4, 5), b = shared_buffer<std::uint64_t>(d, 4, 0);
  stream s = d.make_stream(), other = d.make_stream();
  d.load_kernels();
  s.submit(range{1}, hold_on_device{flag.data()});
  other.submit(range{4}, affine{a.data(), 3, 1});
  other.fill(b, std::uint64_t{7});
  co_await other.completion();
  for (const std::uint64_t value : a) EXPECT_EQ(value, 16u);
  for (const std::uint64_t value : b) EXPECT_EQ(value, 7u);
  EXPECT_FALSE(s.is_idle());
  std::atomic_ref(flag.data()[0]).store(1);
  co_await s.completion();
}

TEST_P(loading, lets_kernels_begin_during_a_long_one) {
  if (GetParam().backend != std::string_view("cuda") ||
      GetParam().completion == std::string_view("block"))
    GTEST_SKIP() << "kernels of hosts may need the thread that waits";
  run(run_during_a_long_kernel);
}

}  // namespace
}  // namespace starling::contract
