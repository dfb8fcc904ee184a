// SPDX-License-Identifier: Apache-2.0
// An array whose elements have different amounts of work: a user-defined placement balances it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

/// An element with work proportional to its index.
struct part : chare<part> {
  void work(callback<std::vector<std::uint64_t>> to) {
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < 1000u * std::uint64_t(this_index()); ++i) done += i % 2 + 1;
    std::vector<std::uint64_t> load(total_worker_count(*runtime::current()));
    load[worker_number()] = done;
    const auto add = [](std::vector<std::uint64_t> a, const std::vector<std::uint64_t>& b) {
      std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<>());
      return a;
    };
    contribute(load, add, to);
  }
};

/// Returns the work of the busiest worker divided by the mean; 1 is perfect balance.
task<double> imbalance(chare_array<part> parts, const char* name) {
  auto [to, loads] = make_reply<std::vector<std::uint64_t>>();
  parts.invoke<&part::work>(to);
  const auto load = co_await std::move(loads);
  std::uint64_t sum = 0;
  for (const std::uint64_t l : load) sum += l;
  const double worst = double(*std::max_element(load.begin(), load.end()));
  const double result = worst * double(load.size()) / double(sum);
  std::printf("%-28s busiest worker / mean: %.3f\n", name, result);
  co_return result;
}

/// Placement that runs over the workers forwards, then backwards: a worker that gets the smaller
/// element of one pass gets the larger element of the next pass.
struct snake {
  std::uint64_t workers;
  std::uint64_t operator()(int, std::uint64_t number) const {
    const std::uint64_t at = number % (2 * workers);
    return at < workers ? at : 2 * workers - 1 - at;
  }
};

task<int> compare(runtime& rt) {
  const std::uint64_t workers = total_worker_count(rt);
  const int n = int(16 * workers);
  const auto in_blocks = create_array<part>(rt, n, placement::block);
  const auto spread = create_array<part>(rt, n, snake{workers});
  const double before = co_await imbalance(in_blocks, "neighbours together:");
  const double after = co_await imbalance(spread, "there and back:");
  const bool better = workers == 1 ? after == before : after < 1.05 && before > 1.2;
  co_return better ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, compare(rt));
}
