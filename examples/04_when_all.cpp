// SPDX-License-Identifier: Apache-2.0
// Joins and races: wait for all of several futures, or for the first of them.
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>

using namespace starling;

// The integral of 4/(1+x²) over one part of [0, 1] by the midpoint rule.
task<double> part_of_pi(int part, int parts, int steps) {
  const double width = 1.0 / parts / steps;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double x = double(part) / parts + (i + 0.5) * width;
    sum += 4 / (1 + x * x) * width;
  }
  co_return sum;
}

task<double> pi(int parts) {
  std::vector<future<double>> inputs;
  for (int p = 0; p < parts; ++p) inputs.push_back(spawn(part_of_pi(p, parts, 1000)));
  double sum = 0;
  for (const double x : co_await when_all(std::move(inputs))) sum += x;
  co_return sum;
}

task<std::string> named(std::string name, int turns) {
  for (int i = 0; i < turns; ++i) co_await yield();
  co_return name;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  const double value = rt.sync_wait(pi(64));
  std::printf("pi = %.10f\n", value);

  // Futures of different types are joined into a tuple.
  const auto [word, number] =
      rt.sync_wait(when_all(rt.spawn(named("tuple", 3)), rt.spawn(part_of_pi(0, 1, 1000))));
  std::printf("%s: %.6f\n", word.c_str(), number);

  // The first future that is ready wins; the remaining futures stay usable.
  promise<std::string> slow;
  std::vector<future<std::string>> runners;
  runners.push_back(slow.get_future());
  runners.push_back(rt.spawn(named("hare", 5)));
  auto race = rt.sync_wait(when_any(std::move(runners)));
  const std::string winner = rt.sync_wait(std::move(race.futures[race.index]));
  slow.set_value("tortoise");
  const std::string loser = rt.sync_wait(std::move(race.futures[0]));
  std::printf("%s before %s\n", winner.c_str(), loser.c_str());

  const bool right = std::abs(value - 3.14159265358979) < 1e-8 && word == "tuple" &&
                     winner == "hare" && loser == "tortoise";
  return right ? 0 : 1;
}
