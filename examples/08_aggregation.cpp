// SPDX-License-Identifier: Apache-2.0
// Many tasks with small kernels: each awaits its own kernel, and the aggregator launches the
// kernels of several tasks together.
#include "08_aggregation.hpp"

#include <cstdio>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

using starling::memory_kind;

constexpr int points = 64;
constexpr int steps = 10;

double iterate(double x, double shift) {
  for (int s = 0; s < steps; ++s) x = x * x - shift;
  return x;
}

/// Processes one block of numbers: copies it in, runs ten dependent kernels, copies it out.
starling::task<bool> block(starling::device& device, starling::aggregator& gathered, int number) {
  auto host = device.allocate<double>(memory_kind::pinned, points);
  auto x = device.allocate<double>(memory_kind::device, points);
  const double shift = 1.0 / (1 + number);
  for (int i = 0; i < points; ++i) host.data()[i] = 0.01 * i;

  starling::sequence first = gathered.begin();  // several operations, one wait
  first.copy(x, host);
  first.submit({points}, square_minus{x.data(), shift});
  co_await first.completion();
  for (int s = 2; s < steps; ++s) co_await gathered.submit({points}, square_minus{x.data(), shift});
  starling::sequence last = gathered.begin();
  last.submit({points}, square_minus{x.data(), shift});
  last.copy(host, x);
  co_await last.completion();

  for (int i = 0; i < points; ++i) {
    const double difference = host.data()[i] - iterate(0.01 * i, shift);
    if (difference > 1e-12 || difference < -1e-12) co_return false;
  }
  co_return true;
}

starling::task<bool> run(starling::runtime& rt) {
  starling::device& device = starling::devices(rt).here();
  starling::aggregator gathered(device, {.most = 64, .streams = 2, .name = "blocks"});
  std::vector<starling::future<bool>> blocks;
  for (int b = 0; b < 200; ++b) blocks.push_back(starling::spawn(block(device, gathered, b)));
  bool right = true;
  for (auto& f : blocks) right = co_await std::move(f) && right;
  const starling::aggregation_statistics counts = gathered.statistics();
  std::printf("%d submissions in %d launches: %s\n", int(counts.submissions), int(counts.launches),
              right ? "right" : "wrong");
  co_return right;
}

int main(int argc, char** argv) {
  starling::runtime rt(argc, argv);
  return rt.sync_wait(run(rt)) ? 0 : 1;
}
