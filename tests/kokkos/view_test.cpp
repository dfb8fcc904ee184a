// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <starling/device.hpp>

#include "fixture.hpp"

namespace starling::kokkos {
namespace {

class recycled_views : public with_kokkos {};
INSTANTIATE_TEST_SUITE_P(on, recycled_views, worker_counts, worker_count_name);

TEST_P(recycled_views, have_memory_of_the_allocator_and_give_it_back) {
  device& d = devices(rt).device(0);
  const recycling_allocator& source = d.allocator(memory_kind::host);
  const std::size_t before = source.statistics().in_use;
  const double* place = nullptr;
  {
    const recycled<Kokkos::View<double**, Kokkos::HostSpace>> a(d, 10, 20);
    place = a.view().data();
    EXPECT_EQ(a.view().extent(0), 10u);
    EXPECT_EQ(a.view().extent(1), 20u);
    EXPECT_EQ(source.statistics().in_use,
              before + recycling_allocator::rounded(200 * sizeof(double)));
  }
  EXPECT_EQ(source.statistics().in_use, before);
  const recycled<Kokkos::View<float*, Kokkos::HostSpace>> b(d, 400);
  EXPECT_EQ(static_cast<const void*>(b.view().data()), place);
}

TEST_P(recycled_views, made_for_a_stream_are_freed_in_its_order) {
  rt.sync_wait([](device& d) -> task<void> {
    stream s = d.make_stream();
    std::vector<double> out(100);
    {
      const recycled<Kokkos::View<double*, Kokkos::HostSpace>> a(s, 100);
      s.fill(std::span(a.view().data(), 100), 7.0);
      s.copy(out, std::span<const double>(a.view().data(), 100));
    }
    co_await s.completion();
    EXPECT_EQ(out, std::vector<double>(100, 7.0));
  }(devices(rt).device(0)));
}

TEST_P(recycled_views, move_with_their_memory) {
  device& d = devices(rt).device(0);
  recycled<Kokkos::View<int*, Kokkos::HostSpace>> a(d, 5);
  a.view()(4) = 9;
  const recycled<Kokkos::View<int*, Kokkos::HostSpace>> b = std::move(a);
  EXPECT_EQ(b.view()(4), 9);
}

TEST_P(recycled_views, serve_kernels) {
  rt.sync_wait([](device& d) -> task<void> {
    const recycled<Kokkos::View<int*, Kokkos::HostSpace>> a(d, 100);
    co_await deep_copy_async(a.view(), 1);
    const auto view = a.view();
    const auto sum = [view](int i, int& update) { update += view(i); };
    EXPECT_EQ(co_await async(host_range(0, 100), sum, reduce<int>), 100);
  }(devices(rt).device(0)));
}

TEST_P(recycled_views, of_a_space_that_the_backend_does_not_serve_name_the_remedy) {
  device& d = devices(rt).device(0);
  try {
    const detail::memory_block none(d, memory_kind::device, backend_kind::cuda, 8);
    ADD_FAILURE() << "accepted";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("--starling-backend kokkos"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace starling::kokkos
