// SPDX-License-Identifier: Apache-2.0
// Kernels of Kokkos::Cuda as futures, on the CUDA backend and on the Kokkos backend. Compiled by
// nvcc, which cannot read <starling/device.hpp>. Functors, not lambdas, which a coroutine may not
// hold here.
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core/runtime.hpp>
#include <starling/core/when_all.hpp>
#include <starling/device/interop/kokkos_cuda.hpp>

namespace starling::kokkos {
namespace {

using cuda_range = Kokkos::RangePolicy<Kokkos::Cuda>;
using cuda_view = Kokkos::View<unsigned long*, Kokkos::CudaSpace>;
using mirror = Kokkos::View<unsigned long*, Kokkos::CudaHostPinnedSpace>;

using pageable = Kokkos::View<unsigned long*, Kokkos::HostSpace>;

static_assert(completion_of<Kokkos::Cuda> == completion::native_stream);
// A copy from or to memory that is not pinned would block the worker.
static_assert(copies_without_waiting<Kokkos::Cuda, cuda_view, mirror>);
static_assert(copies_without_waiting<Kokkos::Cuda, cuda_view, unsigned long>);
static_assert(!copies_without_waiting<Kokkos::Cuda, pageable, cuda_view>);
static_assert(!copies_without_waiting<Kokkos::Cuda, cuda_view, pageable>);
static_assert(!copies_without_waiting<Kokkos::Serial, pageable, cuda_view>);
static_assert(std::is_same_v<detail::copying_space<mirror, cuda_view>, Kokkos::Cuda>);
static_assert(std::is_same_v<detail::copying_space<mirror, pageable>, Kokkos::Serial>);

struct affine {
  cuda_view a;
  unsigned long factor, term;
  KOKKOS_FUNCTION void operator()(int i) const { a(i) = factor * a(i) + term; }
};
struct sum_of {
  cuda_view a;
  KOKKOS_FUNCTION void operator()(int i, unsigned long& update) const { update += a(i); }
};
struct sum_before {
  cuda_view a;
  KOKKOS_FUNCTION void operator()(int i, unsigned long& update, bool last) const {
    const unsigned long own = a(i);
    if (last) a(i) = update;
    update += own;
  }
};
struct box_visit {
  Kokkos::View<int**, Kokkos::CudaSpace> a;
  KOKKOS_FUNCTION void operator()(int i, int j) const { a(i, j) += 1; }
};
struct count_of {
  Kokkos::View<int**, Kokkos::CudaSpace> a;
  KOKKOS_FUNCTION void operator()(int i, int j, int& update) const { update += a(i, j); }
};

class on_cuda : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU here";
    static const Kokkos::ScopeGuard kokkos;
    m_options.workers = 2;
    m_options.extra["backend"] = GetParam();
  }
  void run(task<void> (*body)()) {
    runtime rt(m_options);
    rt.sync_wait(body());
  }
  runtime_options m_options = runtime_options::from_environment();
};
INSTANTIATE_TEST_SUITE_P(backend, on_cuda, testing::Values("cuda", "kokkos"),
                         [](const auto& info) { return std::string(info.param); });

task<void> chain_of_kernels() {
  const instance<Kokkos::Cuda> own;
  const cuda_view a("a", 1000);
  const mirror out("out", 1000);
  const cuda_range all(own, 0, 1000);
  unsigned long expected = 0;
  std::vector<future<void>> done;
  for (unsigned long k = 1; k < 50; ++k) {
    const affine step{a, 3, k};
    done.push_back(async(all, step));
    expected = 3 * expected + k;
  }
  co_await deep_copy_async(own.get(), out, a);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(out(i), expected);
  const pageable far("far", 1000);
  co_await deep_copy_async(may_block, own.get(), far, a);
  EXPECT_EQ(far(999), expected);
  co_await when_all(std::move(done));
  co_await get_future(own.get());
}

TEST_P(on_cuda, kernels_of_one_instance_run_in_the_order_of_the_calls) { run(&chain_of_kernels); }

task<void> reduction_and_scan() {
  const instance<Kokkos::Cuda> own;
  const cuda_view a("a", 1000);
  co_await deep_copy_async(own.get(), a, 2ul);
  const cuda_range all(own, 0, 1000);
  const sum_of sum{a};
  EXPECT_EQ(co_await async(all, sum, reduce<unsigned long>), 2000ul);
  const sum_before scan_all{a};
  EXPECT_EQ(co_await async(all, scan_all, scan<unsigned long>), 2000ul);
  EXPECT_EQ(co_await async(all, sum, reduce<unsigned long>), 999ul * 1000ul);
}

TEST_P(on_cuda, results_come_with_the_future) { run(&reduction_and_scan); }

task<void> boxes() {
  using box = Kokkos::MDRangePolicy<Kokkos::Cuda, Kokkos::Rank<2>>;
  const instance<Kokkos::Cuda> own;
  const Kokkos::View<int**, Kokkos::CudaSpace> a("a", 30, 40);
  const box all(own.get(), {0, 0}, {30, 40});
  const box_visit visit{a};
  co_await async(all, visit);
  const count_of count{a};
  EXPECT_EQ(co_await async(all, count, reduce<int>), 1200);
}

TEST_P(on_cuda, boxes_are_done_once) { run(&boxes); }

}  // namespace
}  // namespace starling::kokkos
