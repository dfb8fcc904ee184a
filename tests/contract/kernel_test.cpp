// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace starling::contract {
namespace {

class kernels : public device_contract {};
INSTANTIATE_TEST_SUITE_P(backends, kernels, testing::ValuesIn(all_setups), name_of);

constexpr range extents[] = {{1},         {7},       {63},         {64},       {65},
                             {1024},      {1025},    {5000},       {100'003},  {17, 9, 3},
                             {1, 300, 7}, {8, 8, 8}, {14, 14, 14}, {3, 1, 50}, {2050, 3, 2}};

template <class Kernel, class T>
task<void> visit_once(device& d) {
  for (const range& extent : extents) {
    auto visits = shared_buffer<T>(d, std::size_t(extent.size()), T(0));
    stream s = d.make_stream();
    s.submit(extent, Kernel{visits.data(), extent});
    co_await s.completion();
    for (const T count : visits)
      if (count != T(1)) {
        ADD_FAILURE() << "an index of " << extent.nx << " x " << extent.ny << " x " << extent.nz
                      << " was run " << count << " times";
        break;
      }
  }
}

TEST_P(kernels, run_every_index_exactly_once) {
  run([](device& d) -> task<void> { co_await visit_once<count_visits, int>(d); });
}

TEST_P(kernels, run_every_wide_index_exactly_once) {
  run([](device& d) -> task<void> { co_await visit_once<count_wide_visits, int>(d); });
}

TEST_P(kernels, run_every_index_exactly_once_in_lanes) {
  run([](device& d) -> task<void> { co_await visit_once<count_visits_in_lanes, double>(d); });
}

TEST_P(kernels, may_state_their_lane_type) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<float>(d, 1003, 2.0f);
    stream s = d.make_stream();
    s.submit(range{1003}, affine_float{a.data()});
    co_await s.completion();
    for (const float value : a) EXPECT_EQ(value, 7.0f);
  });
}

TEST_P(kernels, copy_to_the_scratch_memory_of_a_group) {
  run([](device& d) -> task<void> {
    using pair = reverse_per_group::pair;
    constexpr int groups = 19, length = reverse_per_group::most;
    auto in = shared_buffer<pair>(d, std::size_t(groups * length), {});
    auto factors = shared_buffer<double>(d, in.size(), 0.0);
    auto out = shared_buffer<pair>(d, in.size(), {});
    for (int i = 0; i < groups * length; ++i) {
      in.data()[i] = {i, -i};
      factors.data()[i] = i % 7;
    }
    stream s = d.make_stream();
    s.submit(range{groups}, reverse_per_group{in.data(), factors.data(), out.data(), length});
    co_await s.completion();
    for (int i = 0; i < groups * length; ++i) {
      const std::int64_t from = i / length * length + (length - 1 - i % length);
      EXPECT_EQ(out.data()[i].first, from % 7 * from) << i;
      EXPECT_EQ(out.data()[i].second, -(from % 7 * from)) << i;
    }
  });
}

TEST_P(kernels, that_ask_for_more_scratch_than_there_is_are_refused_by_name) {
  run([](device& d) -> task<void> {
    const std::size_t most = d.properties().group_scratch_bytes;
    if (most == std::numeric_limits<std::size_t>::max()) co_return;
    auto in = shared_buffer<int>(d, 1, 7);
    auto out = shared_buffer<std::int64_t>(d, 1, 0);
    stream s = d.make_stream();
    std::string refusal;
    try {
      s.submit(range{1}, sum_per_group{in.data(), out.data(), 1}, group_shape{64, most + 1});
    } catch (const usage_error& e) {
      refusal = e.what();
    }
    EXPECT_NE(refusal.find("sum_per_group"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(std::to_string(most)), std::string::npos) << refusal;
    s.submit(range{1}, sum_per_group{in.data(), out.data(), 1});
    co_await s.completion();
    EXPECT_EQ(out.data()[0], 7);
  });
}

TEST_P(kernels, may_be_written_per_group) {
  run([](device& d) -> task<void> {
    constexpr int groups = 37;
    for (const int length : {1, 63, 64, 200, 256}) {
      auto in = shared_buffer<int>(d, std::size_t(groups * length), 0);
      auto out = shared_buffer<std::int64_t>(d, groups, -1);
      for (int i = 0; i < groups * length; ++i) in.data()[i] = i;
      stream s = d.make_stream();
      s.submit(range{groups}, sum_per_group{in.data(), out.data(), length});
      co_await s.completion();
      for (std::int64_t g = 0; g < groups; ++g)
        EXPECT_EQ(out.data()[g], length * (g * length) + std::int64_t(length) * (length - 1) / 2);
    }
  });
}

TEST_P(kernels, keep_the_arguments_of_their_submission) {
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream s = d.make_stream();
    affine k{a.data(), 10, 0};
    for (std::uint64_t digit = 1; digit < 10; ++digit) {
      k.term = digit;
      s.submit(range{1}, k);
    }
    k.term = 77;
    co_await s.completion();
    EXPECT_EQ(a.data()[0], 123456789u);
  });
}

TEST_P(kernels, are_counted_by_the_trace) {
  rt().tracer().enable();
  run([](device& d) -> task<void> {
    auto a = shared_buffer<std::uint64_t>(d, 1, 0);
    stream s = d.make_stream();
    for (int i = 0; i < 25; ++i) s.submit(range{1}, affine{a.data(), 1, 1});
    const graph twice = s.capture([&] {
      s.submit(range{1}, affine{a.data(), 1, 1});
      s.submit(range{1}, affine{a.data(), 1, 1});
    });
    for (int i = 0; i < 5; ++i) co_await twice.launch(s);
    EXPECT_EQ(a.data()[0], 35u);
  });
  std::uint64_t launches = 0;
  for (const trace_total& t : rt().tracer().totals())
    if (t.kind == span_kind::kernel && t.name == "affine") launches += t.count;
  EXPECT_EQ(launches, 35u);
}

/// Not compiled for any device.
struct nowhere_else {
  int* a;
  void operator()(index3) const { *a = 1; }
};

template <class Kernel>
std::string refusal_of(stream& s, const range& extent, const Kernel& k) {
  try {
    s.submit(extent, k);
  } catch (const usage_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST_P(kernels, over_more_indices_than_they_can_count_are_refused) {
  constexpr std::int64_t too_many = std::int64_t(std::numeric_limits<int>::max()) + 1;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  int none = 0;
  stream s = first().make_stream();
  for (const range& extent : {range{too_many}, range{1, too_many}, range{1, 1, too_many}}) {
    const std::string told = refusal_of(s, extent, count_visits{&none, extent});
    EXPECT_NE(told.find("count_visits"), std::string::npos) << told;
    EXPECT_NE(told.find("wide_index3"), std::string::npos) << told;
  }
  const range wide{most, 2};
  EXPECT_NE(refusal_of(s, wide, count_wide_visits{&none, wide}).find("2^62"), std::string::npos);
  EXPECT_NE(refusal_of(s, {-1}, count_visits{&none, {}}).find("negative"), std::string::npos);
  EXPECT_NE(refusal_of(s, {~std::size_t(0)}, count_wide_visits{&none, {}}).find("negative"),
            std::string::npos);
  EXPECT_NE(refusal_of(s, {too_many}, sum_per_group{}).find("sum_per_group"), std::string::npos);
  s.submit({too_many, 0}, count_wide_visits{&none, {}});  // no work
  rt().sync_wait(s.completion());
  EXPECT_EQ(none, 0);
}

TEST_P(kernels, without_code_for_the_backend_name_the_remedy) {
  int value = 0;
  stream s = first().make_stream();
  if (on_host()) {
    s.submit(range{1}, nowhere_else{&value});
    rt().sync_wait(s.completion());
    EXPECT_EQ(value, 1);
    return;
  }
  try {
    s.submit(range{1}, nowhere_else{&value});
    ADD_FAILURE() << "accepted";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("instantiate"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("nowhere_else"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace starling::contract
