// SPDX-License-Identifier: Apache-2.0
// Invalid messages about device memory of elements that arrive from another rank.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::stay_in_place;

struct holder : chare<holder> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_memory);
  }
  void go(int to) { migrate_to(std::size_t(to)); }

 private:
  buffer<std::uint64_t> m_memory;
};

/// What a forged arrival of an element says of exported memory, in the order of a message.
struct forged_memory {
  std::vector<detail::exported_piece> pieces;
  detail::reply_address answer_to;
  std::vector<std::vector<std::byte>> contents;
};

/// Lets rank 0 send rank 1 an element with a buffer of `count` numbers, marked as exported. Returns
/// the error of the run.
std::string error_of_arrival(const forged_memory& memory, std::uint64_t count) {
  const auto ends = cluster{2, 1}.run([&](runtime& rt) -> task<int> {
    stay_in_place(rt, "the message names locations");
    const forged_memory m = memory;
    std::vector<std::byte> state;
    output_archive ar(state);
    ar(count, memory_kind(memory_kinds));
    const auto all = create_array<holder>(rt, 1, [](int, std::uint64_t) { return 1; });
    all[0].invoke<&holder::go>(0);
    co_await quiescence();
    detail::job& j = *rt.service<detail::object_space>().current_job();
    const auto send = [&](const auto&... values) {
      j.send(1, detail::make_remote<detail::remote_element<holder>>(
                    {0, priority::high}, all.state().id(), std::uint32_t{0}, detail::location{1, 2},
                    false, shared_buffer<std::byte>(std::vector(state)), m.pieces, values...));
    };
    if (m.pieces.empty())
      send();
    else
      send(m.answer_to, m.contents);
    co_await quiescence();
    co_return 0;
  });
  return cluster::text_of(ends[0]);
}

void expect_refused(const forged_memory& memory, std::uint64_t count, const std::string& why) {
  const std::string error = error_of_arrival(memory, count);
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

TEST(forged_exported_memory, without_an_answer_has_contents_of_all_pieces) {
  expect_refused({{{{}, 80}, {{}, 80}}, {}, {std::vector<std::byte>(80)}}, 10,
                 "exported memory is invalid");
}

TEST(forged_exported_memory, is_answered_to_its_sender_only) {
  expect_refused({{{{}, 80}}, {1, 0, 7}, {}}, 10, "exported memory is invalid");
}

TEST(forged_exported_memory, has_the_size_of_the_buffer) {
  expect_refused({{{{}, 80}}, {}, {std::vector<std::byte>(80)}}, 9,
                 "it has another size than what was exported");
  expect_refused({{{{}, 81}}, {}, {std::vector<std::byte>(81)}}, 10,
                 "it has another size than what was exported");
}

TEST(forged_exported_memory, exists_for_each_buffer) {
  expect_refused({}, 10, "its elements were not exported");
}

}  // namespace
}  // namespace starling
