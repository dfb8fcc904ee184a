// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

class cuda_peers : public gpu {
 protected:
  void SetUp() override {
    runtime_options every = cuda_options();
    every.extra.erase("devices");
    start(every);
    if (IsSkipped()) return;
    if (all().count() < 2) GTEST_SKIP() << "one CUDA device here; two are needed";
  }
};

TEST_F(cuda_peers, copies_go_from_device_to_device) {
  device& one = all().device(0);
  device& two = all().device(1);
  for (const bool direct : {false, true}) {
    if (direct && !one.enable_peer_access(two)) GTEST_SKIP() << "no peer access between them";
    stream s = one.make_stream();
    stream t = two.make_stream();
    auto a = one.allocate<std::uint64_t>(memory_kind::device, 1000, s);
    auto b = two.allocate<std::uint64_t>(memory_kind::device, 1000, t);
    auto result = shared_buffer<std::uint64_t>(two, 1000, 0);
    s.fill(a, 41);
    s.submit(range{1000}, affine{a.data(), 1, 1});
    t.wait(s.record());
    t.copy(b, a);
    t.submit(range{1000}, affine{b.data(), 2, 0});
    t.copy(result, b);
    rt().sync_wait(t.completion());
    for (const std::uint64_t value : result) EXPECT_EQ(value, 84u);
  }
}

TEST_F(cuda_peers, kernels_reach_the_memory_of_a_peer) {
  device& one = all().device(0);
  device& two = all().device(1);
  if (!one.enable_peer_access(two)) GTEST_SKIP() << "no peer access between them";
  EXPECT_TRUE(one.enable_peer_access(two)) << "asking twice is fine";
  EXPECT_TRUE(one.reaches(one));
  EXPECT_TRUE(one.reaches(two));
  stream s = one.make_stream();
  auto far = two.allocate<std::uint64_t>(memory_kind::device, 64);
  auto result = shared_buffer<std::uint64_t>(one, 64, 0);
  s.fill(far, 20);
  s.submit(range{64}, affine{far.data(), 2, 2});
  s.copy(result, far);
  rt().sync_wait(s.completion());
  for (const std::uint64_t value : result) EXPECT_EQ(value, 42u);
}

TEST_F(cuda_peers, a_thread_moves_between_devices_by_their_streams) {
  stream s = all().device(0).make_stream();
  stream t = all().device(1).make_stream();
  auto a = shared_buffer<std::uint64_t>(all().device(0), 1, 1);
  for (int i = 0; i < 10; ++i) {
    s.submit(range{1}, affine{a.data(), 2, 0});
    t.wait(s.record());
    t.submit(range{1}, affine{a.data(), 1, 1});
    s.wait(t.record());
  }
  double_by_hand(cuda::native(t), a.data(), 1);  // native() makes its device current
  rt().sync_wait(t.completion());
  EXPECT_EQ(a.data()[0], 2 * ((1u << 11) - 1));
}

}  // namespace
}  // namespace starling::gpu_test
