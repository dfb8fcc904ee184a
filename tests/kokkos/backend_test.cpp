// SPDX-License-Identifier: Apache-2.0
// A kernel of the backend on Kokkos' host space is divided among the workers.
#include <starling/device.hpp>
#include <starling/device/interop/kokkos_kernels.hpp>

#include "fixture.hpp"
#include "support/meeting_of_two.hpp"

namespace starling::kokkos {

struct meet {
  starling_test::meeting_of_two* groups;
  template <class Group>
  void operator()(Group&, index3) const {
    groups->come();
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
  starling_test::meeting_of_two groups;
  rt.sync_wait([](device& d, const meet& kernel) -> task<void> {
    stream s = d.make_stream();
    s.submit(range{2}, kernel);
    co_await s.completion();
  }(devices(rt).device(0), meet{&groups}));
  EXPECT_EQ(groups.came(), 2);
  EXPECT_EQ(groups.alone(), 0) << "one worker ran all groups";
}

}  // namespace
}  // namespace starling::kokkos
