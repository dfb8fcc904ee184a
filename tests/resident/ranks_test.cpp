// SPDX-License-Identifier: Apache-2.0
// Resident programs on several ranks: refused options, and the state after a rank cannot join. The
// remaining tests cover messages, channels, reductions and ends, on machines of two ranks.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "message_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

template <class Cx>
struct caller : resident::chare {
  constexpr void say(Cx& cx, resident::host_mailbox<std::uint32_t> to) {
    cx.send(to, 100 * cx.scheduler_index() + index());
  }
  struct entries : resident::entries<&caller::say> {};
};
using callers = resident::program<caller>;
using caller_system = resident::system<callers>;

/// Expects an answer of an element on each scheduler of all ranks.
task<void> expect_answers(runtime& rt, resident::options o) {
  caller_system program(rt, o);
  const std::uint32_t n = program.scheduler_count();
  const auto all = program.create<caller>(n);
  const auto box = program.make_host_mailbox<std::uint32_t>();
  co_await program.start();
  for (std::uint32_t i = 0; i < n; ++i) {
    co_await program.invoke(all[i], entry<&caller<caller_system::context>::say>, box);
    EXPECT_EQ(co_await program.receive(box), 101 * i);
  }
  program.stop();
  const resident::end_report end = co_await program.ended();
  EXPECT_EQ(end.entries_run, n);
  EXPECT_EQ(end.left, 0u);
}

constexpr resident::options on_three{.ranks = 3, .devices = 2, .schedulers = 2};

TEST(resident_ranks, have_the_schedulers_of_all_ranks_and_one_report) {
  const cluster three{3, 1};
  three.expect(0, [](runtime& rt) -> task<int> {
    co_await expect_answers(rt, on_three);
    co_return 0;
  });
}

TEST(resident_ranks, begin_on_the_rank_that_makes_the_program) {
  const cluster three{3, 2};
  three.expect(0, [](runtime&) -> task<int> {
    co_await starling::async(starling::rank(2), []() -> task<void> {
      co_await expect_answers(*runtime::current(), {.ranks = 2, .schedulers = 3});
    });
    co_return 0;
  });
}

TEST(resident_ranks, are_not_more_than_the_job_has) {
  const cluster two{2, 1};
  two.expect(0, [](runtime& rt) -> task<int> {
    caller_system program(rt, on_three);
    const auto said = co_await error_of<starling::usage_error>(program.start());
    EXPECT_NE(said.find("wants 3 ranks, and the job has 2"), std::string::npos) << said;
    co_return 0;
  });
}

TEST(resident_ranks, have_at_most_eight_devices) {
  runtime rt(options_with(1));
  const auto said = [&](resident::options o) {
    return message_of<starling::option_error>([&] { caller_system program(rt, o); });
  };
  EXPECT_NE(said({.ranks = 3, .devices = 3}).find("ranks = 3"), std::string::npos);
  EXPECT_NE(said({.ranks = 0}).find("ranks = 0"), std::string::npos);
}

/// A program that one rank cannot join.
resident::detail::program_description unloved() {
  auto d = resident::detail::describe<callers>();
  d.join = [](starling::rank to, resident::detail::join_request request) {
    if (request.position != 2)
      return starling::async<&resident::detail::join_program_here<callers>>(to, request);
    return starling::async(to, []() -> std::vector<starling::memory_name> {
      throw std::runtime_error("no place here");
    });
  };
  return d;
}

TEST(resident_ranks, take_no_part_if_one_of_them_cannot) {
  const cluster three{3, 2};
  three.expect(0, [](runtime& rt) -> task<int> {
    for (int i = 0; i < 3; ++i) {
      resident::detail::session refused(rt, on_three, unloved());
      const auto said = co_await error_of<std::runtime_error>(refused.start());
      EXPECT_EQ(said, "no place here");
    }
    co_await expect_answers(rt, on_three);
    co_return 0;
  });
}

std::atomic<int> made_by_the_last{0}, ended_on_the_second{0}, ended_before_memory_went{-1};

/// A host scheduler that records its end and its destruction.
class watched_scheduler final : public resident::detail::host_scheduler {
 public:
  watched_scheduler(const resident::detail::world& w, std::uint32_t self, bool is_of_the_last)
      : m_inner(resident::detail::describe<callers>().make(w, self, {})),
        m_is_of_the_last(is_of_the_last) {}
  ~watched_scheduler() override {
    if (m_is_of_the_last) ended_before_memory_went = ended_on_the_second.load();
  }
  void begin(int rank) noexcept override { m_inner->begin(rank); }
  resident::detail::work step(int rank) noexcept override { return m_inner->step(rank); }
  resident::detail::work serve() noexcept override { return m_inner->serve(); }
  void end() noexcept override {
    m_inner->end();
    if (!m_is_of_the_last) ++ended_on_the_second;
  }

 private:
  std::unique_ptr<resident::detail::host_scheduler> m_inner;
  bool m_is_of_the_last;
};

/// A program whose second rank starts its two schedulers, and whose last rank cannot.
resident::detail::program_description half_started() {
  auto d = resident::detail::describe<callers>();
  d.join = [](starling::rank to, resident::detail::join_request request) {
    const auto join = [](resident::detail::join_request asked) {
      auto here = resident::detail::describe<callers>();
      const auto second = [](const resident::detail::world& w, std::uint32_t self,
                             const resident::detail::group_shape&) {
        return std::unique_ptr<resident::detail::host_scheduler>(
            std::make_unique<watched_scheduler>(w, self, false));
      };
      const auto last = [](const resident::detail::world& w, std::uint32_t self,
                           const resident::detail::group_shape&) {
        if (made_by_the_last++ != 0) throw std::runtime_error("one scheduler is enough");
        return std::unique_ptr<resident::detail::host_scheduler>(
            std::make_unique<watched_scheduler>(w, self, true));
      };
      here.make = asked.position == 2 ? +last : +second;
      return resident::detail::join_program(here, std::move(asked));
    };
    return starling::async(to, join, std::move(request));
  };
  return d;
}

TEST(resident_ranks, give_memory_back_when_the_last_started_program_has_ended) {
  const cluster three{3, 2};
  three.expect(0, [](runtime& rt) -> task<int> {
    resident::detail::session refused(rt, {.ranks = 3, .schedulers = 2}, half_started());
    const auto said = co_await error_of<std::runtime_error>(refused.start());
    EXPECT_EQ(said, "one scheduler is enough");
    EXPECT_EQ(ended_before_memory_went, 2);
    co_await expect_answers(rt, on_three);
    co_return 0;
  });
}

TEST(resident_ranks, end_with_a_program_that_is_left_while_it_runs) {
  const cluster two{2, 2};
  two.expect(0, [](runtime& rt) -> task<int> {
    for (int i = 0; i < 5; ++i) {
      caller_system program(rt, {.ranks = 2, .schedulers = 2});
      const auto all = program.create<caller>(4);
      const auto box = program.make_host_mailbox<std::uint32_t>();
      co_await program.start();
      co_await program.broadcast(all, entry<&caller<caller_system::context>::say>, box);
    }
    co_return 0;
  });
}

}  // namespace
}  // namespace starling_test
