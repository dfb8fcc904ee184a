// SPDX-License-Identifier: Apache-2.0
// Runs a test on ranks that may have different numbers of workers.
#pragma once

#include <cstddef>
#include <exception>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster.hpp"

namespace starling_test {

/// Ranks of one process, like `cluster`, with a number of workers for each.
struct uneven_ranks {
  std::vector<unsigned> workers;  // of each rank

  /// Runs `main(rt)` as rank 0's task; returns how `run` ended on each rank.
  template <class Main>
  [[nodiscard]] std::vector<cluster::end> run(const Main& main) const {
    thread_network connections(transport_kind::loopback, int(workers.size()));
    std::vector<cluster::end> ends{workers.size()};
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < workers.size(); ++r)
      threads.emplace_back([&, r] {
        try {
          const auto connection = connections.connect(int(r));
          starling::runtime rt(options_with(workers[r]));
          ends[r].status = starling::run(rt, *connection, main(rt));
        } catch (...) {
          ends[r].error = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
    return ends;
  }
  /// Expects that all ranks end with `status`.
  template <class Main>
  void expect(int status, const Main& main) const {
    const auto ends = run(main);
    for (std::size_t r = 0; r < ends.size(); ++r)
      EXPECT_EQ(ends[r].status, status) << "rank " << r << cluster::text_of(ends[r]);
  }
  [[nodiscard]] bool has_several_ranks() const { return workers.size() > 1; }
};

inline std::ostream& operator<<(std::ostream& out, const uneven_ranks& of) {
  const std::vector<unsigned>& each = of.workers;
  if (!of.has_several_ranks()) return out << each[0] << (each[0] == 1 ? "_worker" : "_workers");
  if (std::vector<unsigned>(each.size(), each[0]) == each)
    return out << each.size() << "_ranks_of_" << each[0] << "_workers";
  out << "ranks_of_" << each[0];
  for (std::size_t r = 1; r < each.size(); ++r) out << "_and_" << each[r];
  return out << "_workers";
}
inline std::string uneven_name(const testing::TestParamInfo<uneven_ranks>& info) {
  return testing::PrintToString(info.param);
}

}  // namespace starling_test
