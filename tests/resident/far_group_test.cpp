// SPDX-License-Identifier: Apache-2.0
// Operations of a group on memory that it does not map, through the host's reference
// implementation; and a test that the reference detects a missing fence.
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include <starling/resident/interop/host_far.hpp>

namespace starling_test {
namespace {

using namespace starling::resident::detail;
using starling::resident::host::far_host_group, starling::resident::host::held_back;

/// A transfer path whose fences have no effect.
struct unfenced : held_back {
  static void fence() noexcept {}
};
using unfenced_group = far_group<host_group, unfenced>;

/// Returns `here` as a scheduler that does not map it addresses it.
template <class T>
T& far(T& here) {
  return *as_far_pointer<T>({3, reinterpret_cast<std::uint64_t>(&here)});
}

message some_message() {
  message m;
  m.target = 12;
  m.bytes = inline_bytes;
  std::iota(m.arguments, m.arguments + inline_bytes, static_cast<unsigned char>(1));
  return m;
}

/// Returns whether a slot whose flags announce message 7 contains the complete message.
template <class Group>
bool arrives_whole(const message& sent) {
  slot there{}, image{};
  Group::put(far(there), image, sent, units_of(std::size_t(sent.bytes)), 7);
  EXPECT_TRUE(has_come_flagged<host_group>(there, 7));
  message got{};
  collect_flagged<host_group>(there, got);
  held_back::fence();  // no deferred write to this test's memory may remain
  return got.target == sent.target && got.bytes == sent.bytes &&
         std::memcmp(got.arguments, sent.arguments, sent.bytes) == 0;
}

TEST(far_pointers, name_the_owner_of_their_memory_and_allow_arithmetic) {
  std::uint64_t words[4] = {};
  EXPECT_FALSE(is_far(words));
  auto* const there = as_far_pointer<std::uint64_t>({5, reinterpret_cast<std::uint64_t>(words)});
  EXPECT_TRUE(is_far(there));
  EXPECT_EQ(far_address_of(there + 3).owner, 5u);
  EXPECT_EQ(far_address_of(there + 3).address, reinterpret_cast<std::uint64_t>(words + 3));
}

TEST(far_groups, put_messages_that_arrive_whole) {
  EXPECT_TRUE(arrives_whole<far_host_group>(some_message()));
  message least = some_message();
  least.bytes = 4;
  EXPECT_TRUE(arrives_whole<far_host_group>(least));
}

TEST(far_groups, without_a_fence_fail_the_check_for_whole_messages) {
  EXPECT_FALSE(arrives_whole<unfenced_group>(some_message()));
}

TEST(far_groups, write_words_and_copies_after_earlier_puts) {
  alignas(16) std::byte data[32] = {}, copy[32] = {};
  std::memset(data, 9, sizeof data);
  std::uint32_t arrived = 0;
  std::uint64_t bits = 0;
  far_host_group::copy(&far(copy[0]), data, sizeof data);
  EXPECT_EQ(copy[0], std::byte{0}) << "held back";
  far_host_group::store_release(&far(arrived), 4u);
  EXPECT_EQ(copy[31], std::byte{9});
  EXPECT_EQ(arrived, 4u);
  std::memset(data, 8, sizeof data);
  far_host_group::copy(&far(copy[0]), data, sizeof data);
  far_host_group::release_data();
  far_host_group::set_credit_bits(&far(bits), 6);
  EXPECT_EQ(copy[31], std::byte{8});
  EXPECT_EQ(far_host_group::clear_bits(&bits, 2), 6u);
  EXPECT_EQ(bits, 4u);
  EXPECT_TRUE(far_host_group::set_once(&far(arrived = 0)));
  EXPECT_FALSE(far_host_group::set_once(&arrived));
  std::byte back[32] = {};
  far_host_group::fetch(back, &far(copy[0]), sizeof back);
  EXPECT_EQ(back[31], std::byte{8});
}

}  // namespace
}  // namespace starling_test
