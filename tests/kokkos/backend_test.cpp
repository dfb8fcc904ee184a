// SPDX-License-Identifier: Apache-2.0
// A kernel of the backend on Kokkos' host space: the workers share it out.
#include <atomic>
#include <thread>

#include <starling/device.hpp>
#include <starling/device/interop/kokkos_kernels.hpp>

#include "fixture.hpp"

namespace starling::kokkos {

/// Each of two groups stays until the other has come, or gives up after a long while.
struct meet {
  std::atomic<int>* arrived;
  std::atomic<bool>* met;
  template <class Group>
  void operator()(Group&, index3) const {
    ++*arrived;
    for (int i = 0; i < 1'000'000 && !*met; ++i, std::this_thread::yield())
      if (*arrived == 2) *met = true;
  }
};

}  // namespace starling::kokkos

template struct starling::kokkos::instantiate<starling::kokkos::meet>;

namespace starling::kokkos {
namespace {

TEST(kernels_on_the_host, have_several_workers) {
  runtime_options options = runtime_options::from_environment();
  options.workers = 2;
  options.bind = binding::none;
  options.extra["backend"] = "kokkos";
  runtime rt(options);
  std::atomic<int> arrived{0};
  std::atomic<bool> met{false};
  rt.sync_wait([](device& d, const meet& kernel) -> task<void> {
    stream s = d.make_stream();
    s.submit(range{2}, kernel);
    co_await s.completion();
  }(devices(rt).device(0), meet{&arrived, &met}));
  EXPECT_EQ(arrived, 2);
  EXPECT_TRUE(met) << "one worker ran all groups";
}

}  // namespace
}  // namespace starling::kokkos
