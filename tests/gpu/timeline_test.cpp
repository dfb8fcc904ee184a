// SPDX-License-Identifier: Apache-2.0
// The timeline of a CUDA device.
#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../src/device/cuda/cuda_timeline.hpp"
#include "fixture.hpp"
#include "support/scratch_folder.hpp"

namespace starling::gpu_test {
namespace {

TEST(timeline_names, of_portable_kernels_are_their_types) {
  using detail::readable_kernel;
  EXPECT_EQ(
      readable_kernel("_ZN8starling4cuda6detail10run_groupsIN8jacobi3d6updateEEEvT_NS_5rangeEm"),
      "jacobi3d::update");
  EXPECT_EQ(readable_kernel(
                "_ZN8starling4cuda6detail18run_groups_of_manyIN4apps15reduce_partialsINS3_3sumEEEE"
                "EvNS1_5batchIT_EENS_5rangeEm"),
            "apps::reduce_partials<apps::sum>");
  EXPECT_EQ(readable_kernel("_ZN12_GLOBAL__N_15storeEPmm"), "(anonymous namespace)::store");
  EXPECT_EQ(readable_kernel("_Z4fillIdEvPT_m"), "fill<double>");
  EXPECT_EQ(readable_kernel("plain_c"), "plain_c");
}

/// Begin and end of the spans of a category, by name, in us.
using spans = std::map<std::string, std::vector<std::pair<double, double>>>;
spans spans_of(const nlohmann::json& trace, const std::string& category) {
  spans found;
  for (const auto& e : trace.at("traceEvents"))
    if (e.value("ph", "") == "X" && e.at("cat") == category) {
      const double begin = e.at("ts");
      found[e.at("name")].emplace_back(begin, begin + double(e.at("dur")));
    }
  return found;
}

class cuda_timelines : public gpu {};

TEST_F(cuda_timelines, have_kernels_copies_and_fills_in_the_order_of_their_stream) {
  {
    tracer probe;
    if (detail::begin_cuda_timeline(probe) == nullptr) GTEST_SKIP() << "no CUPTI here";
  }
  const starling_test::scratch_folder folder;
  const std::string file = folder.path() + "/trace.json";
  runtime_options options = cuda_options();
  options.trace_file = file;
  {
    runtime traced(options);
    device& d = devices(traced).device(0);
    stream s = d.make_stream();
    auto a = d.allocate<std::uint64_t>(memory_kind::device, 1 << 20, s);
    auto host = d.allocate<std::uint64_t>(memory_kind::pinned, 1 << 20, s);
    s.fill(a, 1);
    for (int i = 0; i < 5; ++i) s.submit(range{1 << 20}, affine{a.data(), 2, 2});
    const graph two = s.capture([&] {
      for (int i = 0; i < 2; ++i) s.submit(range{1 << 20}, affine{a.data(), 2, 2});
    });
    static_cast<void>(two.launch(s));
    s.copy(host, a);
    traced.sync_wait(s.completion());
  }
  std::ifstream in(file);
  const nlohmann::json trace = nlohmann::json::parse(in);
  spans kernels = spans_of(trace, "kernel"), copies = spans_of(trace, "copy");
  std::vector<std::pair<double, double>> chain;
  for (const auto& [name, found] : kernels)
    if (name.ends_with("affine")) chain = found;
  ASSERT_EQ(chain.size(), 7u);
  ASSERT_EQ(copies["copy to host"].size(), 1u);
  std::sort(chain.begin(), chain.end());
  for (std::size_t i = 1; i < chain.size(); ++i) EXPECT_GE(chain[i].first, chain[i - 1].second);
  EXPECT_GE(copies["copy to host"][0].first, chain.back().second);
  // Device times are on the host's clock: after the run began, and within it.
  double last = 0;
  for (const auto& [name, found] : spans_of(trace, "task"))
    for (const auto& [begin, end] : found) last = std::max(last, end);
  EXPECT_GT(chain.front().first, 0.0);
  EXPECT_LT(copies["copy to host"][0].second, last + 1e6);
}

}  // namespace
}  // namespace starling::gpu_test
