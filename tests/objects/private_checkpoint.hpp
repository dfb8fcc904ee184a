// SPDX-License-Identifier: Apache-2.0
// A program whose ranks have checkpoints in folders of their own.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "checkpoint_cells.hpp"
#include "support/scratch_folder.hpp"

namespace starling_test {

using work_of_program = std::function<starling::task<>(cells_program&)>;

/// A program with checkpoints in a folder of each rank.
class private_checkpoint : public on_clusters {
 protected:
  /// Runs a task on rank 0; returns what the ranks have printed.
  std::string run(const cluster& on, const std::string& restart, const work_of_program& work,
                  std::size_t copies = 2) const {
    testing::internal::CaptureStderr();
    on.expect(0, [&](starling::runtime& rt) -> starling::task<int> {
      return rank_zero(rt, restart, work, copies);
    });
    return testing::internal::GetCapturedStderr();
  }
  /// Takes checkpoints at the steps 1, 2, …
  void take(int count, std::size_t copies = 2) {
    const std::string said = run(
        all, "none",
        [&](cells_program& p) -> starling::task<> {
          for (int step = 1; step <= count; ++step) {
            co_await p.advance_to(step);
            contents[step] = co_await p.contents();
            auto written = co_await p.saved.take(std::uint64_t(step));
            EXPECT_EQ(co_await std::move(written), std::uint64_t(step));
          }
          co_await p.advance_to(count + 2);
          contents[count + 2] = co_await p.contents();
        },
        copies);
    EXPECT_EQ(said, "");
  }
  /// Restarts and expects the state of the checkpoint, and the results of the undisturbed run.
  std::string expect_restart(const cluster& on, int step, int last, std::size_t copies = 2) {
    const auto work = [&](cells_program& p) -> starling::task<> {
      EXPECT_TRUE(p.saved.is_restart());
      EXPECT_EQ(p.saved.step(), std::uint64_t(step));
      EXPECT_EQ(co_await p.contents(), contents[step]);
      co_await p.advance_to(last);
      EXPECT_EQ(co_await p.contents(), contents[last]);
    };
    return run(on, "latest", work, copies);
  }
  [[nodiscard]] std::string folder(int rank) const {
    return scratch.path() + "/" + std::to_string(rank);
  }
  void lose(int rank) const { std::filesystem::remove_all(folder(rank)); }
  [[nodiscard]] std::string share(int number, int rank, int of) const {
    return folder(rank) + "/checkpoint.00000" + std::to_string(number) + "/share.00000" +
           std::to_string(of);
  }
  [[nodiscard]] bool has(int number, int rank, int of) const {
    return std::filesystem::exists(share(number, rank, of));
  }
  static void damage(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(70);
    file.put('\x55');
    ASSERT_TRUE(file.good()) << path;
  }
  static void expect_text(const std::string& all, const std::string& part) {
    EXPECT_NE(all.find(part), std::string::npos) << "no '" << part << "' in: " << all;
  }
  [[nodiscard]] int next(int rank) const { return (rank + 1) % all.ranks; }

  scratch_folder scratch;
  std::map<int, std::vector<std::string>> contents;  // by step
  std::string persistent;                            // path of persistent folders
  std::size_t persistent_every = 0;

 private:
  starling::task<int> rank_zero(starling::runtime& rt, std::string restart, work_of_program work,
                                std::size_t copies) const {
    const starling::checkpoint_options options(2, "test", restart, copies, persistent,
                                               persistent_every);
    auto p = co_await cells_program::begin(rt, scratch.path() + "/{rank}", options);
    co_await work(p);
    co_return 0;
  }
};

}  // namespace starling_test
