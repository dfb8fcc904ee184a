// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "core/support.hpp"

namespace starling_test {

/// Ranks of one process: each has a thread that calls `run`, a runtime and workers of its own.
struct cluster {
  int ranks;
  unsigned workers;            // of each
  const char* memory = "map";  // how the ranks get each other's: option peer-memory
  std::size_t window = starling::transport::options{}.window;

  struct end {
    int status = -1;
    std::exception_ptr error;
  };

  /// What `run` of each rank came to. `main(rt)` makes the task that rank 0 runs.
  template <class Main>
  [[nodiscard]] std::vector<end> run(const Main& main) const {
    return run(main, [](std::unique_ptr<starling::transport> t) { return t; });
  }
  /// The same over what `change` makes of each rank's transport.
  template <class Main, class Change>
  [[nodiscard]] std::vector<end> run(const Main& main, const Change& change) const {
    starling::transport::options chosen;
    chosen.window = window;
    starling::loopback_network network(ranks, chosen);
    std::vector<std::unique_ptr<starling::transport>> transports;
    for (int r = 0; r < ranks; ++r) transports.push_back(change(network.connect(r)));
    std::vector<end> ends{std::size_t(ranks)};
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        starling::runtime_options options = options_with(workers);
        options.extra["peer-memory"] = memory;
        starling::runtime rt(options);
        try {
          ends[std::size_t(r)].status = starling::run(rt, *transports[std::size_t(r)], main(rt));
        } catch (...) {
          ends[std::size_t(r)].error = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
    return ends;
  }

  /// All ranks end with the status that `main(rt)` returns.
  template <class Main>
  void expect(int status, const Main& main) const {
    const auto ends = run(main);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(ends[std::size_t(r)].status, status)
          << "rank " << r << text_of(ends[std::size_t(r)]);
    }
  }
  [[nodiscard]] static std::string text_of(const end& e) {
    if (!e.error) return "";
    try {
      std::rethrow_exception(e.error);
    } catch (const std::exception& error) {
      return std::string(": ") + error.what();
    }
  }
};

class on_clusters : public testing::TestWithParam<cluster> {
 protected:
  const cluster all = GetParam();
};

inline const auto cluster_sizes =
    testing::Values(cluster{1, 2}, cluster{2, 1}, cluster{2, 2}, cluster{3, 1}, cluster{5, 2});
inline std::string cluster_name(const testing::TestParamInfo<cluster>& info) {
  return std::to_string(info.param.ranks) + "_ranks_of_" + std::to_string(info.param.workers) +
         (info.param.memory == std::string("map") ? "" : std::string("_") + info.param.memory);
}

}  // namespace starling_test
