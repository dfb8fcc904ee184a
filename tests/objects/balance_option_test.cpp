// SPDX-License-Identifier: Apache-2.0
// The options balancer and balance-every, which choose for all arrays.
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

#include "balanced_blocks.hpp"
#include "core/environment.hpp"
#include "on_ranks.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::first_rank;
using starling_test::message_of;
using starling_test::over_ucx;
using starling_test::parsed;
using starling_test::variable;

/// Reads the options of the environment only in the test, so not `on_ranks`.
class balance_options : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, balance_options,
                         testing::Values(cluster{1, 2}, cluster{2, 1}, cluster{2, 2}, cluster{3, 1},
                                         over_ucx({2, 1})),
                         starling_test::ranks_name);

constexpr int steppers = 8;

/// Calls load_balance(). Its load contains the number of the call.
struct stepper : chare<stepper> {
  static constexpr double heavy = 8, first_load = 100;

  stepper() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_calls, m_call, m_end);
  }
  double load() const { return (this_index() < steppers / 4 ? heavy : 1) * (first_load + m_call); }
  void begin(int calls, callback<int> end) {
    m_calls = calls;
    m_end = std::move(end);
    this_element().template invoke<&stepper::run>();
  }
  task<> run() {
    while (m_call < m_calls) {
      ++m_call;
      co_await load_balance();
    }
    contribute(1, reduction::sum(), m_end);
  }
  task<> resumed() { return run(); }

 private:
  int m_calls = 0;
  int m_call = 0;
  callback<int> m_end;
};

/// A user's balancer, which leaves all elements where they are and records in which calls it was
/// asked.
class recording final : public balance::balancer {
 public:
  using balancer::balancer;
  std::string_view name() const noexcept override { return "recording"; }

  static void enrol() {
    static std::once_flag is_registered;
    std::call_once(is_registered, [] {
      balance::register_balancer("recording", [](const balance::balancer_options& chosen) {
        return std::make_unique<recording>(chosen);
      });
    });
    static_cast<void>(take_calls());
  }
  [[nodiscard]] static std::vector<int> take_calls() {
    const std::lock_guard lock(s_mutex);
    return std::exchange(s_calls, {});
  }

 protected:
  void assign(const balance::snapshot& loads, std::vector<std::uint32_t>&) const override {
    const std::lock_guard lock(s_mutex);
    s_calls.push_back(
        int(loads.elements.at(0).host_seconds / stepper::heavy - stepper::first_load));
  }

 private:
  static inline std::mutex s_mutex;
  static inline std::vector<int> s_calls;
};

task<int> call_often(chare_array<stepper> all, int calls) {
  auto [end, done] = make_reply<int>();
  all.invoke<&stepper::begin>(calls, end);
  co_return co_await std::move(done);
}

/// Lets each element of an array call load_balance().
void balance(first_rank& rt, int calls) {
  starling_test::stay_in_place(rt, "balanced elements would not be balanced again");
  const auto all = create_array<stepper>(rt, steppers, placement::block);
  EXPECT_EQ(rt.sync_wait(call_often(all, calls)), steppers);
}

/// Returns the error that ends a run of this cluster.
std::string refusal_of(const cluster& all) {
  return message_of<option_error>([&] {
    first_rank rt(all);
    balance(rt, 3);
  });
}

void expect_text(const std::string& all, const std::string& part) {
  EXPECT_NE(all.find(part), std::string::npos) << "no '" << part << "' in: " << all;
}

TEST_P(balance_options, name_the_balancer) {
  const starling_test::scratch_folder folder;
  const std::string file = folder.path() + "/history.json";
  const variable report("STARLING_BALANCE_REPORT", file.c_str());
  for (const char* name : {"none", "greedy", "refine", "curve", "bisection", "communication",
                           "diffusion", "hierarchical"}) {
    const variable chosen("STARLING_BALANCER", name);
    first_rank rt(all);
    balance(rt, 1);
    const nlohmann::json history = parsed(file);
    ASSERT_EQ(history.at("balancings").size(), 1u) << name;
    EXPECT_EQ(history["balancings"][0].at("balancer"), name);
  }
}

TEST_P(balance_options, find_a_balancer_of_the_user_by_its_name) {
  recording::enrol();
  const variable chosen("STARLING_BALANCER", "recording");
  first_rank rt(all);
  balance(rt, 1);
  EXPECT_EQ(recording::take_calls(), std::vector<int>{1});
}

TEST_P(balance_options, refuse_a_wrong_name_and_list_the_right_ones) {
  recording::enrol();
  const variable chosen("STARLING_BALANCER", "gredy");
  const std::string error = refusal_of(all);
  expect_text(error, "--starling-balancer (or STARLING_BALANCER): no balancer 'gredy'");
  for (const std::string& name : balance::balancer_names()) expect_text(error, name);
  expect_text(error, "recording");
}

TEST_P(balance_options, balance_at_each_kth_call) {
  recording::enrol();
  const variable chosen("STARLING_BALANCER", "recording");
  constexpr int calls = 25;
  for (const int every : {1, 2, 3, 7}) {
    const variable interval("STARLING_BALANCE_EVERY", std::to_string(every).c_str());
    first_rank rt(all);
    balance(rt, calls);
    const std::vector<int> at = recording::take_calls();
    // Loads are measured from the first call on, so an interval may begin with it.
    ASSERT_FALSE(at.empty()) << every;
    EXPECT_TRUE(at[0] == every || at[0] == every + 1) << at[0] << ", every " << every;
    std::vector<int> expected;
    for (int call = at[0]; call <= calls; call += every) expected.push_back(call);
    EXPECT_EQ(at, expected) << "every " << every;
  }
}

TEST_P(balance_options, decide_by_the_imbalance_if_no_number_is_given) {
  recording::enrol();
  const variable chosen("STARLING_BALANCER", "recording");
  const variable interval("STARLING_BALANCE_EVERY", "auto");
  first_rank rt(all);
  balance(rt, 1);
  EXPECT_EQ(recording::take_calls(), std::vector<int>{1}) << "at once";
}

TEST_P(balance_options, refuse_an_interval_that_is_no_number_of_calls) {
  for (const char* wrong : {"0", "-1", "+2", "often", "3x", " 3", "1.5", "18446744073709551616"}) {
    const variable interval("STARLING_BALANCE_EVERY", wrong);
    const std::string error = refusal_of(all);
    expect_text(error, "--starling-balance-every (or STARLING_BALANCE_EVERY): '");
    expect_text(error, std::string("'") + wrong + "' is neither auto nor a number of calls from 1");
  }
}

TEST_P(balance_options, are_overruled_for_an_array_that_has_a_balancer_of_its_own) {
  recording::enrol();
  const variable chosen("STARLING_BALANCER", "none");
  const variable interval("STARLING_BALANCE_EVERY", "1000");
  first_rank rt(all);
  starling_test::stay_in_place(rt, "balanced elements would not be balanced again");
  const auto made = create_array<stepper>(rt, steppers, placement::block);
  made.balance_by(balance::make_balancer("recording"), 1);
  EXPECT_EQ(rt.sync_wait(call_often(made, 3)), steppers);
  EXPECT_EQ(recording::take_calls(), (std::vector<int>{1, 2, 3}));
}

TEST(balance_options_of_the_command_line, are_those_of_the_runtime) {
  recording::enrol();
  std::string program = "program", name = "--starling-balancer=recording",
              every = "--starling-balance-every", number = "2";
  char* words[] = {program.data(), name.data(), every.data(), number.data(), nullptr};
  int count = 4;
  runtime_options options = runtime_options::parse(count, words);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(options.extra.at("balancer"), "recording");
  EXPECT_EQ(options.extra.at("balance-every"), "2");
  options.workers = 2;
  options.bind = binding::none;
  runtime rt(options);
  starling_test::stay_in_place(rt, "balanced elements would not be balanced again");
  const auto all = create_array<stepper>(rt, steppers, placement::block);
  EXPECT_EQ(rt.sync_wait(call_often(all, 6)), steppers);
  const std::vector<int> at = recording::take_calls();
  ASSERT_GE(at.size(), 2u);
  EXPECT_EQ(at[1] - at[0], 2);
}

}  // namespace
}  // namespace starling
