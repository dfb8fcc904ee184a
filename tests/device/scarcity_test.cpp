// SPDX-License-Identifier: Apache-2.0
// Work for which, or for whose bookkeeping, there is no memory left.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>
#include <starling/device/detail/foreign_work.hpp>

#include "device/host/host_split.hpp"
#include "device/support.hpp"
#include "support/scarce_memory.hpp"

namespace starling {
namespace {

using starling_test::on_host;

struct add_one {
  static constexpr const char* name = "add_one";
  std::uint64_t* a;
  void operator()(index3) const { *a += 1; }
};

TEST(without_memory, a_sequence_that_is_not_committed_keeps_its_operations) {
  std::uint64_t a = 0;
  runtime rt(on_host(1));
  aggregator another(devices(rt).device(0));
  rt.sync_wait(another.submit(range{1}, add_one{&a}).get_future());  // there are blocks for states
  aggregator gathered(devices(rt).device(0));
  sequence s = gathered.submit(range{1}, add_one{&a});
  s.submit(range{1}, add_one{&a});
  {
    const no_memory now;
    EXPECT_THROW(static_cast<void>(s.get_future()), std::bad_alloc);
  }
  EXPECT_FALSE(s.empty());
  rt.sync_wait(s.get_future());
  EXPECT_EQ(a, 3u);
  EXPECT_EQ(gathered.statistics().submissions, 1u);
}

std::uint64_t spans_of(runtime& rt, const std::string& name) {
  std::uint64_t count = 0;
  for (const trace_total& t : rt.tracer().totals())
    if (t.name == name) count += t.count;
  return count;
}

TEST(without_memory, a_batch_is_launched_though_it_cannot_be_traced) {
  std::uint64_t a = 0;
  runtime rt(on_host(1));
  aggregator gathered(devices(rt).device(0), {.name = "a region"});
  const auto add = [&] { return gathered.submit(range{1}, add_one{&a}).get_future(); };
  rt.sync_wait(add());  // its memory is used again
  rt.tracer().enable();
  future<void> untraced;
  {
    const no_memory now;
    untraced = add();
  }
  rt.sync_wait(std::move(untraced));
  rt.sync_wait(add());
  EXPECT_EQ(a, 3u);
  EXPECT_EQ(spans_of(rt, "a region"), 1u);
}

/// Makes all allocations on its worker fail from the time when all work is submitted.
struct starve {
  static constexpr const char* name = "starve";
  const std::atomic<bool>* all_submitted;
  void operator()(index3) const {
    while (!all_submitted->load()) std::this_thread::yield();
    refuse_memory(true);
  }
};
/// Ends that.
struct feed {
  static constexpr const char* name = "feed";
  void operator()(index3) const { refuse_memory(false); }
};

TEST(without_memory, a_kernel_runs_though_it_cannot_be_traced) {
  runtime rt(on_host(1));
  std::atomic<bool> all_submitted{false};
  rt.tracer().enable();
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{1}, starve{&all_submitted});
  s.submit(range{1}, feed{});
  s.submit(range{1}, feed{});
  all_submitted.store(true);
  rt.sync_wait(s.completion());
  EXPECT_EQ(spans_of(rt, "starve"), 0u);
  EXPECT_EQ(spans_of(rt, "feed"), 2u);
}

/// The blocks of one size that a thread can get without new memory.
class blocks {
 public:
  static constexpr std::size_t size = sizeof(detail::host_split);
  void take_all() noexcept {
    try {
      for (;;) m_head = new (detail::pool_allocate(detail::block_kind::state, size)) link{m_head};
    } catch (const std::bad_alloc&) {
    }
  }
  void give_back() noexcept {
    while (m_head != nullptr)
      detail::pool_deallocate(detail::block_kind::state, std::exchange(m_head, m_head->next), size);
  }
  [[nodiscard]] static bool are_left() noexcept {
    try {
      void* one = detail::pool_allocate(detail::block_kind::state, size);
      detail::pool_deallocate(detail::block_kind::state, one, size);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

 private:
  struct link {
    link* next;
  };
  link* m_head = nullptr;
};

struct take_blocks {
  static constexpr const char* name = "take_blocks";
  blocks* all;
  void operator()(index3) const { all->take_all(); }
};
struct give_blocks_back {
  blocks* all;
  void operator()(index3) const { all->give_back(); }
};

/// A kernel that is worth dividing among workers.
struct large {
  static constexpr int host_grain = 1;
  std::atomic<int>* run;
  std::atomic<int>* with_memory;
  void operator()(index3) const {
    run->fetch_add(1);
    if (blocks::are_left()) with_memory->fetch_add(1);
  }
};

TEST(without_memory, a_kernel_that_cannot_be_divided_runs_in_one_piece) {
  blocks all;
  std::atomic<int> run{0};
  std::atomic<int> with_memory{0};
  std::atomic<bool> all_submitted{false};
  runtime rt(on_host(2));
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{1}, starve{&all_submitted});
  s.submit(range{1}, take_blocks{&all});
  s.submit(range{1, 64}, large{&run, &with_memory});
  s.submit(range{1}, give_blocks_back{&all});
  s.submit(range{1}, feed{});
  all_submitted.store(true);
  rt.sync_wait(s.completion());
  EXPECT_EQ(run.load(), 64);
  EXPECT_EQ(with_memory.load(), 0) << "one thread without memory ran it all";
}

TEST(without_memory, buffers_are_given_back) {
  runtime rt(on_host(1));
  device& d = devices(rt).device(0);
  std::vector<buffer<double>> many;
  for (int i = 0; i < 100; ++i) many.push_back(d.allocate<double>(memory_kind::host, 1000));
  {
    const no_memory now;
    many.clear();
  }
  EXPECT_EQ(d.allocator(memory_kind::host).statistics().in_use, 0u);
}

struct fails {
  static constexpr const char* name = "fails";
  void operator()(index3) const { throw 1; }
};

TEST(without_memory, failures_of_many_batches_are_kept) {
  runtime rt(on_host(1));
  std::atomic<bool> all_submitted{false};
  stream s = devices(rt).device(0).make_stream();
  s.submit(range{1}, starve{&all_submitted});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(s.is_idle());  // ends the stretch
    s.submit(range{1}, fails{});
  }
  EXPECT_FALSE(s.is_idle());
  s.submit(range{1}, feed{});
  all_submitted.store(true);
  int told = 0;  // each wait reports one error
  for (bool is_told = true; is_told; told += is_told ? 1 : 0) try {
      rt.sync_wait(s.completion());
      is_told = false;
    } catch (...) {
    }
  EXPECT_GE(told, 2);
  EXPECT_LE(told, 100);
}

TEST(without_memory, a_handle_with_unseen_failures_is_given_up) {
  runtime rt(on_host(1));
  std::atomic<bool> all_submitted{false};
  stream feeding = devices(rt).device(0).make_stream();
  {
    stream s = devices(rt).device(0).make_stream();
    s.submit(range{1}, starve{&all_submitted});
    for (int i = 0; i < 10; ++i) {
      s.submit(range{1}, fails{});
      EXPECT_FALSE(s.is_idle());
    }
    feeding.wait(s.record());
  }
  feeding.submit(range{1}, feed{});
  all_submitted.store(true);
  rt.sync_wait(feeding.completion());
  EXPECT_ANY_THROW(rt.wait_idle());
}

/// Foreign work that is complete when the test sets `over`.
class controlled_work final : public detail::foreign_work {
 public:
  explicit controlled_work(const bool& over) noexcept : m_over(&over) {}
  bool is_over() override { return *m_over; }

 private:
  const bool* m_over;
};

TEST(without_memory, work_of_another_runtime_is_recognised_as_complete) {
  runtime rt(on_host(1));
  bool over = false;
  std::vector<future<void>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(detail::watch(rt, std::make_unique<controlled_work>(over)));
  rt.sync_wait([](bool& told, std::vector<future<void>>& waits) -> task<void> {
    refuse_memory(true);
    told = true;
    for (int i = 0; i < 1000 && !waits.back().is_ready(); ++i) co_await yield();
    refuse_memory(false);
  }(over, all));
  for (future<void>& f : all) rt.sync_wait(std::move(f));
}

}  // namespace
}  // namespace starling
