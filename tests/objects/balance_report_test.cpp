// SPDX-License-Identifier: Apache-2.0
// What the option balance-report shows of balancings.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
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

using nlohmann::json;
using starling_test::balance_once;
using starling_test::block;
using starling_test::blocks;
using starling_test::cluster;
using starling_test::first_rank;
using starling_test::make_blocks;
using starling_test::message_of;
using starling_test::options_with;
using starling_test::over_ucx;
using starling_test::parsed;
using starling_test::scratch_folder;
using starling_test::stay_in_place;
using starling_test::variable;

/// Sets the option for all runtimes that are made while this object exists.
class report_option {
 public:
  explicit report_option(const std::string& value) {
    ::setenv("STARLING_BALANCE_REPORT", value.c_str(), 1);
  }
  ~report_option() { ::unsetenv("STARLING_BALANCE_REPORT"); }
  report_option(const report_option&) = delete;
  report_option& operator=(const report_option&) = delete;
};

class balance_reports : public testing::TestWithParam<cluster> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().missing(); !why.empty()) GTEST_SKIP() << why;
  }
  [[nodiscard]] std::string file() const { return m_folder.path() + "/report.json"; }
  [[nodiscard]] const std::string& folder() const { return m_folder.path(); }

 private:
  scratch_folder m_folder;
};
INSTANTIATE_TEST_SUITE_P(on, balance_reports,
                         testing::Values(cluster{1, 2}, cluster{1, 4}, cluster{2, 2}, cluster{3, 1},
                                         over_ucx({2, 1})),
                         starling_test::ranks_name);

/// Sums the loads of the elements of a snapshot by worker, after the migrations if they are given.
std::vector<double> sums_of(const json& one, bool after) {
  const json& elements = one.at("loads").at("elements");
  std::vector<std::size_t> worker_of = elements.at("worker");
  const json& moves = one.at("migrations");
  for (std::size_t m = 0; after && m < moves.at("element").size(); ++m) {
    std::size_t& place = worker_of.at(moves["element"][m].get<std::size_t>());
    EXPECT_EQ(place, moves["from"][m].get<std::size_t>());
    place = moves["to"][m];
  }
  std::vector<double> sums(one.at("loads").at("workers").at("rank").size());
  for (std::size_t i = 0; i < worker_of.size(); ++i)
    sums.at(worker_of[i]) += elements.at("host_seconds")[i].get<double>();
  return sums;
}

/// Checks one balancing of a report of `blocks`.
void check_balancing(const json& one, const cluster& on, const std::string& balancer) {
  EXPECT_EQ(one.at("balancer"), balancer);
  EXPECT_NE(one.at("array").get<std::string>().find("block"), std::string::npos);
  const json& loads = one.at("loads");
  EXPECT_EQ(loads.at("format"), "starling loads");
  std::vector<int> ranks;
  for (int w = 0; w < on.ranks * int(on.workers); ++w) ranks.push_back(w / int(on.workers));
  EXPECT_EQ(loads.at("workers").at("rank").get<std::vector<int>>(), ranks);
  std::vector<int> ids = loads.at("elements").at("id");
  for (int i = 0; i < blocks; ++i) EXPECT_EQ(ids.at(std::size_t(i)), i);  // the indices
  EXPECT_EQ(loads.at("elements").at("host_seconds")[0], 8e-3);
  EXPECT_EQ(one.at("before").at("host_seconds").get<std::vector<double>>(), sums_of(one, false));
  EXPECT_EQ(one.at("after").at("host_seconds").get<std::vector<double>>(), sums_of(one, true));
  const json& moves = one.at("migrations");
  for (std::size_t m = 0; m < moves.at("element").size(); ++m) {
    const std::string index = std::to_string(moves["element"][m].get<int>());
    EXPECT_NE(moves.at("name")[m].get<std::string>().find("block[" + index + "]"),
              std::string::npos);
    EXPECT_FALSE(moves.at("reason")[m].get<std::string>().empty());
  }
}

/// Balances three times and checks the file after each.
void check_history(const cluster& on, const std::string& file, const char* balancer) {
  const variable chosen("STARLING_BALANCER", balancer);
  const report_option option(file);
  first_rank rt(on);
  stay_in_place(rt, "compares the migrations with the report");
  const auto all = make_blocks(rt, balancer);
  EXPECT_EQ(parsed(file).at("balancings").size(), 0u);  // created with the first array
  for (int call = 1; call <= 3; ++call) {
    rt.sync_wait(balance_once(all));
    const json history = parsed(file);
    EXPECT_EQ(history.at("format"), "starling balance history");
    EXPECT_EQ(history.at("version"), 1);
    ASSERT_EQ(history.at("balancings").size(), std::size_t(call));
    const json& one = history["balancings"].back();
    EXPECT_EQ(one.at("call"), call);
    check_balancing(one, on, balancer);
  }
  const json history = parsed(file);
  const json& first = history["balancings"][0];
  EXPECT_EQ(first.at("decision"), "migrate");
  EXPECT_GT(first.at("migrations").at("element").size(), 0u);
  EXPECT_GT(first.at("imbalance_before"), first.at("imbalance_after"));
  EXPECT_EQ(history["balancings"][1].at("before"), first.at("after"));  // the prediction was right
}

TEST_P(balance_reports, have_the_history_of_all_balancings_in_their_file) {
  check_history(GetParam(), file(), "greedy");
}

TEST_P(balance_reports, have_the_history_of_balancings_without_a_central_rank) {
  check_history(GetParam(), file(), "diffusion");
}

/// Takes part in a balancing while another coroutine waits for a promise.
struct anchored : chare<anchored> {
  template <class Archive>
  void serialize(Archive&) {}
  double load() const { return 1.0; }
  void release() { m_gate.set_value(); }
  task<> listen() {
    future<> opened = m_gate.get_future();
    co_await std::move(opened);  // line of the wait
  }
  static constexpr int line = __LINE__ - 2;
  task<> balance() { co_await load_balance(); }
  task<> resumed() { co_return; }

 private:
  promise<> m_gate;
};

TEST_P(balance_reports, name_the_line_of_the_wait_that_anchors_an_element) {
  const report_option option(file());
  first_rank rt(GetParam());
  const auto all = create_array<anchored>(rt, 2, placement::block);
  all.balance_by(balance::make_balancer("greedy"), 1);
  rt.sync_wait([](chare_array<anchored> all) -> task<> {
    std::vector<future<>> ends;
    ends.push_back(all[0].call<&anchored::listen>());
    ends.push_back(all[0].call<&anchored::balance>());
    ends.push_back(all[1].call<&anchored::balance>());
    co_await std::move(ends[1]);
    all[0].invoke<&anchored::release>();
    co_await std::move(ends[0]);
    co_await std::move(ends[2]);
  }(all));
  const json history = parsed(file());
  const json& found = history.at("balancings").at(0).at("anchored");
  // The callers of `balance` anchor both elements where there are several ranks.
  ASSERT_EQ(found.at("name").size(), GetParam().ranks > 1 ? 2u : 1u) << found;
  const std::string why = found.at("why")[0], place = "balance_report_test.cpp:";
  EXPECT_NE(found.at("name")[0].get<std::string>().find("anchored[0]"), std::string::npos);
  EXPECT_EQ(why, "another coroutine of it waits at " + place + std::to_string(anchored::line));
  if (GetParam().ranks == 1) return;
  EXPECT_NE(found.at("why")[1].get<std::string>().find("has a caller"), std::string::npos);
  EXPECT_NE(found.at("why")[1].get<std::string>().find(place), std::string::npos);
}

/// Makes coroutines that wait and end, one after the other.
task<int> wait_once() {
  co_await yield();
  co_return 1;
}
task<> churn(std::shared_ptr<std::atomic<bool>> is_over) {
  while (!*is_over) {
    future<int> first = spawn(wait_once());
    co_await wait_once();
    co_await std::move(first);
  }
}

TEST_P(balance_reports, find_the_waits_while_all_workers_make_and_end_coroutines) {
  const report_option option(file());
  first_rank rt(GetParam());
  constexpr int elements = 12, rounds = 10;
  const auto all = create_array<anchored>(rt, elements, placement::round_robin);
  all.balance_by(balance::make_balancer("greedy"), 1);
  rt.sync_wait([](chare_array<anchored> all) -> task<> {
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    std::vector<future<>> others, listeners;
    for (int i = 0; i < 8; ++i) others.push_back(spawn(churn(is_over)));
    for (int i = 0; i < elements; ++i) listeners.push_back(all[i].call<&anchored::listen>());
    for (int round = 0; round < rounds; ++round) {
      std::vector<future<>> ends;
      for (int i = 0; i < elements; ++i) ends.push_back(all[i].call<&anchored::balance>());
      co_await when_all(std::move(ends));
    }
    *is_over = true;
    co_await when_all(std::move(others));
    all.invoke<&anchored::release>();
    co_await when_all(std::move(listeners));
  }(all));
  const json history = parsed(file());
  ASSERT_EQ(history.at("balancings").size(), std::size_t(rounds));
  const std::string line = "balance_report_test.cpp:" + std::to_string(anchored::line);
  for (const json& one : history["balancings"]) {
    ASSERT_EQ(one.at("anchored").at("why").size(), std::size_t(elements));
    for (const json& why : one["anchored"]["why"])
      EXPECT_EQ(why, "another coroutine of it waits at " + line);
  }
}

TEST_P(balance_reports, print_tables_reasons_and_names) {
  const report_option option("yes");
  testing::internal::CaptureStderr();
  {
    first_rank rt(GetParam());
    stay_in_place(rt, "all elements are in one place");
    rt.sync_wait(balance_once(make_blocks(rt)));
  }
  const std::string text = testing::internal::GetCapturedStderr();
  const int workers = GetParam().ranks * int(GetParam().workers);
  for (const char* part : {"block by greedy in call 1: ", " migrations with ", "imbalance ",
                           "before / s", "block[", "] migrates from worker ", " because of "})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
  std::set<int> in_table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string prefix;
    int worker = 0;
    double before = 0, after = 0;
    if (words >> prefix >> worker >> before >> after) in_table.insert(worker);
  }
  EXPECT_EQ(in_table.size(), std::size_t(workers)) << text;
}

/// Limits the size of files while it exists: the next write fails, as on a full disk.
class file_limit {
 public:
  explicit file_limit(rlim_t bytes) : m_handler(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit now{bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~file_limit() {
    ::setrlimit(RLIMIT_FSIZE, &m_before);
    static_cast<void>(::signal(SIGXFSZ, m_handler));
  }
  file_limit(const file_limit&) = delete;
  file_limit& operator=(const file_limit&) = delete;

 private:
  sighandler_t m_handler;
  rlimit m_before{};
};

TEST(balance_report, ends_with_a_message_when_the_disk_is_full) {
  const scratch_folder folder;
  const std::string file = folder.path() + "/report.json";
  runtime_options options = options_with(1);
  options.extra["balance-report"] = file;
  runtime rt(options);
  detail::balance_report report(rt);
  balance::snapshot loads;
  loads.workers = {{.rank = 0}};
  loads.elements = {{.host_seconds = 1}};
  const auto plan = balance::make_balancer("greedy")->balance(loads);
  report.begin();
  for (int call = 1; call <= 2; ++call)
    report.add({"one", 1, "greedy", std::uint64_t(call), loads, plan, {"one[0]"}, {""}});
  testing::internal::CaptureStderr();
  {
    const file_limit limit(std::filesystem::file_size(file) + 50);
    report.add({"one", 1, "greedy", 3, loads, plan, {"one[0]"}, {""}});
  }
  report.add({"one", 1, "greedy", 4, loads, plan, {"one[0]"}, {""}});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("the report of balancings ends, as " + file + " cannot be written: "),
            std::string::npos)
      << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  const json history = parsed(file);  // as after the second balancing
  ASSERT_EQ(history.at("balancings").size(), 2u);
  EXPECT_EQ(history["balancings"][1].at("call"), 2);
}

TEST(balance_report, summarises_the_loads_of_many_workers) {
  testing::internal::CaptureStderr();
  runtime_options options = options_with(1);
  options.extra["balance-report"] = "yes";
  runtime rt(options);
  detail::balance_report report(rt);
  balance::snapshot loads;
  for (std::uint32_t w = 0; w < 100; ++w) {
    loads.workers.push_back({.rank = w});
    loads.elements.push_back({.id = w, .worker = w, .host_seconds = w == 57 ? 9.0 : 1.0});
    loads.elements.back().is_anchored = true;
  }
  const auto plan = balance::make_balancer("greedy")->balance(loads);
  report.begin();
  report.add({"many", 1, "greedy", 1, loads, plan, std::vector<std::string>(100, "many[0]"),
              std::vector<std::string>(100, "it has channels")});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("56 to 62                           9 "), std::string::npos) << text;
  EXPECT_NE(text.find("98 to 99 "), std::string::npos) << text;
  EXPECT_NE(text.find("and 84 more are anchored"), std::string::npos) << text;
  EXPECT_LE(std::ranges::count(text, '\n'), 2 + 1 + 16 + 16 + 1) << text;
}

TEST(balance_report, is_refused_if_its_place_is_not_yes_no_or_a_json_file) {
  for (const char* value : {"maybe", "report.txt", "", "json"}) {
    runtime_options options = options_with(1);
    options.extra["balance-report"] = value;
    runtime rt(options);
    const std::string error = message_of<option_error>(
        [&] { static_cast<void>(create_array<block>(rt, 1, placement::block)); });
    for (const char* part :
         {"--starling-balance-report", "STARLING_BALANCE_REPORT", value, ".json"})
      EXPECT_NE(error.find(part), std::string::npos) << error;
  }
}

TEST(balance_report, whose_file_cannot_be_written_is_refused_before_the_program_works_in_vain) {
  runtime_options options = options_with(1);
  options.extra["balance-report"] = "/nowhere/report.json";
  runtime rt(options);
  const std::string error = message_of<option_error>(
      [&] { static_cast<void>(create_array<block>(rt, 1, placement::block)); });
  for (const char* part : {"/nowhere/report.json", "cannot be written", "No such file"})
    EXPECT_NE(error.find(part), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
