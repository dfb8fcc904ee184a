// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/stream_state.hpp"
#include "failing_kernel.hpp"
#include "fixture.hpp"

namespace starling::contract {
namespace {

/// Kernels of one launch and transfers of one copy, as the aggregator submits them.
class merged_submissions : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, merged_submissions, testing::ValuesIn(all_setups), name_of);

template <class Kernel>
void launch_all(stream& s, const range& extent, const std::vector<Kernel>& kernels,
                detail::member_observer* observer = nullptr) {
  detail::kernel_call call =
      detail::make_call(extent, kernels.front(), detail::default_shape<Kernel>());
  call.count = kernels.size();
  call.observer = observer;
  s.state().launch(call);
}

constexpr std::size_t counts[] = {1, 2, 3, 63, 64, 65, 200};

template <class Kernel, class T>
task<void> visit_once(device& d, range extent, std::size_t count) {
  const auto points = std::size_t(extent.size());
  auto visits = shared_buffer<T>(d, points * count, T(0));
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) kernels.push_back({visits.data() + i * points, extent});
  stream s = d.make_stream();
  launch_all(s, extent, kernels);
  co_await s.completion();
  EXPECT_EQ(std::size_t(std::ranges::count(visits, T(1))), visits.size())
      << count << " kernels over " << extent.nx << " x " << extent.ny << " x " << extent.nz;
}

TEST_P(merged_submissions, run_every_index_of_every_kernel_exactly_once) {
  run([](device& d) -> task<void> {
    for (const std::size_t count : counts)
      for (const range extent :
           {range{1}, range{300}, range{1025}, range{8, 8, 8}, range{1, 300, 7}, range{17, 9, 3}})
        co_await visit_once<count_visits, int>(d, extent, count);
    for (const std::size_t count : counts)
      co_await visit_once<count_visits_in_lanes, double>(d, {100, 3}, count);
  });
}

template <class Kernel>
task<void> sum_groups(device& d, std::size_t count) {
  constexpr int groups = 5;
  constexpr int length = 100;
  auto in = shared_buffer<int>(d, count * groups * length, 0);
  auto out = shared_buffer<std::int64_t>(d, count * groups, -1);
  std::iota(in.begin(), in.end(), 0);
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i)
    kernels.push_back({in.data() + i * groups * length, out.data() + i * groups, length});
  stream s = d.make_stream();
  launch_all(s, range{groups}, kernels);
  co_await s.completion();
  for (std::size_t g = 0; g < out.size(); ++g) {
    const auto first = static_cast<std::int64_t>(g) * length;
    EXPECT_EQ(out.data()[g], first * length + std::int64_t(length) * (length - 1) / 2);
  }
}

TEST_P(merged_submissions, run_every_group_of_every_kernel) {
  run([](device& d) -> task<void> {
    for (const std::size_t count : counts) co_await sum_groups<sum_per_group>(d, count);
  });
}

TEST_P(merged_submissions, take_kernels_written_by_hand) {
  if (all().backend() == backend_kind::kokkos && !kernels_throw())
    GTEST_SKIP() << "written for CUDA streams";
  run([](device& d) -> task<void> {
    for (const std::size_t count : counts) co_await sum_groups<sum_by_hand>(d, count);
  });
}

TEST_P(merged_submissions, give_the_bits_of_separate_launches) {
  run([](device& d) -> task<void> {
    constexpr std::size_t points = 100;
    constexpr std::size_t count = 70;
    auto merged = shared_buffer<double>(d, count * points, 0.0);
    auto separate = shared_buffer<double>(d, count * points, 0.0);
    stream s = d.make_stream();
    std::vector<polynomial> kernels;
    for (std::size_t i = 0; i < count; ++i) {
      const double t = 1.0 / (1.0 + static_cast<double>(i));
      kernels.push_back({merged.data() + i * points, 0.3 * t, 1.7 - t, t * t});
      polynomial alone = kernels.back();
      alone.out = separate.data() + i * points;
      s.submit(range{points}, alone);
    }
    launch_all(s, range{points}, kernels);
    co_await s.completion();
    EXPECT_EQ(std::memcmp(merged.data(), separate.data(), count * points * sizeof(double)), 0);
  });
}

template <class Kernel>
task<void> add_tables(device& d) {
  auto a = shared_buffer<std::uint64_t>(d, 40, 0);
  std::vector<Kernel> kernels(40);
  std::vector<std::uint64_t> expected(40);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].a = a.data() + i;
    std::iota(std::begin(kernels[i].table), std::end(kernels[i].table), std::uint32_t(i));
    expected[i] =
        std::accumulate(std::begin(kernels[i].table), std::end(kernels[i].table), std::uint64_t(0));
  }
  stream s = d.make_stream();
  launch_all(s, range{1}, kernels);
  co_await s.completion();
  EXPECT_EQ(std::vector<std::uint64_t>(a.begin(), a.end()), expected);
}

TEST_P(merged_submissions, may_hold_more_than_one_launch_takes) {
  run([](device& d) -> task<void> {
    co_await add_tables<add_small_table>(d);
    co_await add_tables<add_large_table>(d);
  });
}

/// Copies `order.size()` pieces of `piece` elements, number order[i] as the i-th transfer.
task<void> copy_pieces(device& d, memory_kind from, memory_kind to, std::size_t piece,
                       std::size_t gap, std::vector<std::size_t> order) {
  const std::size_t stride = piece + gap;
  const std::size_t count = order.size() * stride;
  stream s = d.make_stream();
  std::vector<int> source(count);
  std::iota(source.begin(), source.end(), 1);
  std::vector<int> result(count, -1);
  auto a = d.allocate<int>(from, count, s);
  auto b = d.allocate<int>(to, count, s);
  s.copy(a, source);
  s.fill(b, 0);
  std::vector<detail::transfer> transfers;
  for (const std::size_t i : order)
    transfers.push_back({b.data() + i * stride, a.data() + i * stride, piece * sizeof(int)});
  s.state().copy(transfers);
  transfers.clear();
  s.copy(result, b);
  co_await s.completion();
  for (std::size_t i = 0; i < count; ++i)
    if (result[i] != (i % stride < piece ? source[i] : 0)) {
      ADD_FAILURE() << "element " << i << ", " << to_string(from) << " to " << to_string(to);
      break;
    }
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t(0));
  return order;
}

std::vector<std::size_t> mixed_up(std::size_t count) {
  std::vector<std::size_t> order = in_order(count);
  std::mt19937 random(1);
  std::ranges::shuffle(order, random);
  return order;
}

constexpr memory_kind kinds[] = {memory_kind::host, memory_kind::pinned, memory_kind::device};

TEST_P(merged_submissions, copy_all_pieces_in_any_order_of_addresses) {
  run([](device& d) -> task<void> {
    for (const memory_kind from : kinds)
      for (const memory_kind to : kinds)
        for (const std::size_t pieces : {std::size_t(2), std::size_t(64), std::size_t(300)}) {
          co_await copy_pieces(d, from, to, 100, 0, in_order(pieces));
          co_await copy_pieces(d, from, to, 100, 0, mixed_up(pieces));
          co_await copy_pieces(d, from, to, 37, 3, mixed_up(pieces));
        }
    co_await copy_pieces(d, memory_kind::device, memory_kind::device, 400'000, 1, mixed_up(3));
  });
}

TEST_P(merged_submissions, may_copy_between_buffers_that_happen_to_be_neighbours) {
  run([](device& d) -> task<void> {
    constexpr std::size_t count = 16;
    stream s = d.make_stream();
    std::vector<buffer<int>> from;
    std::vector<buffer<int>> to;
    for (std::size_t i = 0; i < count; ++i) {
      from.push_back(d.allocate<int>(memory_kind::pinned, 4096, s));
      to.push_back(d.allocate<int>(memory_kind::device, 4096, s));
      std::ranges::fill(from.back(), int(i));
    }
    std::vector<detail::transfer> transfers;
    for (std::size_t i = 0; i < count; ++i)
      transfers.push_back({to[i].data(), from[i].data(), 4096 * sizeof(int)});
    s.state().copy(transfers);
    std::vector<int> result(4096);
    for (std::size_t i = 0; i < count; ++i) {
      s.copy(result, to[i]);
      co_await s.completion();
      EXPECT_EQ(std::ranges::count(result, int(i)), 4096);
    }
  });
}

TEST_P(merged_submissions, may_be_captured) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 10, 0);
    auto b = shared_buffer<std::uint64_t>(d, 10, 0);
    stream s = d.make_stream();
    const graph g = s.capture([&] {
      std::vector<affine> kernels;
      std::vector<detail::transfer> transfers;
      for (std::uint64_t i = 0; i < 10; ++i) {
        kernels.push_back({a.data() + i, 2, i});
        transfers.push_back({b.data() + 9 - i, a.data() + i, sizeof(std::uint64_t)});
      }
      launch_all(s, range{1}, kernels);
      s.state().copy(transfers);
    });
    for (int i = 0; i < 3; ++i) co_await g.launch(s);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(b.data()[9 - i], 7 * i);
  });
}

class first_errors final : public detail::member_observer {
 public:
  explicit first_errors(std::size_t members) : m_what(members), m_failed(members) {}
  void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept override {
    const std::lock_guard lock(m_lock);
    m_failed[which].store(true);
    try {
      std::rethrow_exception(std::move(cause));
    } catch (const std::exception& e) {
      m_what[which] = std::string(what) + ": " + e.what();
    }
  }
  bool has_failed(std::size_t which) const noexcept override { return m_failed[which].load(); }
  const std::string& what(std::size_t which) const { return m_what[which]; }

 private:
  std::mutex m_lock;
  std::vector<std::string> m_what;
  std::vector<std::atomic<bool>> m_failed;
};

/// Kernel, copy, kernel of ten members; numbers 3 and 7 fail in the first kernel.
task<void> fail_two_of_ten(device& d, int points) {
  constexpr std::size_t members = 10;
  const auto n = std::size_t(points);
  auto a = shared_buffer<std::uint64_t>(d, members * n, 0);
  auto b = shared_buffer<std::uint64_t>(d, members * n, 0);
  first_errors errors(members);
  stream s = d.make_stream();
  std::vector<fails_if> first;
  std::vector<detail::transfer> transfers;
  std::vector<affine> last;
  for (std::size_t i = 0; i < members; ++i) {
    first.push_back({a.data() + i * n, i == 3 || i == 7});
    transfers.push_back({b.data() + i * n, a.data() + i * n, n * sizeof(std::uint64_t)});
    last.push_back({b.data() + i * n, 1, 10});
  }
  launch_all(s, range{points}, first, &errors);
  s.state().copy(transfers, &errors);
  launch_all(s, range{points}, last, &errors);
  co_await s.completion();
  for (std::size_t i = 0; i < members; ++i) {
    const bool bad = i == 3 || i == 7;
    EXPECT_EQ(errors.what(i), bad ? "fails_if: member is cursed" : "") << i;
    for (std::size_t k = i * n; k < (i + 1) * n; ++k)
      EXPECT_EQ(b.data()[k], bad ? 0u : 11u) << "later operations of a failed member are left out";
  }
}

TEST_P(merged_submissions, fail_by_member_with_a_record_of_member_errors) {
  if (!kernels_throw()) GTEST_SKIP() << "kernels can throw on the host only";
  run([](device& d) -> task<void> {
    co_await fail_two_of_ten(d, 1);
    co_await fail_two_of_ten(d, 5000);  // large enough to be divided
  });
}

TEST_P(merged_submissions, fail_as_one_without_a_record_of_member_errors) {
  if (!kernels_throw()) GTEST_SKIP() << "kernels can throw on the host only";
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 2, 0);
    stream s = d.make_stream();
    launch_all<fails_if>(s, range{1}, {{a.data(), false}, {a.data() + 1, true}});
    s.submit(range{1}, affine{a.data(), 1, 10});
    bool failed = false;
    try {
      co_await s.completion();
    } catch (const device_error& e) {
      failed = std::string(e.what()).find("cursed") != std::string::npos;
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(a.data()[0], 1u) << "the remainder of the stretch is skipped";
  });
}

}  // namespace
}  // namespace starling::contract
