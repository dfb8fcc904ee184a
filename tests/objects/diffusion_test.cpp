// SPDX-License-Identifier: Apache-2.0
// Balancing without a central rank: the option --starling-balancer diffusion on several ranks.
#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "core/environment.hpp"
#include "mortal.hpp"
#include "objects/rank_messages.hpp"
#include "on_ranks.hpp"
#include "uneven_ranks.hpp"

namespace starling {
namespace {

using detail::make_remote;
using starling_test::cluster;
using starling_test::first_rank;
using starling_test::many;
using starling_test::over_ucx;
using starling_test::stay_in_place;
using starling_test::variable;

constexpr int count = 24;

/// Calls load_balance().
struct unit : chare<unit> {
  unit() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_load, m_calls, m_visited, m_end);
  }
  double load() const { return m_load; }
  void weigh(double load) { m_load = load; }
  /// As an element of a rank with another option.
  void disagree() { element_state().reports = detail::report_place::rank_0; }
  void begin(int calls, callback<int> end) {
    m_calls = calls;
    m_end = std::move(end);
    this_element().template invoke<&unit::run>();
  }
  task<> run() {
    while (m_calls > 0) {
      --m_calls;
      co_await load_balance();
    }
    contribute(1, reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }
  void after_migration() { m_visited.insert(int(this_worker())); }
  int place() { return int(this_worker()); }
  int visits() { return int(m_visited.size()); }

 private:
  double m_load = 1;
  int m_calls = 0;
  std::set<int> m_visited;
  callback<int> m_end;
};

using units = chare_array<unit>;

task<> balance_times(units all, int calls) {
  auto [end, done] = make_reply<int>();
  all.invoke<&unit::begin>(calls, end);
  EXPECT_EQ(co_await std::move(done), count);
}

units on_first_worker(runtime& rt) {
  return create_array<unit>(rt, count, starling_test::on_worker_0());
}

class diffusion : public starling_test::on_clusters {
 protected:
  const variable chosen{"STARLING_BALANCER", "diffusion"};
  const variable each_call{"STARLING_BALANCE_EVERY", "1"};
};
INSTANTIATE_TEST_SUITE_P(on, diffusion,
                         testing::Values(cluster{2, 1}, cluster{2, 2}, cluster{3, 1}, cluster{5, 1},
                                         cluster{8, 1}, over_ucx({3, 1})),
                         starling_test::ranks_name);

/// Expects that no worker has more than one element above the mean.
task<> expect_even(units all, std::size_t workers) {
  std::vector<int> on(workers);
  for (int i = 0; i < count; ++i) ++on.at(std::size_t(co_await all[i].call<&unit::place>()));
  const int mean = (count + int(workers) - 1) / int(workers);
  EXPECT_LE(*std::ranges::max_element(on), mean + 1);
}

TEST_P(diffusion, spreads_elements_over_all_ranks_in_one_call) {
  first_rank rt(all);
  stay_in_place(rt, "shows where the balancer leads the elements");
  const units made = on_first_worker(rt);
  rt.sync_wait(balance_times(made, 1));
  rt.sync_wait(expect_even(made, total_worker_count(rt)));
  for (int i = 0; i < count; ++i)
    EXPECT_LE(rt.sync_wait(made[i].call<&unit::visits>()), 1) << "migrated more than once";
}

TEST_P(diffusion, corrects_the_balance_when_loads_change_although_calls_are_skipped) {
  const variable automatic("STARLING_BALANCE_EVERY", "auto");
  first_rank rt(all);
  stay_in_place(rt, "shows where the balancer leads the elements");
  const units made = create_array<unit>(rt, count, placement::block);
  rt.sync_wait(balance_times(made, 20));
  for (int i = 0; i < count; ++i) made[i].invoke<&unit::weigh>(i < count / 4 ? 4000 : 1000);
  rt.wait_idle();
  rt.sync_wait(balance_times(made, 200));
  std::vector<double> on(total_worker_count(rt));
  for (int i = 0; i < count; ++i)
    on.at(std::size_t(rt.sync_wait(made[i].call<&unit::place>()))) += i < count / 4 ? 4 : 1;
  const double mean = 1.75 * count / double(on.size());
  EXPECT_LE(*std::ranges::max_element(on), mean + 4);
}

TEST_P(diffusion, waits_for_loads_that_are_not_zero) {
  first_rank rt(all);
  stay_in_place(rt, "shows that no element migrates");
  const units made = on_first_worker(rt);
  made.invoke<&unit::weigh>(0.0);
  rt.wait_idle();
  rt.sync_wait(balance_times(made, 3));
  for (int i = 0; i < count; ++i) EXPECT_EQ(rt.sync_wait(made[i].call<&unit::visits>()), 0);
  made.invoke<&unit::weigh>(1.0);
  rt.wait_idle();
  rt.sync_wait(balance_times(made, 1));
  rt.sync_wait(expect_even(made, total_worker_count(rt)));
}

TEST_P(diffusion, goes_on_after_elements_have_disagreed_about_their_reports) {
  first_rank rt(all);
  stay_in_place(rt, "shows where the balancer leads the elements");
  const units made = on_first_worker(rt);
  for (int i = 0; i < count; i += 2) made[i].invoke<&unit::disagree>();
  rt.wait_idle();
  rt.sync_wait(balance_times(made, 1));
  for (int i = 0; i < count; ++i) EXPECT_EQ(rt.sync_wait(made[i].call<&unit::visits>()), 0);
  rt.sync_wait(balance_times(made, 1));
  rt.sync_wait(expect_even(made, total_worker_count(rt)));
}

TEST_P(diffusion, reports_to_rank_0_if_elements_are_inserted) {
  first_rank rt(all);
  const units made = create_empty_array<unit>(rt, count, placement::block);
  for (int i = 0; i < count; ++i) made.insert(i);
  rt.wait_idle();
  rt.sync_wait(balance_times(made, 4));
  made.done_inserting();
  rt.wait_idle();
}

TEST_P(diffusion, leaves_a_balanced_array_alone) {
  first_rank rt(all);
  stay_in_place(rt, "shows that no element migrates");
  const units made = create_array<unit>(rt, count, placement::block);
  if (count % int(total_worker_count(rt)) != 0) return;  // the loads cannot be equal
  rt.sync_wait(balance_times(made, 3));
  for (int i = 0; i < count; ++i) EXPECT_EQ(rt.sync_wait(made[i].call<&unit::visits>()), 0);
}

TEST_P(diffusion, takes_turns_with_a_balancer_of_rank_0) {
  first_rank rt(all);
  const units made = on_first_worker(rt);
  for (int i = 0; i < many(12, 4); ++i) {
    made.balance_by(balance::make_balancer(i % 2 == 0 ? "greedy" : "diffusion"), 1);
    rt.sync_wait(balance_times(made, 1 + i % 3));
  }
}

TEST_P(diffusion, goes_on_without_elements_that_are_destroyed_while_they_wait) {
  first_rank rt(all);
  rt.sync_wait(starling_test::destroy_while_others_wait(rt));
}

TEST_P(diffusion, serves_two_arrays_at_a_time) {
  first_rank rt(all);
  const units one = on_first_worker(rt), other = on_first_worker(rt);
  rt.sync_wait([](units one, units other) -> task<> {
    auto [end, done] = make_reply<int>();
    auto [other_end, other_done] = make_reply<int>();
    one.invoke<&unit::begin>(5, end);
    other.invoke<&unit::begin>(5, other_end);
    EXPECT_EQ(co_await std::move(done), count);
    EXPECT_EQ(co_await std::move(other_done), count);
  }(one, other));
}

TEST(diffusion_on_uneven_ranks, gives_each_worker_its_share) {
  const variable chosen("STARLING_BALANCER", "diffusion"), each_call("STARLING_BALANCE_EVERY", "1");
  const auto ends = starling_test::uneven_ranks{{3, 1, 2}}.run([](runtime& rt) -> task<int> {
    stay_in_place(rt, "shows where the balancer leads the elements");
    const units made = on_first_worker(rt);
    co_await balance_times(made, 1);
    co_await expect_even(made, total_worker_count(rt));
    co_return 0;
  });
  for (const auto& e : ends) EXPECT_EQ(e.status, 0) << cluster::text_of(e);
}

TEST(diffusion_of_impossible_loads, ends_the_run) {
  const variable chosen("STARLING_BALANCER", "diffusion"), each_call("STARLING_BALANCE_EVERY", "1");
  const auto ends = cluster{2, 1}.run([](runtime& rt) -> task<int> {
    const units made = create_array<unit>(rt, count, placement::block);
    made[count - 1].invoke<&unit::weigh>(-1.0);
    co_await quiescence();
    co_await balance_times(made, 1);
    co_return 0;
  });
  std::string error;
  for (const auto& e : ends) error += cluster::text_of(e) + " (" + std::to_string(e.status) + ")";
  EXPECT_NE(error.find("element 23"), std::string::npos) << error;
}

// --- messages that cannot be right

/// Returns the error of a run in which `forge(array, job)` sends messages to rank 1. Before, both
/// ranks have summed up the loads for round 5; as these are zero, they exchange nothing.
template <class Forge>
std::string error_of_run(const Forge& forge) {
  const variable chosen("STARLING_BALANCER", "diffusion");
  const auto ends = cluster{2, 1}.run([&forge](runtime& rt) -> task<int> {
    const Forge send = forge;
    const units all = create_array<unit>(rt, count, placement::block);
    all.state().balancing().decide({5, true, {}});
    co_await quiescence();
    send(all, *rt.service<detail::object_space>().current_job());
    co_await quiescence();
    co_return 0;
  });
  return starling_test::error_of_rank_0<archive_error>(ends);
}

/// Sends `messages` to a worker of rank 1, and expects the error.
template <class... M>
void expect_refused(const char* why, std::uint16_t worker, const M&... messages) {
  const std::string error = error_of_run([&](const units& all, detail::job& j) {
    (j.send(1, make_remote<detail::remote_balancing<M>>({worker, priority::high}, all.state().id(),
                                                        messages)),
     ...);
  });
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

TEST(forged_diffusion, is_refused_if_it_is_not_due) {
  using namespace detail;
  expect_refused("an exchange that is not due", 0, exchange_order{});
  expect_refused("the end of a balancing", 0, exchange_end{7, 0});
  expect_refused("the end of a balancing", 0, exchange_end{5, 0});
  expect_refused("loads are requested by rank 0", 0, load_request{6, 0});
  expect_refused("a load of another round", 0, partner_load{});
  expect_refused("elements of another round", 0, partner_elements{});
  expect_refused("destinations of another round", 0, found_destinations{5, {}});
}

TEST(forged_diffusion, is_refused_if_its_content_is_impossible) {
  using namespace detail;
  const partner_load load{5, 0, {}};
  expect_refused("a load that comes twice", 0, load, load);
  const partner_elements nothing{5, 0, {}};
  expect_refused("elements that come twice", 0, nothing, nothing);
  partner_load negative = load;
  negative.load.level.host = -1;
  expect_refused("an impossible load", 0, negative);
  partner_elements foreign = nothing, impossible = nothing;
  foreign.elements.push_back({.worker = 2});
  expect_refused("a worker that does not exist", 0, foreign);
  impossible.elements.push_back({.host_seconds = std::numeric_limits<double>::quiet_NaN()});
  expect_refused("an impossible load", 0, impossible);
  exchange_order other;
  other.round = 5;
  other.shares.resize(3);
  expect_refused("other devices than those of the summary", 0, other);
}

TEST(forged_diffusion, is_refused_if_a_rank_finds_destinations_elsewhere) {
  using namespace detail;
  exchange_order alone;  // rank 0 has no such order, so rank 1 waits for its load
  alone.round = 5;
  alone.exchanges = 1;
  found_destinations foreign{5, {}}, elsewhere{5, {}};
  foreign.elements.push_back({.from = 0, .to = 0});
  elsewhere.elements.push_back({.from = 1, .to = 1});
  expect_refused("an element of another rank", 0, alone, foreign);
  expect_refused("a destination on another rank", 0, alone, elsewhere);
}

/// Sends rank 0 a message in the name of rank 1.
struct forger : chare<forger> {
  void summary(std::uint64_t array) { send(array, detail::rank_summary{}); }
  void outcome(std::uint64_t array) { send(array, detail::rank_outcome{}); }

 private:
  template <class M>
  static void send(std::uint64_t array, const M& m) {
    detail::current_job()->send(
        0, make_remote<detail::remote_balancing<M>>({0, priority::high}, array, m));
  }
};

template <auto Entry>
std::string error_of_lead() {
  const auto ends = cluster{2, 1}.run([](runtime& rt) -> task<int> {
    const units all = create_array<unit>(rt, count, placement::block);
    const auto forgers = create_array<forger>(rt, 2, placement::block);
    forgers[1].invoke<Entry>(all.state().id());
    co_await quiescence();
    co_return 0;
  });
  return starling_test::error_of_rank_0<archive_error>(ends);
}

TEST(forged_diffusion, is_refused_by_rank_0) {
  for (const std::string& error :
       {error_of_lead<&forger::summary>(), error_of_lead<&forger::outcome>()})
    EXPECT_NE(error.find("that is not expected"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
