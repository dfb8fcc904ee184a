// SPDX-License-Identifier: Apache-2.0
// Two dependent streams: an event orders them on the device, a join awaits both.
#include "06_kernel.hpp"

#include <cstdio>

#include <starling/core.hpp>
#include <starling/device.hpp>

using starling::memory_kind;

starling::task<bool> run(starling::runtime& rt) {
  constexpr int n = 4096;
  starling::device& device = starling::devices(rt).here();
  starling::stream a = device.make_stream();
  starling::stream b = device.make_stream(starling::priority::high);
  auto x = device.allocate<double>(memory_kind::pinned, n);
  auto y = device.allocate<double>(memory_kind::pinned, n);

  a.fill(x, 3.0);
  b.fill(y, 1.0);
  b.wait(a.record());  // later work of b starts after the work submitted to a so far
  b.submit({n}, axpy{10.0, x.data(), y.data()});
  co_await starling::when_all(a.get_future(), b.get_future());

  for (int i = 0; i < n; ++i)
    if (y.data()[i] != 31.0) co_return false;
  std::printf("two streams: right\n");
  co_return true;
}

int main(int argc, char** argv) {
  starling::runtime rt(argc, argv);
  return rt.sync_wait(run(rt)) ? 0 : 1;
}
