// SPDX-License-Identifier: Apache-2.0
// Folders of ranks that a user or a full disk has left in a state in which shares could get lost.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "private_checkpoint.hpp"

namespace starling {
namespace {

using starling_test::cells_program;
using starling_test::cluster;

class mended_checkpoint : public starling_test::private_checkpoint {
 protected:
  [[nodiscard]] std::string manifest(int rank) const {
    return folder(rank) + "/checkpoint.000002/manifest";
  }
};
INSTANTIATE_TEST_SUITE_P(on, mended_checkpoint, testing::Values(cluster{2, 2}, cluster{4, 1}),
                         starling_test::cluster_name);

TEST_P(mended_checkpoint, keeps_shares_whose_manifest_cannot_be_written_again) {
  take(2, 1);
  std::filesystem::remove(manifest(1));
  std::filesystem::create_symlink("/dev/full", manifest(1) + ".writing");
  testing::internal::CaptureStderr();
  const auto ends = all.run([&](runtime& rt) -> task<int> {
    static_cast<void>(
        co_await checkpoints::open(rt, scratch.path() + "/{rank}", {2, "", "latest"}));
    co_return 0;
  });
  static_cast<void>(testing::internal::GetCapturedStderr());
  expect_text(cluster::text_of(ends[0]), "No space left");
  EXPECT_TRUE(has(2, 1, 1)) << "the only copy";
  EXPECT_EQ(expect_restart(all, 2, 4, 1), "");
}

TEST_P(mended_checkpoint, has_a_damaged_manifest_from_another_folder) {
  take(2, 1);
  damage(manifest(1));
  EXPECT_EQ(expect_restart(all, 2, 4, 1), "");
  std::filesystem::remove(manifest(0));
  EXPECT_EQ(expect_restart(all, 2, 4, 1), "") << "written again into folder 1";
}

TEST_P(mended_checkpoint, is_refused_where_a_copied_folder_is_taken_for_the_same_one) {
  take(1);
  lose(1);
  std::filesystem::copy(folder(0), folder(1), std::filesystem::copy_options::recursive);
  const auto step_two = [&](bool is_refused) {
    return [&, is_refused](cells_program& p) -> task<> {
      EXPECT_EQ(p.saved.step(), 1u);
      co_await p.advance_to(2);
      contents[2] = co_await p.contents();
      auto written = co_await p.saved.take(2);
      try {
        static_cast<void>(co_await std::move(written));
        EXPECT_FALSE(is_refused);
      } catch (const checkpoint_error& e) {
        EXPECT_TRUE(is_refused) << e.what();
        expect_text(e.what(), "share.000001");
        expect_text(e.what(), "the same file 'folder.id'");
      }
    };
  };
  run(all, "latest", step_two(true));
  std::filesystem::remove(folder(1) + "/folder.id");
  run(all, "latest", step_two(false));
  expect_restart(all, 2, 2);
}

}  // namespace
}  // namespace starling
