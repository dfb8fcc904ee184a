// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <span>

#include <starling/core.hpp>
#include <starling/device.hpp>

struct scale {
  double* x;
  double factor;
  constexpr void operator()(starling::index3 i) const { x[i.x] *= factor; }
};

starling::task<double> scaled_sum(starling::stream stream, std::span<double> data) {
  stream.submit({static_cast<int>(data.size())}, scale{data.data(), 2.0});
  co_await stream.completion();
  double sum = 0;
  for (const double v : data) sum += v;
  co_return sum;
}

starling::task<double> run(starling::runtime& rt) {
  starling::device& device = starling::devices(rt).here();
  auto data = device.allocate<double>(starling::memory_kind::pinned, 21);
  for (double& v : data) v = 1.0;
  co_return co_await starling::spawn(scaled_sum(device.pool().acquire(), data.span()));
}

// A consumer compiles no device code of its own: it asks for the host backend.
int main() {
  starling::runtime_options options;
  options.workers = 2;
  options.extra["backend"] = "host";
  starling::runtime rt(options);
  std::printf("consumer: %g\n", rt.sync_wait(run(rt)));
}
