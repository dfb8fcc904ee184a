// SPDX-License-Identifier: Apache-2.0
// A kernel, a stream and buffers: copy in, run, copy out, await.
#include "06_kernel.hpp"

#include <cstdio>

#include <starling/core.hpp>
#include <starling/device.hpp>

using starling::memory_kind;

starling::task<bool> run(starling::runtime& rt) {
  constexpr int n = 100'000;
  starling::device& device = starling::devices(rt).here();
  starling::stream s = device.pool().acquire();

  auto host = device.allocate<double>(memory_kind::pinned, n);
  auto x = device.allocate<double>(memory_kind::device, n, s);
  auto y = device.allocate<double>(memory_kind::device, n, s);
  for (int i = 0; i < n; ++i) host.data()[i] = i;

  s.copy(x, host);
  s.fill(y, 1.0);
  s.submit({n}, axpy{2.0, x.data(), y.data()});
  s.copy(host, y);
  co_await s.completion();  // the worker runs other tasks meanwhile

  for (int i = 0; i < n; ++i)
    if (host.data()[i] != 2.0 * i + 1.0) co_return false;
  std::printf("axpy on %s: right\n", device.properties().name.c_str());
  co_return true;
}

int main(int argc, char** argv) {
  starling::runtime rt(argc, argv);
  return rt.sync_wait(run(rt)) ? 0 : 1;
}
