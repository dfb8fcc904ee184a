// SPDX-License-Identifier: Apache-2.0
// Device time of elements. The kernels have no clock: the tests compare what they know of their
// order.
#include <cstdint>
#include <memory>
#include <vector>

#include <starling/objects.hpp>

#include "device/device_impl.hpp"
#include "fixture.hpp"

namespace starling::contract {
namespace {

/// Submits kernels that are repeated, so that their time grows with `kernels`.
struct submitter : chare<submitter> {
  submitter()
      : m_at(devices(*runtime::current()).here().make_stream()),
        m_memory(m_at.device().allocate<std::uint64_t>(memory_kind::device, 1 << 20, m_at)) {
    m_at.fill(m_memory, std::uint64_t(1));
  }
  task<> work(int kernels) {
    for (int i = 0; i < kernels; ++i)
      m_at.submit(range{int(m_memory.size())}, affine{m_memory.data(), 3, 1});
    co_await m_at.completion();
  }
  double share() { return load_so_far().device_seconds; }
  double elapsed() { return load_so_far().device_elapsed_seconds; }

 private:
  stream m_at;
  buffer<std::uint64_t> m_memory;
};

class device_loads : public device_contract {
 protected:
  void SetUp() override {
    runtime_options options = options_for(GetParam());
    options.extra["devices"] = "1";  // so that the elements of both workers share it
    start(options);
  }
  template <auto Entry, class... Args>
  auto ask(const chare_array<submitter>& all, int i, Args... args) {
    return rt().sync_wait(all[i].call<Entry>(args...));
  }
  chare_array<submitter> measured(int count) {
    auto all = create_array<submitter>(rt(), count, placement::block);
    all.measure_loads(true);
    rt().wait_idle();
    return all;
  }
  /// Returns the number of kernels for a GPU, or for a device that is a processor, on which each
  /// takes milliseconds.
  [[nodiscard]] int repeated(int on_gpu, int on_processor) {
    return first().properties().bus_id.empty() ? on_processor : on_gpu;
  }
};

INSTANTIATE_TEST_SUITE_P(on, device_loads,
                         testing::Values(setup{"host", "word"}, setup{"cuda", "word"},
                                         setup{"sycl", "word"}, setup{"kokkos", "word"}),
                         name_of);

TEST_P(device_loads, are_those_of_the_element_that_submits) {
  const auto all = measured(3);
  const std::uint64_t begin = tracer::now();
  const int kernels = repeated(1000, 50);
  ask<&submitter::work>(all, 0, kernels);
  ask<&submitter::work>(all, 1, 1);
  const double elapsed = double(tracer::now() - begin) * 1e-9;
  const double many = ask<&submitter::share>(all, 0), few = ask<&submitter::share>(all, 1);
  EXPECT_GT(few, 0);
  EXPECT_GT(many, few) << "of " << kernels << " kernels and of one, one after the other";
  EXPECT_LE(many + few, elapsed * 1.001);
  EXPECT_EQ(ask<&submitter::share>(all, 2), 0);
}

TEST_P(device_loads, are_divided_among_elements_that_run_at_the_same_time) {
  constexpr int count = 6;
  const auto all = measured(count);
  const std::uint64_t begin = tracer::now();
  all.invoke<&submitter::work>(repeated(500, 20));
  rt().wait_idle();
  const double elapsed = double(tracer::now() - begin) * 1e-9;
  double sum = 0, undivided = 0;
  for (int i = 0; i < count; ++i) {
    EXPECT_GT(ask<&submitter::share>(all, i), 0) << i;
    sum += ask<&submitter::share>(all, i);
    undivided += ask<&submitter::elapsed>(all, i);
  }
  EXPECT_LE(sum, elapsed * 1.001);
  EXPECT_GE(undivided, sum);
}

TEST_P(device_loads, are_read_from_events_in_any_order) {
  detail::backend_device& d = *first().internals().backend;
  const auto queue = d.make_stream({priority::normal, stream_id{1000}});
  std::vector<std::shared_ptr<detail::backend_event>> points;
  buffer<std::uint64_t> memory = first().allocate<std::uint64_t>(memory_kind::device, 1 << 20);
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t value = 7;
    queue->fill(memory.data(), &value, sizeof value, memory.size());
    points.push_back(d.make_timed_event());
    ASSERT_NE(points.back(), nullptr);
    queue->record(points.back());
  }
  queue->synchronize();
  const double there = points[2]->nanoseconds_since(*points[0]);
  EXPECT_GT(there, 0);
  EXPECT_NEAR(points[0]->nanoseconds_since(*points[2]), -there, 1);
  EXPECT_NEAR(points[1]->nanoseconds_since(*points[0]) + points[2]->nanoseconds_since(*points[1]),
              there, 64);
}

}  // namespace
}  // namespace starling::contract
