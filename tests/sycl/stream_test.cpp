// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "device/device_impl.hpp"
#include "device/sycl/sycl_shape.hpp"
#include "device/sycl/sycl_stream.hpp"
#include "support.hpp"

namespace starling::sycl {
namespace {

/// A stream of a device whose properties may be set below those of this machine.
class sycl_stream_of_a_device_without_pageable_access : public testing::Test {
 protected:
  sycl_stream_of_a_device_without_pageable_access()
      : m_runtime(options_for("host", "word")), m_device(::sycl::default_selector_v),
        m_context(m_device),
        m_shared{m_context,
                 m_device,
                 &m_runtime.get_executor().home(),
                 false,
                 {64, 64, 64},
                 starling::detail::sycl_compiler(m_context, m_device, m_runtime.tracer())},
        m_stream(m_shared, queue(), async_errors()) {}

  [[nodiscard]] ::sycl::queue queue() const {
    return {m_context, m_device, ::sycl::property::queue::in_order()};
  }
  template <class T>
  void expect_filled(std::size_t count, const T& value) {
    std::vector<T> a(count + 1, T{});
    m_stream.fill(a.data(), &value, sizeof value, count);
    m_stream.synchronize();
    EXPECT_EQ(a.back(), T{}) << "the one behind";
    a.pop_back();
    EXPECT_EQ(a, std::vector<T>(count, value)) << count << " of " << sizeof value << " bytes";
  }

  runtime m_runtime;
  ::sycl::device m_device;
  ::sycl::context m_context;
  starling::detail::sycl_resources m_shared;
  starling::detail::sycl_stream m_stream;
};

TEST_F(sycl_stream_of_a_device_without_pageable_access, fills_pageable_memory_of_any_length) {
  for (const std::size_t count : {1, 255, 256, 257, 4096, 4097, 100'001}) {
    expect_filled<std::uint8_t>(count, 7);
    expect_filled<std::uint16_t>(count, 777);
    expect_filled<std::uint32_t>(count, 77'777);
    expect_filled<std::uint64_t>(count, 7'777'777'777);
    expect_filled<std::array<std::uint64_t, 2>>(count, {7, 77});
  }
}

TEST_F(sycl_stream_of_a_device_without_pageable_access, fills_pageable_memory_without_a_host_task) {
  std::vector<int> a(100'000, 1);
  const int value = 2;
  std::deque<gate> gates(host_threads());
  std::deque<::sycl::queue> held;
  for (gate& g : gates) g.close(held.emplace_back(queue()));
  m_stream.fill(a.data(), &value, sizeof value, a.size());
  m_stream.synchronize();
  EXPECT_EQ(a, std::vector<int>(a.size(), value));
  for (gate& g : gates) g.open();
  for (::sycl::queue& q : held) q.wait();
}

TEST(sycl_groups, respect_the_limits_of_the_device_in_each_direction) {
  using starling::detail::group_for;
  const ::sycl::range<3> like_a_gpu(64, 1024, 1024);
  EXPECT_EQ(group_for(range{1, 1, 1000}, 256, like_a_gpu), ::sycl::range<3>(64, 1, 1));
  EXPECT_EQ(group_for(range{1, 2, 1000}, 256, like_a_gpu), ::sycl::range<3>(64, 2, 1));
  EXPECT_EQ(group_for(range{1, 1000, 1}, 256, {64, 16, 1024}), ::sycl::range<3>(1, 16, 1));
  EXPECT_EQ(group_for(range{1000, 1, 1}, 256, {64, 64, 128}), ::sycl::range<3>(1, 1, 128));
  EXPECT_EQ(group_for(range{1000, 8, 8}, 256, {1, 1, 100}), ::sycl::range<3>(1, 1, 100));
}

TEST(sycl_groups, fill_rows_first) {
  using starling::detail::group_for;
  const ::sycl::range<3> all(1024, 1024, 1024);
  EXPECT_EQ(group_for(range{8, 8, 8}, 256, all), ::sycl::range<3>(4, 8, 8));
  EXPECT_EQ(group_for(range{300, 4, 1}, 256, all), ::sycl::range<3>(1, 1, 160));
  EXPECT_EQ(group_for(range{1, 1, 1}, 256, all), ::sycl::range<3>(1, 1, 1));
}

}  // namespace
}  // namespace starling::sycl
