// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA devices as a part of an element's state.
#include <cstdint>
#include <tuple>
#include <vector>

#include <starling/objects.hpp>

#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

constexpr std::size_t count = (std::size_t(20) << 20) / 8 + 3;  // more than two pieces of a copy
using packed = std::tuple<buffer<std::uint64_t>>;

/// Returns the elements of a buffer that was unpacked on the worker's device.
task<std::vector<std::uint64_t>> unpacked(runtime& rt, const std::vector<std::byte>& bytes,
                                          memory_kind kind) {
  buffer<std::uint64_t> b = std::get<0>(unpack<packed>(bytes));
  EXPECT_EQ(b.kind(), kind);
  std::vector<std::uint64_t> found(b.size());
  stream s = devices(rt).here().make_stream();
  s.copy(found, b.span());
  co_await s.completion();
  co_return found;
}

class cuda_device_state : public gpu, public testing::WithParamInterface<memory_kind> {};
INSTANTIATE_TEST_SUITE_P(in, cuda_device_state,
                         testing::Values(memory_kind::device, memory_kind::pinned,
                                         memory_kind::host),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(cuda_device_state, is_restored_on_the_device_and_on_the_host) {
  std::vector<std::byte> bytes;
  rt().sync_wait([](device& d, std::vector<std::byte>& to) -> task<> {
    stream s = d.make_stream();
    auto b = d.allocate<std::uint64_t>(GetParam(), count, s);
    s.fill(b, std::uint64_t(1));
    // Work of the stream that is not over when the buffer is packed.
    if (GetParam() != memory_kind::host)
      for (int i = 0; i < 100; ++i) s.submit(range{count}, affine{b.data(), 3, 2});
    to = pack(b);
    co_return;
  }(first(), bytes));
  std::uint64_t expected = 1;
  if (GetParam() != memory_kind::host)
    for (int i = 0; i < 100; ++i) expected = 3 * expected + 2;
  const std::vector<std::uint64_t> all(count, expected);
  EXPECT_EQ(rt().sync_wait(unpacked(rt(), bytes, GetParam())), all);
  runtime_options on_host = cuda_options();
  on_host.extra["backend"] = "host";
  runtime host(on_host);
  EXPECT_EQ(host.sync_wait(unpacked(host, bytes, GetParam())), all);
}

}  // namespace
}  // namespace starling::gpu_test
