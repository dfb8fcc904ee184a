// SPDX-License-Identifier: Apache-2.0
// How the processes of a program's ranks meet before they access each other's memory. On the host,
// with memory that only counts its calls.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/resident/detail/far_memory.hpp>

#include "resident/further_ranks.hpp"
#include "resident/support.hpp"

namespace starling_test {
namespace {

using resident::detail::far_meeting, resident::detail::far_memory,
    resident::detail::initialise_nvshmem;

/// Memory of this process, shared by all ranks of these jobs.
class counted_memory final : public far_memory {
 public:
  counted_memory() { of_process.store(this, std::memory_order_relaxed); }
  ~counted_memory() override { of_process.store(nullptr, std::memory_order_relaxed); }
  std::atomic<int> checks_before_refusal{1000}, keys{0}, beginnings{0};
  bool is_broken = false;

 protected:
  void check(const std::string&) override {
    if (checks_before_refusal.fetch_sub(1) == 0)
      throw starling::backend_unavailable("no such device");
  }
  std::vector<std::byte> make_key(std::uint64_t) override {
    ++keys;
    return std::vector<std::byte>(8);
  }
  std::span<std::byte> begin(const far_meeting& all, std::uint32_t, const std::string&) override {
    EXPECT_EQ(all.key.size(), 8u);
    ++beginnings;
    if (is_broken) throw starling::out_of_memory("nothing left");
    return m_bytes;
  }

 private:
  std::vector<std::byte> m_bytes = std::vector<std::byte>(4096);
};

constexpr resident::options far_ranks{.ranks = 3, .reach = resident::reach::nvshmem};

task<void> meet() { return initialise_nvshmem(far_ranks); }

/// Runs `body(rt)` on rank 0 of three ranks.
template <class Body>
void run_on_three(const Body& body) {
  cluster{3, 2}.expect(0, [&](runtime& rt) -> task<int> {
    co_await body(rt);
    co_return 0;
  });
}

TEST(resident_meeting, is_held_once_for_calls_of_any_rank) {
  counted_memory memory;
  run_on_three([&](runtime&) -> task<void> {
    co_await meet();
    co_await meet();
    co_await starling::async<&meet>(starling::rank(1));
    co_await starling::async<&meet>(starling::rank(2));
  });
  EXPECT_EQ(memory.keys, 1);
  EXPECT_EQ(memory.beginnings, 1);
}

TEST(resident_meeting, is_not_held_if_a_rank_refuses_and_may_be_repeated) {
  for (const int which : {0, 1, 2}) {
    counted_memory memory;
    memory.checks_before_refusal = which;
    run_on_three([&](runtime&) -> task<void> {
      EXPECT_EQ(co_await error_of<starling::backend_unavailable>(meet()), "no such device");
      EXPECT_EQ(memory.beginnings, 0);
      memory.checks_before_refusal = 1000;
      co_await meet();
    });
    EXPECT_EQ(memory.keys, 1);
    EXPECT_EQ(memory.beginnings, 1);
  }
}

TEST(resident_meeting, that_has_failed_is_not_tried_again) {
  counted_memory memory;
  memory.is_broken = true;
  run_on_three([&](runtime&) -> task<void> {
    co_await error_of<starling::out_of_memory>(meet());
    const std::string told = co_await error_of<starling::usage_error>(meet());
    EXPECT_NE(told.find("failed to start earlier"), std::string::npos) << told;
  });
  EXPECT_EQ(memory.beginnings, 1);
}

TEST(resident_meeting, two_at_once_are_one_or_an_error) {
  counted_memory memory;
  run_on_three([&](runtime&) -> task<void> {
    std::vector<starling::future<>> both;
    for (const int r : {1, 2}) both.push_back(starling::async<&meet>(starling::rank(r)));
    int held = 0;
    for (auto& one : both) {
      try {
        co_await std::move(one);
        ++held;
      } catch (const starling::usage_error& e) {
        EXPECT_NE(std::string(e.what()).find("start for the first time at once"), std::string::npos)
            << e.what();
      }
    }
    if (held == 0) co_await meet();
  });
  EXPECT_EQ(memory.beginnings, 1);
}

TEST(resident_meeting, needs_code_that_provides_memory) {
  run_on_three([&](runtime&) -> task<void> {
    const std::string told = co_await error_of<starling::usage_error>(meet());
    EXPECT_NE(told.find("nvshmem::instantiate"), std::string::npos) << told;
  });
}

}  // namespace
}  // namespace starling_test
