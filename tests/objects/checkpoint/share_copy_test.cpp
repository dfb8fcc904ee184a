// SPDX-License-Identifier: Apache-2.0
// The copy of a share that arrives in pieces: the same file, or none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "objects/checkpoint/share_copy.hpp"
#include "samples.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::checkpoint_error;
using detail::checkpoint_fault;
using detail::share_copy;

class copy_of_share : public testing::Test {
 protected:
  using piece = std::pair<std::size_t, std::size_t>;  // offset and size

  copy_of_share() {
    detail::memory_sink sink;
    share_writer writer(sink, s.identity(1), s.block);
    s.fill(writer, 1);
    summary = writer.finish();
    whole = sink.take();
  }
  [[nodiscard]] std::vector<piece> pieces(std::size_t size) const {
    std::vector<piece> all;
    for (std::size_t at = 0; at < whole.size(); at += size)
      all.emplace_back(at, std::min(size, whole.size() - at));
    return all;
  }
  void append(share_copy& to, const piece& p) const {
    to.append(p.first, {std::span(whole).subspan(p.first, p.second), nullptr});
  }
  [[nodiscard]] std::string file() const {
    return scratch.path() + "/a/checkpoint.000003/share.000001";
  }
  [[nodiscard]] std::string folder() const { return scratch.path() + "/a"; }
  /// Expects that nothing is left, not even the folder of the checkpoint.
  void expect_nothing() const {
    EXPECT_FALSE(std::filesystem::exists(folder() + "/checkpoint.000003"));
  }
  template <class F>
  static void expect_error(checkpoint_fault fault, F f) {
    try {
      f();
      ADD_FAILURE() << "no error";
    } catch (const checkpoint_error& e) {
      EXPECT_EQ(e.fault(), fault) << e.what();
    }
  }

  const sample s{.number = 3, .ranks = 2, .elements = 40, .most_bytes = 300};
  share_summary summary;
  bytes whole;
  starling_test::scratch_folder scratch;
};

TEST_F(copy_of_share, is_the_same_file_whatever_the_order_of_the_pieces) {
  std::mt19937 random(5);
  for (const std::size_t size : {64, 1000, 1 << 20})
    for (int round = 0; round < 4; ++round) {
      auto all = pieces(size);
      if (round > 0) std::ranges::shuffle(all, random);
      std::filesystem::remove_all(folder());
      share_copy copy(folder(), 3, 1);
      for (const piece& p : all) append(copy, p);
      EXPECT_FALSE(std::filesystem::exists(file()));
      copy.finish(summary);
      EXPECT_EQ(file_bytes(file()), whole);
    }
}

TEST_F(copy_of_share, is_removed_without_its_end) {
  {
    share_copy copy(folder(), 3, 1);
    append(copy, pieces(64)[0]);
    EXPECT_TRUE(std::filesystem::exists(file() + ".writing"));
  }
  expect_nothing();
}

TEST_F(copy_of_share, is_refused_with_a_missing_piece) {
  for (const std::size_t missing : {0, 1, 2}) {
    share_copy copy(folder(), 3, 1);
    const auto all = pieces(whole.size() / 3 + 1);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i != missing) append(copy, all[i]);
    expect_error(checkpoint_fault::torn, [&] { copy.finish(summary); });
  }
  expect_nothing();
}

TEST_F(copy_of_share, is_refused_if_it_is_another_share) {
  {
    share_copy copy(folder(), 3, 1);
    append(copy, {0, whole.size()});
    share_summary other = summary;
    ++other.checksum;
    expect_error(checkpoint_fault::damaged, [&] { copy.finish(other); });
    expect_error(checkpoint_fault::damaged, [&] { copy.finish(summary); });
  }
  expect_nothing();
}

TEST_F(copy_of_share, is_refused_if_it_was_damaged_on_its_way) {
  {
    bytes damaged = whole;
    damaged[damaged.size() - 100] ^= std::byte{1};  // of the index
    share_copy copy(folder(), 3, 1);
    copy.append(0, {damaged, nullptr});
    expect_error(checkpoint_fault::damaged, [&] { copy.finish(summary); });
  }
  expect_nothing();
}

TEST_F(copy_of_share, reports_each_failure_of_the_disk_again_and_leaves_nothing) {
  failing_files counting;
  {
    share_copy copy(folder(), 3, 1, counting);
    for (const piece& p : pieces(1 << 19)) append(copy, p);
    copy.finish(summary);
  }
  for (int at = 0; at < int(counting.calls().size()); ++at) {
    std::filesystem::remove_all(folder());
    {
      failing_files files(at, 1, ENOSPC);
      share_copy copy(folder(), 3, 1, files);
      const auto write = [&] {
        for (const piece& p : pieces(1 << 19)) append(copy, p);
        copy.finish(summary);
      };
      expect_error(checkpoint_fault::io, write);
      expect_error(checkpoint_fault::io, write);
    }
    expect_nothing();
  }
}

TEST_F(copy_of_share, leaves_other_shares_alone) {
  checkpoint_folder to(folder());
  static_cast<void>(to.write_share(s.identity(0), [&](share_writer& w) { s.fill(w, 0); }));
  const std::string other = folder() + "/checkpoint.000003/share.000000";
  const bytes before = file_bytes(other);
  {
    share_copy copy(folder(), 3, 1);
    append(copy, pieces(64)[0]);
  }
  EXPECT_EQ(file_bytes(other), before);
}

}  // namespace
}  // namespace starling
