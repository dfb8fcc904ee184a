// SPDX-License-Identifier: Apache-2.0
// The timeline of a job: several processes add their spans to one file.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include "support.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace starling;
using nlohmann::json;

/// A trace file of a job. Processes of the test act as its ranks, with a launcher's variables.
class a_trace_of_ranks : public testing::Test {
 protected:
  /// Starts a process that is rank `rank` and adds `spans` spans to the file.
  void begin(int rank, int spans, const char* job = "/a/job") {
    const pid_t child = ::fork();
    if (child != 0) return m_children.push_back(child);
    ::setenv("STARLING_LAUNCH_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("STARLING_LAUNCH_SIZE", "8", 1);
    ::setenv("STARLING_LAUNCH_SOCKET", job, 1);
    tracer mine;
    const std::uint32_t row = mine.open_track("workers", "worker 0");
    for (int i = 0; i < spans; ++i)
      mine.span(row, span_kind::task, "work", tracer::now(), tracer::now());
    detailed_span end;
    end.name = end.total = "arrow";
    end.begin_ns = end.end_ns = tracer::now();
    end.end = rank == 0 ? detailed_span::arrow_end::tail : detailed_span::arrow_end::head;
    end.arrow = 7;
    if (spans == 1) mine.span(row, end);
    try {
      mine.write(name());
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  void await_all() {
    for (const pid_t child : std::exchange(m_children, {})) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  }
  void kill_all() {
    for (const pid_t child : m_children) ::kill(child, SIGKILL);
    for (const pid_t child : std::exchange(m_children, {})) ::waitpid(child, nullptr, 0);
  }
  [[nodiscard]] std::string name() const { return m_folder.path() + "/t.json"; }
  [[nodiscard]] const std::string& folder() const { return m_folder.path(); }
  [[nodiscard]] json events() const {
    std::ifstream in(name());
    return json::parse(in).at("traceEvents");
  }
  /// Returns the number of spans in the rows of each group.
  [[nodiscard]] std::map<std::string, int> spans_by_group() const {
    std::map<int, std::string> names;
    std::map<std::string, int> spans;
    const json all = events();
    for (const json& e : all)
      if (e.at("name") == "process_name") names[e["pid"]] = e["args"]["name"];
    for (const json& e : all)
      if (e.at("ph") == "X") ++spans[names.at(e["pid"])];
    return spans;
  }

 private:
  starling_test::scratch_folder m_folder;
  std::vector<pid_t> m_children;
};

TEST_F(a_trace_of_ranks, has_the_rows_of_all_ranks_although_they_end_at_once) {
  constexpr int ranks = 8;
  for (int rank = 0; rank < ranks; ++rank) begin(rank, 100 + rank);
  await_all();
  std::map<std::string, int> expected;
  for (int rank = 0; rank < ranks; ++rank)
    expected["rank " + std::to_string(rank) + ": workers"] = 100 + rank;
  EXPECT_EQ(spans_by_group(), expected);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1);
}

TEST_F(a_trace_of_ranks, has_one_axis_of_time) {
  for (const int rank : {0, 1}) {
    begin(rank, 1);
    await_all();
  }
  std::vector<double> times;
  for (const json& e : events())
    if (e.at("ph") == "X" && e.at("name") == "work") times.push_back(e.at("ts"));
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GT(times[0], 0);
  EXPECT_GT(times[1], times[0]);  // the second rank began after the first one had ended
}

TEST_F(a_trace_of_ranks, has_arrows_from_one_rank_to_another) {
  for (const int rank : {0, 1}) {
    begin(rank, 1);
    await_all();
  }
  std::map<std::string, json> ends;
  for (const json& e : events())
    if (e.at("ph") == "s" || e.at("ph") == "f") ends[e.at("ph")] = e;
  ASSERT_EQ(ends.size(), 2U);
  for (const char* member : {"id", "cat", "name"})
    EXPECT_EQ(ends["s"].at(member), ends["f"].at(member));
  EXPECT_NE(ends["s"].at("pid"), ends["f"].at("pid"));
  EXPECT_GT(ends["f"].at("ts"), ends["s"].at("ts"));
}

TEST_F(a_trace_of_ranks, replaces_the_trace_of_another_job) {
  begin(0, 10, "/another/job");
  await_all();
  begin(1, 20);
  await_all();
  EXPECT_EQ(spans_by_group(), (std::map<std::string, int>{{"rank 1: workers", 20}}));
}

TEST_F(a_trace_of_ranks, replaces_a_file_that_is_no_trace) {
  std::ofstream(name()) << "something else\n";
  begin(3, 5);
  await_all();
  EXPECT_EQ(spans_by_group(), (std::map<std::string, int>{{"rank 3: workers", 5}}));
}

TEST_F(a_trace_of_ranks, is_valid_whenever_a_rank_is_killed) {
  begin(0, 1000);
  await_all();
  for (int trial = 0; trial < 20; ++trial) {
    begin(1, 20'000);
    ::usleep(useconds_t(trial) * 2000);  // varies where the process is killed; not a wait
    kill_all();
    EXPECT_GE(spans_by_group().at("rank 0: workers"), 1000);
  }
}

TEST_F(a_trace_of_ranks, may_be_written_to_a_device) {
  ::setenv("STARLING_LAUNCH_RANK", "0", 1);
  ::setenv("STARLING_LAUNCH_SIZE", "2", 1);
  tracer mine;
  static_cast<void>(mine.open_track("workers", "worker 0"));
  EXPECT_NO_THROW(mine.write("/dev/null"));
  EXPECT_THROW(mine.write("/nonexistent/t.json"), error);
  EXPECT_EQ(mine.summary().rfind("rank 0:\n", 0), 0U);
  ::unsetenv("STARLING_LAUNCH_RANK");
  ::unsetenv("STARLING_LAUNCH_SIZE");
  EXPECT_EQ(mine.summary().rfind("kind", 0), 0U);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
