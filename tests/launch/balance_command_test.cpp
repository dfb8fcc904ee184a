// SPDX-License-Identifier: Apache-2.0
// `starling balance`: the file of loads, made-up loads, the table and the errors.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launch/balance/command.hpp"
#include "launch/balance/loads_file.hpp"
#include "launch/balance/replay.hpp"
#include "launch/balance/synthetic.hpp"

namespace {

namespace balance = starling::balance;
using namespace starling::launch;

/// A folder that is removed with its files.
class folder {
 public:
  folder() {
    std::string name = testing::TempDir() + "balance_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    m_path = name;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(m_path); }
  [[nodiscard]] std::string file(const std::string& name) const { return m_path + "/" + name; }
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }

 private:
  std::string m_path;
};

struct outcome {
  int code = 0;
  std::string out, err;
};

outcome run(std::vector<std::string> words) {
  words.insert(words.begin(), "balance");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome result;
  result.code = run_balance(int(words.size()), argv.data());
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Two elements on the first of two workers, with all columns.
const std::string small = R"({
  "format": "starling loads", "version": 1, "comment": "two elements",
  "steps": 7, "costs": {"seconds_per_migration": 0.5, "latency_seconds": 0.25,
                        "seconds_per_byte": 0.125, "bytes_per_second": 1e9},
  "workers": {"rank": [0, 3], "device": [0, null], "speed": [1, 2.5]},
  "devices": {"memory_bytes": [1000], "speed": [3]},
  "elements": {"id": [7, 5], "array": [0, 1], "worker": [0, 0], "host_seconds": [2, 3],
               "device_seconds": [0.5, 0], "state_bytes": [10, 20], "device_bytes": [30, 0],
               "x": [1, null], "y": [2, null], "z": [3, null], "anchored": [true, false]},
  "edges": {"from": [0], "to": [1], "bytes": [100], "messages": [2]}})";

void expect_small(const balance::snapshot& s) {
  EXPECT_EQ(s.steps, 7);
  EXPECT_EQ(s.costs.seconds_per_migration, 0.5);
  EXPECT_EQ(s.costs.seconds_per_byte, 0.125);
  EXPECT_EQ(s.costs.bytes_per_second, 1e9);
  EXPECT_EQ(s.costs.latency_seconds, 0.25);
  ASSERT_EQ(s.workers.size(), 2u);
  EXPECT_EQ(s.workers[1].rank, 3u);
  EXPECT_EQ(s.workers[0].device, 0u);
  EXPECT_EQ(s.workers[1].device, balance::no_device);
  EXPECT_EQ(s.workers[1].speed, 2.5);
  ASSERT_EQ(s.devices.size(), 1u);
  EXPECT_EQ(s.devices[0].memory_bytes, 1000u);
  EXPECT_EQ(s.devices[0].speed, 3);
  ASSERT_EQ(s.elements.size(), 2u);
  const balance::element_load &one = s.elements[0], &two = s.elements[1];
  EXPECT_EQ(one.id, 7u);
  EXPECT_EQ(two.array, 1u);
  EXPECT_EQ(two.worker, 0u);
  EXPECT_EQ(two.host_seconds, 3);
  EXPECT_EQ(one.device_seconds, 0.5);
  EXPECT_EQ(two.state_bytes, 20u);
  EXPECT_EQ(one.device_bytes, 30u);
  EXPECT_TRUE(one.has_position);
  EXPECT_EQ(one.position, (std::array<double, 3>{1, 2, 3}));
  EXPECT_FALSE(two.has_position);
  EXPECT_TRUE(one.is_anchored);
  EXPECT_FALSE(two.is_anchored);
  ASSERT_EQ(s.edges.size(), 1u);
  EXPECT_EQ(s.edges[0].to, 1u);
  EXPECT_EQ(s.edges[0].bytes, 100);
  EXPECT_EQ(s.edges[0].messages, 2);
}

TEST(loads_file, all_columns_are_read_and_written) {
  const folder f;
  const balance::snapshot read = read_loads(f.file("a.json", small));
  expect_small(read);
  write_loads(read, f.file("b.json"));
  expect_small(read_loads(f.file("b.json")));
}

TEST(loads_file, missing_columns_have_defaults) {
  const folder f;
  const balance::snapshot s = read_loads(f.file("a.json", R"({"format": "starling loads",
      "version": 1, "workers": {"rank": [0]}, "elements": {"worker": [0, 0]}})"));
  ASSERT_EQ(s.elements.size(), 2u);
  EXPECT_EQ(s.elements[1].id, 1u);
  EXPECT_EQ(s.elements[1].host_seconds, 0);
  EXPECT_FALSE(s.elements[1].has_position);
  EXPECT_EQ(s.steps, 100);
  EXPECT_EQ(s.workers[0].speed, 1);
}

TEST(loads_file, places_without_limits_stay_so) {
  const folder f;
  balance::snapshot loads;
  loads.workers = {{.rank = 0}, {.rank = 1, .device = 0, .speed = 0.1}};
  loads.devices = {{}};
  loads.elements = {{.id = 7, .worker = 1, .host_seconds = 1.0 / 3}};
  write_loads(loads, f.file("a.json"));
  const balance::snapshot read = read_loads(f.file("a.json"));
  EXPECT_EQ(read.workers.at(0).device, balance::no_device);
  EXPECT_EQ(read.workers.at(1).device, 0u);
  EXPECT_EQ(read.workers.at(1).speed, 0.1);
  EXPECT_EQ(read.devices.at(0).memory_bytes, loads.devices[0].memory_bytes);
  EXPECT_EQ(read.elements.at(0).id, 7u);
  EXPECT_EQ(read.elements.at(0).host_seconds, 1.0 / 3);  // all bits
}

/// A history of balancings: the loads of `small`, then loads of one element.
std::string history() {
  return R"({"format": "starling balance history", "version": 1, "balancings": [)"
         R"({"call": 1, "loads": )" +
         small +
         R"(}, {"call": 5, "loads": {"format": "starling loads", "version": 1,)"
         R"("workers": {"rank": [0]}, "elements": {"worker": [0]}}}]})";
}

TEST(loads_file, the_loads_of_a_balancing_are_read_from_the_report_of_a_run) {
  const folder f;
  const std::string file = f.file("run.json", history());
  expect_small(read_loads(file, 1));
  EXPECT_EQ(read_loads(file, 2).elements.size(), 1u);
  EXPECT_EQ(read_loads(file).elements.size(), 1u);  // the last one
  const auto error_of = [&](const std::string& text, std::size_t balancing) -> std::string {
    try {
      (void)read_loads(f.file("x.json", text), balancing);
    } catch (const balance_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(error_of(history(), 3).find("there is no balancing 3; there are 2"), std::string::npos);
  EXPECT_NE(error_of(small, 1).find("no history of balancings"), std::string::npos);
  const std::string head = R"({"format": "starling balance history", "version": )";
  EXPECT_NE(error_of(head + "2}", 0).find("reads version 1"), std::string::npos);
  EXPECT_NE(error_of(head + "1}", 0).find("\"balancings\""), std::string::npos);
  EXPECT_NE(error_of(head + R"(1, "balancings": []})", 0).find("there are 0"), std::string::npos);
  EXPECT_NE(error_of(head + R"(1, "balancings": [3]})", 0).find("has no \"loads\""),
            std::string::npos);
}

/// The message for the small file after `from` has been replaced by `to`.
std::string refusal(const std::string& from, const std::string& to) {
  std::string text = small;
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "the test names no text of the file";
  text.replace(at, from.size(), to);
  const folder f;
  const std::string path = f.file("a.json", text);
  try {
    (void)read_loads(path);
  } catch (const balance_error& e) {
    const std::string what = e.what(), prefix = "'" + path + "': ";
    return what.starts_with(prefix) ? what.substr(prefix.size()) : what;
  }
  return "no error";
}

TEST(loads_file, wrong_files_are_refused_with_the_place) {
  EXPECT_EQ(refusal("7, 5", "7, 5"), "no error");
  EXPECT_EQ(refusal("starling loads", "other"),
            "it is no file of loads: \"format\" is not \"starling loads\"");
  EXPECT_EQ(refusal("\"version\": 1", "\"version\": 2"),
            "\"version\" is 2, but this program reads version 1");
  EXPECT_EQ(refusal("[7, 5]", "[7]"), "elements.id has 1 values, but elements.worker has 2");
  EXPECT_EQ(refusal("[2, 3]", "[2, -3]"),
            "elements.host_seconds[1] is not a number that is not negative");
  EXPECT_EQ(refusal("[2, 3]", "[2, \"x\"]"),
            "elements.host_seconds[1] is not a number that is not negative");
  EXPECT_EQ(refusal("[2, 3]", "2"), "elements.host_seconds is not an array");
  EXPECT_EQ(refusal("\"x\": [1,", "\"x\": [true,"), "elements.x[0] is not a number");
  EXPECT_EQ(refusal("[10, 20]", "[10, 1.5]"),
            "elements.state_bytes[1] is not a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal("[0, 3]", "[0, -3]"),
            "workers.rank[1] is not a whole number from 0 to 4294967294");
  EXPECT_EQ(refusal("[true, false]", "[true, 0]"), "elements.anchored[1] is not true or false");
  EXPECT_NE(refusal("host_seconds", "host_second").find("elements has no column 'host_second'"),
            std::string::npos);
  EXPECT_EQ(refusal("\"from\": [0], ", ""), "edges lacks the column 'from'");
  EXPECT_NE(refusal("\"edges\"", "\"edge\"").find("there is no table 'edge'"), std::string::npos);
  EXPECT_EQ(refusal("latency_seconds", "latency"), "costs has no 'latency'");
  EXPECT_EQ(refusal("0.25", "-1"), "costs.latency_seconds is not a number that is not negative");
  EXPECT_EQ(refusal("\"steps\": 7", "\"steps\": []"), "steps is not a number that is not negative");
  EXPECT_EQ(refusal(R"({"memory_bytes": [1000], "speed": [3]})", "3"),
            "devices is not an object with columns");
  EXPECT_EQ(refusal("\"to\": [1]", "\"to\": [2]"),
            "wrong loads: edge 0 names an element beyond the last one");
  EXPECT_EQ(refusal("[7, 5]", "[7, 7]"), "wrong loads: two elements have the id 7");
  EXPECT_NE(refusal("]}})", "").find("the test names no text"), std::string::npos);
  EXPECT_NE(refusal("\"comment\":", "\"comment\"").find("parse error"), std::string::npos);
}

TEST(loads_file, every_cut_file_is_refused) {
  const folder f;
  for (std::size_t length = 0; length < small.size(); ++length)
    EXPECT_THROW((void)read_loads(f.file("a.json", small.substr(0, length))), balance_error);
}

TEST(loads_file, missing_files_and_folders_are_named) {
  try {
    (void)read_loads("/nonexistent/loads.json");
    FAIL();
  } catch (const balance_error& e) {
    EXPECT_STREQ(e.what(), "cannot read '/nonexistent/loads.json'");
  }
  EXPECT_THROW(write_loads({}, "/nonexistent/loads.json"), balance_error);
  EXPECT_THROW((void)read_loads("/"), balance_error);
}

TEST(synthetic_loads, have_the_wanted_size_and_are_valid) {
  for (const char* pattern : {"uniform", "random", "hotspot", "gradient", "front", "opposing"}) {
    const balance::snapshot s = make_loads(parse_synthetic(
        std::string("elements=1000,ranks=5,workers=4,devices=2,pattern=") + pattern));
    EXPECT_NO_THROW(balance::require_valid(s));
    EXPECT_EQ(s.elements.size(), 1000u);
    EXPECT_EQ(s.workers.size(), 20u);
    EXPECT_EQ(s.rank_count(), 5u);
    EXPECT_EQ(s.devices.size(), 10u);
    EXPECT_EQ(s.edges.size(), 3u * 10 * 10 * 9);
    const balance::estimate now = balance::estimate_step(s, balance::current_workers(s));
    EXPECT_EQ(now.imbalance() < 1.1, std::string(pattern) == "uniform") << pattern;
  }
}

TEST(synthetic_loads, depend_on_the_seed_alone) {
  const auto load = [](const char* text) {
    return make_loads(parse_synthetic(text)).elements[5].host_seconds;
  };
  EXPECT_EQ(load("elements=10,ranks=2,pattern=random,seed=3"),
            load("elements=10,ranks=2,pattern=random,seed=3"));
  EXPECT_NE(load("elements=10,ranks=2,pattern=random,seed=3"),
            load("elements=10,ranks=2,pattern=random,seed=4"));
}

TEST(synthetic_loads, wrong_descriptions_are_refused) {
  const auto text = [](const char* words) -> std::string {
    try {
      (void)parse_synthetic(words);
    } catch (const balance_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(text("elements=5,ranks=2"), "no error");
  EXPECT_EQ(text("elements"), "--synthetic: 'elements' is not name=value");
  EXPECT_EQ(text("elements=0"),
            "--synthetic: elements=0 is not a whole number from 1 to 100000000");
  EXPECT_EQ(text("ranks=4x"), "--synthetic: ranks=4x is not a whole number from 1 to 1000000");
  EXPECT_EQ(text("ranks="), "--synthetic: ranks= is not a whole number from 1 to 1000000");
  EXPECT_NE(text("size=4").find("there is no 'size'; there are: elements"), std::string::npos);
  EXPECT_NE(text("pattern=star").find("no pattern 'star'; there are: uniform"), std::string::npos);
  EXPECT_EQ(text("devices=2"),
            "--synthetic: 2 devices of a rank need as many workers, but it has 1");
  EXPECT_EQ(text("ranks=1000000,workers=1000"), "--synthetic: more than 10000000 workers");
}

TEST(balance_command, prints_a_line_for_each_balancer) {
  const outcome all = run({"--synthetic", "elements=1000,ranks=8"});
  EXPECT_EQ(all.code, 0) << all.err;
  for (const std::string& name : balance::balancer_names())
    EXPECT_NE(all.out.find("\n" + name + " "), std::string::npos) << all.out;
  const outcome one = run(
      {"--synthetic", "elements=1000,ranks=8", "--balancer", "greedy,refine", "--migrations", "2"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out.find("\ncurve "), std::string::npos);
  EXPECT_NE(one.out.find("because of host load"), std::string::npos) << one.out;
}

TEST(balance_command, saved_loads_give_the_same_migrations) {
  const folder f;
  const std::string loads = f.file("loads.json");
  const outcome first = run({"--synthetic", "elements=500,ranks=8,devices=1", "--balancer",
                             "greedy", "--migrations", "1000", "--save", loads});
  EXPECT_EQ(first.code, 0) << first.err;
  const outcome again = run({loads, "--balancer", "greedy", "--migrations", "1000"});
  EXPECT_EQ(again.code, 0) << again.err;
  const auto migrations = [](const outcome& o) { return o.out.substr(o.out.find("greedy: ")); };
  EXPECT_GT(migrations(first).size(), 1000u);
  EXPECT_EQ(migrations(first), migrations(again));
}

TEST(balance_command, migrations_that_cannot_pay_are_not_planned) {
  const outcome o =
      run({"--synthetic", "elements=1000,ranks=8", "--balancer", "greedy", "--steps", "0"});
  EXPECT_NE(o.out.find("does not pay"), std::string::npos) << o.out;
}

TEST(balance_command, reports_and_plots_are_written) {
  const folder f;
  const outcome o = run({"--synthetic", "elements=1000,ranks=8", "--balancer", "refine", "--json",
                         f.file("r.json"), "--plot", f.file("p.json")});
  EXPECT_EQ(o.code, 0) << o.err;
  const std::string report = text_of(f.file("r.json")), plot = text_of(f.file("p.json"));
  for (const char* key : {"\"name\"", "\"config\"", "\"metrics\"", "\"checks\"", "\"commit\"",
                          "\"machine\"", "\"refine_imbalance_after\""})
    EXPECT_NE(report.find(key), std::string::npos) << key;
  EXPECT_NE(report.find("\"refine_is_no_worse\": true"), std::string::npos);
  for (const char* key : {"\"before\"", "\"after\"", "\"refine\"", "\"ideal_seconds\""})
    EXPECT_NE(plot.find(key), std::string::npos) << key;
}

TEST(balance_command, wrong_command_lines_are_refused) {
  const auto expect = [](std::vector<std::string> words, int code, const char* text) {
    const outcome o = run(std::move(words));
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_NE(o.err.find(text), std::string::npos) << o.err;
    EXPECT_TRUE(o.out.find("balancer ") == std::string::npos) << o.out;
  };
  expect({}, 2, "name a file of loads");
  expect({"--unknown"}, 2, "--unknown");
  expect({"--synthetic", "elements=x"}, 2, "elements=x is not a whole number");
  expect({"a.json", "--synthetic", "elements=10"}, 2, "excludes");
  expect({"--synthetic", "elements=10", "--balancer", "gredy"}, 2, "no balancer 'gredy'");
  expect({"--synthetic", "elements=10", "--inner", "x", "--balancer", "hierarchical"}, 2, "'x'");
  expect({"--synthetic", "elements=10", "--tolerance", "-1"}, 2, "--tolerance");
  expect({"--synthetic", "elements=10", "--rounds", "0"}, 2, "--rounds");
  expect({"/nonexistent.json"}, 1, "cannot read '/nonexistent.json'");
  EXPECT_EQ(run({"--help"}).code, 0);
}

TEST(balance_command, files_that_cannot_be_written_are_named) {
  for (const char* option : {"--json", "--plot", "--save"}) {
    const outcome o = run({"--synthetic", "elements=10,ranks=2", option, "/nonexistent/x"});
    EXPECT_EQ(o.code, 1);
    EXPECT_NE(o.err.find("cannot write '/nonexistent/x'"), std::string::npos) << o.err;
  }
}

}  // namespace
