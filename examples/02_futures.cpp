// SPDX-License-Identifier: Apache-2.0
// Futures: results of started tasks. They can be awaited, chained and shared; they carry errors.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <starling/core.hpp>

using namespace starling;

task<double> measure(int sensor) {
  co_await yield();  // lets the worker run other tasks
  if (sensor == 13) throw std::runtime_error("sensor 13 is broken");
  co_return 0.5 * sensor;
}

// `.then` runs a function when the value is ready. An error skips it and is thrown by the await.
task<std::string> report(int sensor) {
  try {
    auto text = spawn(measure(sensor)).then([](double v) { return std::to_string(v); });
    co_return co_await text;
  } catch (const std::runtime_error& e) {
    co_return std::string("failed: ") + e.what();
  }
}

task<double> average_with(shared_future<double> calibration, int sensor) {
  const double value = co_await spawn(measure(sensor));
  co_return (value + co_await calibration) / 2;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);

  const std::string good = rt.sync_wait(report(4));
  const std::string bad = rt.sync_wait(report(13));
  std::printf("sensor 4: %s\nsensor 13: %s\n", good.c_str(), bad.c_str());

  // A promise can be fulfilled from outside the runtime, here by a thread of the program. The token
  // announces this thread: without it, the waiting tasks would be reported as a hang.
  promise<double> calibration;
  const auto shared = calibration.get_future().share();
  auto a = rt.spawn(average_with(shared, 2));
  auto b = rt.spawn(average_with(shared, 6));
  std::thread outside(
      [&calibration, token = rt.hold_external_work()] { calibration.set_value(3.0); });
  const double first = rt.sync_wait(std::move(a));
  const double second = rt.sync_wait(std::move(b));
  outside.join();
  std::printf("averages: %.1f %.1f\n", first, second);

  return good == "2.000000" && bad == "failed: sensor 13 is broken" && first == 2.0 && second == 3.0
             ? 0
             : 1;
}
