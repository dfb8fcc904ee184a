// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "core/support.hpp"
#include "net/ranks.hpp"

namespace starling_test {

using starling::transport_kind;

/// Keeps chaos mode from making elements migrate (option chaos-migrate) in the calling test, which
/// checks behaviour that migration changes by intent. Called before arrays are made. `reason`: for
/// the reader, and a property in GoogleTest's reports.
inline void stay_in_place(starling::runtime& rt, const std::string& reason) {
  starling::detail::keep_elements_in_place(rt.service<starling::detail::object_space>());
  testing::Test::RecordProperty("stays_in_place", reason);
}

/// The map that places all elements on the first worker.
struct on_worker_0 {
  std::size_t operator()(int, std::uint64_t) const { return 0; }
};

/// Ranks of one process: each has a thread that calls `run`, a runtime and workers of its own.
struct cluster {
  int ranks;
  unsigned workers;            // of each rank
  const char* memory = "map";  // how a rank accesses memory of other ranks: option peer-memory
  transport_kind network = transport_kind::loopback;
  const char* backend = nullptr;  // device backend; null: all available backends
  std::size_t window = starling::transport::options{}.window;
  const char* chaos_migrate = nullptr;  // in chaos mode: option chaos-migrate; null: as it is

  struct end {
    int status = -1;
    std::exception_ptr error;
  };

  [[nodiscard]] starling::runtime_options options() const {
    starling::runtime_options result = options_with(workers);
    result.extra["peer-memory"] = memory;
    if (backend != nullptr) result.extra["backend"] = backend;
    if (chaos_migrate != nullptr) {
      if (!result.chaos) result.chaos = 1;
      result.extra["chaos-migrate"] = chaos_migrate;
    }
    return result;
  }

  /// Runs `main(rt)` as rank 0's task; returns how `run` ended on each rank.
  template <class Main>
  [[nodiscard]] std::vector<end> run(const Main& main) const {
    return run(main, [](std::unique_ptr<starling::transport> t) { return t; });
  }
  /// As above, with the transport that `change` makes of each rank's transport.
  template <class Main, class Change>
  [[nodiscard]] std::vector<end> run(const Main& main, const Change& change) const {
    starling::transport::options chosen;
    chosen.window = window;
    thread_network connections(network, ranks, chosen);
    std::vector<end> ends{std::size_t(ranks)};
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        try {
          const auto connection = change(connections.connect(r));
          starling::runtime rt(options());
          ends[std::size_t(r)] = end_of([&] { return starling::run(rt, *connection, main(rt)); });
        } catch (const std::exception& e) {
          ADD_FAILURE() << "rank " << r << ": " << e.what();
        }
      });
    for (std::thread& t : threads) t.join();
    return ends;
  }

  /// Expects that all ranks end with `status`, the result of the task `main(rt)`.
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
  /// Returns why the network is unavailable; empty: it is available.
  [[nodiscard]] std::string missing() const {
    if (network == transport_kind::loopback) return "";
    try {
      static_cast<void>(thread_network(network, 1).connect(0));
    } catch (const starling::backend_unavailable& e) {
      return e.what();
    }
    return "";
  }

 private:
  template <class Run>
  static end end_of(const Run& run) {
    try {
      return {run(), nullptr};
    } catch (...) {
      return {-1, std::current_exception()};
    }
  }
};

/// Returns the message of the error of type E that has ended the run on rank 0; fails the test
/// without such an error.
template <class E>
std::string error_of_rank_0(const std::vector<cluster::end>& ends) {
  return message_of<E>([&] {
    if (ends[0].error) std::rethrow_exception(ends[0].error);
  });
}

/// Connects the ranks by UCX. They do not read each other's memory: ThreadSanitizer would report a
/// race within one process, as it does not see that UCX' messages order the accesses.
constexpr cluster over_ucx(cluster c) {
  c.memory = "stage";
  c.network = transport_kind::ucx;
  return c;
}
constexpr cluster with_backend(const char* name, cluster c) {
  c.backend = name;
  return c;
}

class on_clusters : public testing::TestWithParam<cluster> {
 protected:
  void SetUp() override {
    if (const std::string why = all.missing(); !why.empty()) GTEST_SKIP() << why;
  }
  const cluster all = GetParam();
};

inline const auto cluster_sizes =
    testing::Values(cluster{1, 2}, cluster{2, 1}, cluster{2, 2}, cluster{3, 1}, cluster{5, 2},
                    over_ucx({2, 2}), over_ucx({3, 1}));
inline std::ostream& operator<<(std::ostream& out, const cluster& c) {
  out << c.ranks << "_ranks_of_" << c.workers << (c.workers == 1 ? "_worker" : "_workers");
  if (c.network == transport_kind::ucx) return out << "_ucx";
  return c.memory == std::string("map") ? out : out << '_' << c.memory;
}
inline std::string cluster_name(const testing::TestParamInfo<cluster>& info) {
  return testing::PrintToString(info.param);
}

}  // namespace starling_test
