// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the memory of the host overwrite the files of removed ones.
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "checkpoint_cells.hpp"
#include "objects/checkpoint/file_system.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cells_program;
using starling_test::cluster;

class checkpoints_in_memory : public starling_test::on_clusters {
 protected:
  [[nodiscard]] std::string folder(int rank) const {
    return scratch.path() + "/" + std::to_string(rank);
  }
  /// Returns the files of all shares of a checkpoint: of each share, and its copy.
  [[nodiscard]] std::set<ino_t> shares_of(int number) const {
    std::set<ino_t> found;
    for (int r = 0; r < all.ranks; ++r) {
      const std::string path = folder(r) + "/checkpoint.00000" + std::to_string(number);
      for (const auto& file : std::filesystem::directory_iterator(path)) {
        struct stat about {};
        EXPECT_EQ(::stat(file.path().c_str(), &about), 0);
        if (file.path().filename() != "manifest") found.insert(about.st_ino);
      }
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> spares() const {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::recursive_directory_iterator(scratch.path()))
      if (file.path().filename().string().starts_with("spare.")) found.push_back(file.path());
    return found;
  }

  starling_test::scratch_folder scratch{"/dev/shm"};
};
INSTANTIATE_TEST_SUITE_P(on, checkpoints_in_memory, testing::Values(cluster{2, 2}, cluster{3, 1}),
                         starling_test::cluster_name);

TEST_P(checkpoints_in_memory, overwrite_the_files_of_removed_ones) {
  if (!detail::system_files().is_in_memory("/dev/shm")) GTEST_SKIP() << "/dev/shm is on a disk";
  std::vector<std::string> last;
  const checkpoint_options first(1, "", "none", 2);
  all.expect(0, [&](runtime& rt) -> task<int> {
    auto p = co_await cells_program::begin(rt, scratch.path() + "/{rank}", first);
    std::vector<std::set<ino_t>> files(7);
    for (int step = 1; step <= 6; ++step) {
      co_await p.advance_to(step);
      auto written = co_await p.saved.take(std::uint64_t(step));
      EXPECT_EQ(co_await std::move(written), std::uint64_t(step));
      files[std::size_t(step)] = shares_of(step);
      if (step > 2) {
        EXPECT_EQ(files[std::size_t(step)], files[std::size_t(step - 2)]) << step;
      }
    }
    EXPECT_EQ(spares().size(), std::size_t(2 * all.ranks));
    last = co_await p.contents();
    co_return 0;
  });
  EXPECT_EQ(spares(), std::vector<std::string>()) << "the run has ended";
  const checkpoint_options latest(1, "", "latest", 2);
  all.expect(0, [&](runtime& rt) -> task<int> {
    auto p = co_await cells_program::begin(rt, scratch.path() + "/{rank}", latest);
    EXPECT_EQ(p.saved.step(), 6u);
    EXPECT_EQ(co_await p.contents(), last);
    co_return 0;
  });
}

}  // namespace
}  // namespace starling
