// SPDX-License-Identifier: Apache-2.0
// Messages that a run leaves behind, on any rank.
#include <string>

#include "cluster.hpp"

namespace starling {
namespace {

class messages_left_over_on_ranks : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, messages_left_over_on_ranks, starling_test::cluster_sizes,
                         starling_test::cluster_name);

struct letter_box : chare<letter_box> {
  awaited letter(int number, double value);
  task<> read(int number) { co_await when<&letter_box::letter>(number); }
};

TEST_P(messages_left_over_on_ranks, are_named_with_the_rank) {
  testing::internal::CaptureStderr();
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto boxes = create_rank_group<letter_box>(rt);
    const auto last = boxes[rank_count() - 1];
    last.invoke<&letter_box::letter>(2, 1.0);
    last.invoke<&letter_box::letter>(1, 1.0);
    co_await last.call<&letter_box::read>(1);
    co_return 0;
  });
  const std::string last = std::to_string(all.ranks - 1);
  const std::string where = all.ranks == 1 ? "" : " on rank " + last;
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("starling: messages left over" + where + ", 1: letter_box[" + last +
                      "].letter(2)\n"),
            std::string::npos)
      << text;
}

TEST_P(messages_left_over_on_ranks, are_not_named_after_a_run_that_was_cut_short) {
  testing::internal::CaptureStderr();
  all.expect(3, [](runtime& rt) -> task<int> {
    create_rank_group<letter_box>(rt)[rank_count() - 1].invoke<&letter_box::letter>(2, 1.0);
    co_await quiescence();
    exit_run(3);
    co_return 0;
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("left over"), std::string::npos) << text;
}

}  // namespace
}  // namespace starling
