// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <nlohmann/json.hpp>
#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;
using nlohmann::json;

/// A file name that is unique to this process; the destructor removes the file.
class scratch_file {
 public:
  scratch_file()
      : m_path(std::filesystem::temp_directory_path() /
               ("starling_trace_" + std::to_string(getpid()) + ".json")) {}
  ~scratch_file() { std::filesystem::remove(m_path); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  [[nodiscard]] std::string name() const { return m_path.string(); }
  [[nodiscard]] json parsed() const {
    std::ifstream in(m_path);
    return json::parse(in);
  }

 private:
  std::filesystem::path m_path;
};

std::uint64_t count_of(const tracer& t, span_kind kind, const std::string& part) {
  std::uint64_t n = 0;
  for (const trace_total& row : t.totals())
    if (row.kind == kind && row.name.find(part) != row.name.npos) n += row.count;
  return n;
}

task<> work_item() { co_await yield(); }

TEST(a_trace, is_json_with_a_row_for_each_worker) {
  const scratch_file file;
  {
    runtime_options options = options_with(2);
    options.trace_file = file.name();
    runtime rt(options);
    std::vector<future<void>> all;
    for (int i = 0; i < 50; ++i) all.push_back(rt.spawn(work_item()));
    rt.sync_wait(when_all(std::move(all)));
  }
  const json events = file.parsed().at("traceEvents");
  std::vector<std::string> rows;
  int spans = 0;
  for (const json& e : events) {
    if (e.at("ph") == "M" && e.at("name") == "thread_name") rows.push_back(e["args"]["name"]);
    if (e.at("ph") != "X") continue;
    EXPECT_GE(e.at("dur").get<double>(), 0.0);
    EXPECT_GE(e.at("ts").get<double>(), -1e6);
    EXPECT_TRUE(e.at("cat") == "task" || e.at("cat") == "idle") << e;
    spans += e.at("name").get<std::string>().find("work_item") != std::string::npos;
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"worker 0", "worker 1"}));
  EXPECT_EQ(spans, 100);  // each item is resumed twice
}

TEST(a_trace, has_spans_of_one_worker_in_order_and_without_overlap) {
  const scratch_file file;
  {
    runtime_options options = options_with(2);
    options.trace_file = file.name();
    runtime rt(options);
    std::vector<future<void>> all;
    for (int i = 0; i < 200; ++i) all.push_back(rt.spawn(work_item()));
    rt.sync_wait(when_all(std::move(all)));
  }
  std::map<int, double> end_of;
  const json events = file.parsed().at("traceEvents");
  for (const json& e : events) {
    if (e.at("ph") != "X") continue;
    double& end = end_of[e.at("tid")];
    const double begin = e.at("ts");
    EXPECT_GE(begin, end - 0.0015);  // times are rounded to a nanosecond
    end = begin + e.at("dur").get<double>();
  }
  EXPECT_FALSE(end_of.empty());
}

task<int> count_down(int n) {
  if (n == 0) co_return 0;
  co_return 1 + co_await count_down(n - 1);
}
task<int> many_children() {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += co_await count_down(3);
  co_return sum;
}

TEST(a_trace, does_not_change_the_order_of_resumption) {
  if (in_chaos()) GTEST_SKIP() << "chaos mode sends some hand-overs through the queues";
  const auto resumed = [](bool traced) {
    runtime_options options = options_with(1);
    const scratch_file file;
    if (traced) options.trace_file = file.name();
    runtime rt(options);
    EXPECT_EQ(rt.sync_wait(many_children()), 3000);
    EXPECT_EQ(count_of(rt.tracer(), span_kind::task, "count_down"), traced ? 7000u : 0u);
    return rt.statistics(0).resumed;
  };
  // Children and parents resume each other directly, as without a trace, not through the queue.
  EXPECT_EQ(resumed(true), resumed(false));
}

TEST(a_trace, sums_up_the_recorded_spans) {
  tracer t;
  EXPECT_FALSE(t.enabled());
  t.enable();
  EXPECT_TRUE(t.enabled());
  const std::uint32_t track = t.open_track("device 0", "stream 1");
  t.span(track, span_kind::kernel, "flux", 100, 150);
  t.span(track, span_kind::kernel, "flux", 200, 300);
  t.span(track, span_kind::copy, "ghosts", 300, 310);
  t.count(span_kind::kernel, "flux");
  t.count(span_kind::message, "halo");
  const auto rows = t.totals();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "flux");
  EXPECT_EQ(rows[0].count, 3u);
  EXPECT_EQ(rows[0].total_ns, 150u);
  EXPECT_EQ(rows[0].longest_ns, 100u);
  EXPECT_EQ(rows[1].name, "ghosts");
  EXPECT_EQ(rows[2].name, "halo");
  EXPECT_EQ(rows[2].total_ns, 0u);
  const std::string table = t.summary();
  for (const char* word : {"kernel", "flux", "copy", "ghosts", "message", "halo"})
    EXPECT_NE(table.find(word), table.npos) << table;
}

TEST(a_trace, keeps_names_that_it_interns) {
  tracer t;
  std::string name = "temporary";
  const char* kept = t.intern(name);
  name = "gone";
  EXPECT_STREQ(kept, "temporary");
  EXPECT_EQ(t.intern("temporary"), kept);
}

TEST(a_trace, escapes_characters_that_json_forbids) {
  const scratch_file file;
  tracer t;
  const std::uint32_t track = t.open_track("a \"group\"", "back\\slash\n");
  t.span(track, span_kind::user, t.intern("tab\there"), tracer::now(), tracer::now());
  t.write(file.name());
  const json events = file.parsed().at("traceEvents");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["args"]["name"], "a \"group\"");
  EXPECT_EQ(events[1]["args"]["name"], "back\\slash\n");
  EXPECT_EQ(events[2]["name"], "tab\there");
}

detailed_span arrow_end_of(const char* name, detailed_span::arrow_end end) {
  detailed_span s;
  s.kind = span_kind::migration;
  s.name = name;
  s.total = "all of them";
  s.begin_ns = s.end_ns = tracer::now();
  s.details = {{"where", "the \"left\" one"}, {"how many", 2.5}, {"share", 0.0 / 0.0}};
  s.end = end;
  s.arrow = 0xfedcba9876543210;
  return s;
}

TEST(a_trace, has_the_details_of_spans_and_arrows_between_them) {
  using arrow_end = detailed_span::arrow_end;
  const scratch_file file;
  tracer t;
  const std::uint32_t track = t.open_track("group", "track");
  t.span(track, arrow_end_of("one", arrow_end::tail));
  t.span(track, arrow_end_of("two", arrow_end::head));
  t.span(track, arrow_end_of("three", arrow_end::none));
  t.write(file.name());
  const json events = file.parsed().at("traceEvents");
  ASSERT_EQ(events.size(), 2u + 5u);
  for (const std::size_t span : {2, 4, 6}) {
    const json& e = events[span];
    EXPECT_EQ(e.at("ph"), "X");
    EXPECT_EQ(e.at("cat"), "migration");
    EXPECT_GT(e.at("dur"), 0.0);  // otherwise no arrow can be attached
    EXPECT_EQ(e.at("args").at("where"), "the \"left\" one");
    EXPECT_EQ(e.at("args").at("how many"), 2.5);
    EXPECT_TRUE(e.at("args").at("share").is_string());  // JSON has no such number
  }
  for (const std::size_t end : {3, 5}) {
    EXPECT_EQ(events[end].at("ph"), end == 3 ? "s" : "f");
    EXPECT_EQ(events[end].at("id"), "0xfedcba9876543210");
    EXPECT_EQ(events[end].at("ts"), events[end - 1].at("ts"));
  }
  const auto rows = t.totals();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "all of them");
  EXPECT_EQ(rows[0].count, 3u);
}

TEST(a_trace, takes_many_tracks_from_many_threads) {
  tracer t;
  constexpr int tracks_each = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&t] {
      for (int k = 0; k < tracks_each; ++k) {
        const std::uint32_t mine = t.open_track("g", "t");
        for (int n = 0; n < 5; ++n) t.span(mine, span_kind::user, "s", 1, 2);
        t.count(span_kind::user, "c");
      }
    });
  for (auto& th : threads) th.join();
  EXPECT_EQ(count_of(t, span_kind::user, "s"), 4u * tracks_each * 5u);
  EXPECT_EQ(count_of(t, span_kind::user, "c"), 4u * tracks_each);
}

TEST(a_trace, that_cannot_be_written_says_where_and_why) {
  const tracer t;
  const std::string said = message_of<error>([&t] { t.write("/nowhere/trace.json"); });
  EXPECT_NE(said.find("/nowhere/trace.json"), said.npos) << said;
  EXPECT_NE(said.find("No such file"), said.npos) << said;
  const std::string full = message_of<error>([] {
    tracer big;
    const std::uint32_t track = big.open_track("g", "t");
    for (int i = 0; i < 1000; ++i) big.span(track, span_kind::user, "s", 1, 2);
    big.write("/dev/full");
  });
  EXPECT_NE(full.find("No space left"), full.npos) << full;
}

TEST(a_trace, that_cannot_be_written_is_refused_before_the_program_works_in_vain) {
  runtime_options options = options_with(1);
  options.trace_file = "/nowhere/trace.json";
  const std::string said = message_of<option_error>([&] { const runtime rt(options); });
  for (const char* part : {"--starling-trace", "/nowhere/trace.json", "No such file"})
    EXPECT_NE(said.find(part), said.npos) << said;
}

TEST(a_summary, is_printed_at_the_end) {
  testing::internal::CaptureStderr();
  {
    runtime_options options = options_with(1);
    options.summary = true;
    runtime rt(options);
    rt.sync_wait(rt.spawn(work_item()));
    EXPECT_EQ(count_of(rt.tracer(), span_kind::task, "work_item"), 2u);
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("work_item"), printed.npos) << printed;
  EXPECT_NE(printed.find("total ms"), printed.npos) << printed;
}

}  // namespace
