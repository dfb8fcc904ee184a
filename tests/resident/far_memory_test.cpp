// SPDX-License-Identifier: Apache-2.0
// Memory for devices of other processes: which processes meet for it, and how it is allocated.
#include <starling/resident/detail/far_memory.hpp>

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core/error.hpp>
#include <starling/device/memory_name.hpp>

#include "resident/failure_chares.hpp"
#include "resident/support.hpp"

namespace starling_test {
namespace {

using resident::detail::far_meeting;

/// Memory of this process only.
class some_memory final : public resident::detail::far_memory {
 public:
  int beginnings = 0;

 protected:
  void check(const std::string& device) override {
    if (device.empty()) throw starling::backend_unavailable("no such device");
  }
  std::vector<std::byte> make_key(std::uint64_t) override { return std::vector<std::byte>(4); }
  std::span<std::byte> begin(const far_meeting& all, std::uint32_t, const std::string&) override {
    ++beginnings;
    m_bytes.resize(all.bytes);
    return m_bytes;
  }

 private:
  std::vector<std::byte> m_bytes;
};

const std::string device = "0000:01:00.0";

/// Returns a meeting of this process and a process before it.
far_meeting of_two(std::uint64_t bytes, std::uint64_t number = 1) {
  return {number, {starling::process_number() - 1, starling::process_number()}, {}, bytes};
}
void meet(some_memory& m, std::uint64_t bytes) {
  far_meeting all = of_two(bytes);
  ASSERT_FALSE(m.prepare(all, device));
  m.add_key(all);
  m.meet(all, device);
}

TEST(far_memory, is_set_up_once_for_the_same_processes) {
  some_memory m;
  meet(m, 1024);
  EXPECT_EQ(m.position(), 1u);
  EXPECT_TRUE(m.prepare(of_two(4096, 2), device));
  m.meet(of_two(4096, 2), device);
  EXPECT_EQ(m.beginnings, 1);
}

TEST(far_memory, is_prepared_for_one_meeting_until_that_is_cancelled) {
  some_memory m;
  EXPECT_THROW(static_cast<void>(m.prepare(of_two(1024), "")), starling::backend_unavailable);
  EXPECT_FALSE(m.prepare(of_two(1024), device));
  EXPECT_FALSE(m.prepare(of_two(1024), device)) << "by another rank of the process";
  EXPECT_THROW(static_cast<void>(m.prepare(of_two(1024, 2), device)), starling::usage_error);
  m.forget(2);
  EXPECT_THROW(static_cast<void>(m.prepare(of_two(1024, 2), device)), starling::usage_error);
  m.forget(1);
  EXPECT_FALSE(m.prepare(of_two(1024, 2), device));
}

TEST(far_memory, is_refused_to_other_processes_and_on_other_devices) {
  some_memory m;
  meet(m, 1024);
  const auto told = [&](const far_meeting& all, const std::string& where) {
    return message_of<starling::usage_error>([&] { static_cast<void>(m.prepare(all, where)); });
  };
  const std::string alone = told({2, {starling::process_number()}, {}, 1024}, device);
  EXPECT_NE(alone.find("on 1 processes: the first one was of 2"), std::string::npos) << alone;
  const std::string elsewhere = told(of_two(1024, 2), "0000:02:00.0");
  EXPECT_NE(elsewhere.find("was on 0000:01:00.0"), std::string::npos) << elsewhere;
  some_memory other;
  const far_meeting without{1, {starling::process_number() + 1}, {}, 1024};
  EXPECT_FALSE(other.prepare(without, device));
  EXPECT_THROW(other.meet(without, device), starling::usage_error);
  EXPECT_EQ(other.beginnings, 0);
}

TEST(far_memory, is_allocated_in_lines_and_reused_after_its_return) {
  some_memory m;
  meet(m, 1024);
  std::byte* const first = m.allocate(1);
  std::byte* const second = m.allocate(129);
  std::byte* const third = m.allocate(128);
  EXPECT_EQ(m.offset_of(first), 0u);
  EXPECT_EQ(m.offset_of(second), 128u);
  EXPECT_EQ(m.offset_of(third), 384u);
  EXPECT_EQ(m.at(384), third);
  m.give_back(second);
  EXPECT_EQ(m.allocate(512), third + 128) << "not in a gap that is too small";
  EXPECT_EQ(m.allocate(256), second);
}

TEST(far_memory, names_a_size_that_is_too_large) {
  some_memory m;
  meet(m, 1024);
  static_cast<void>(m.allocate(128));
  for (const std::uint64_t bytes : {std::uint64_t{897}, ~std::uint64_t{0}}) {
    const auto told =
        message_of<starling::out_of_memory>([&] { static_cast<void>(m.allocate(bytes)); });
    EXPECT_NE(told.find("1024 are set apart"), std::string::npos) << told;
    EXPECT_NE(told.find("symmetric_bytes"), std::string::npos) << told;
  }
  EXPECT_EQ(m.offset_of(m.allocate(896)), 128u);
}

/// A chare that is not compiled for far groups.
template <class Cx>
struct bound : resident::chare {
  constexpr void none(Cx&) {}
  struct entries : resident::entries<&bound::none> {};
};

TEST(far_programs, need_their_code) {
  runtime rt(options_with(1));
  for (const auto where : {resident::place::host, resident::place::device}) {
    resident::system<resident::program<bound>> sys(
        rt, {.place = where, .schedulers = 1, .reach = resident::reach::nvshmem});
    const auto told = message_of<starling::usage_error>([&] { rt.sync_wait(sys.start()); });
    EXPECT_NE(told.find("instantiate"), std::string::npos) << told;
    EXPECT_NE(told.find("`reach`"), std::string::npos) << told;
  }
}

}  // namespace
}  // namespace starling_test
