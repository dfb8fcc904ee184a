// SPDX-License-Identifier: Apache-2.0
// Invalid messages about elements that migrate: numbers that no element of another rank can have
// reached are refused before memory is allocated for them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using detail::location;
using detail::make_remote;
using starling_test::cluster;
using starling_test::stay_in_place;

struct roamer : chare<roamer> {
  void go(int to) { migrate_to(std::size_t(to)); }
  void nothing() {}
  template <class Archive>
  void serialize(Archive&) {}
};

using roamers = chare_array<roamer>;
constexpr auto add = [](int a, int b) { return a + b; };
using contribution = detail::remote_contribution<roamer, int, decltype(add)>;
using state = detail::remote_state<roamer>;

constexpr std::uint32_t of_rank_0 = 0, at_home = 1;  // elements whose home is rank 1

/// Returns the error of a run in which `forge(array)` sends messages to rank 1. The home of all
/// elements is rank 1; element 0 has migrated to rank 0.
template <class Forge>
std::string error_of(const Forge& forge) {
  const auto ends = cluster{2, 1}.run([&forge](runtime& rt) -> task<int> {
    stay_in_place(rt, "the messages name locations");
    const auto send = forge;
    const roamers all = create_array<roamer>(rt, 2, [](int, std::uint64_t) { return 1; });
    all[0].invoke<&roamer::go>(0);
    co_await quiescence();
    send(all, *rt.service<detail::object_space>().current_job());
    co_await quiescence();
    co_return 0;
  });
  return starling_test::error_of_rank_0<archive_error>(ends);
}

void expect_refused(const std::string& error, const std::string& why) {
  EXPECT_NE(error.find("a message of rank 0"), std::string::npos) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

message contribute(const roamers& all, std::uint32_t element, std::uint32_t number) {
  return make_remote<contribution>({0, priority::normal}, all.state().id(), element,
                                   all.state().id(), number, 1, std::optional<callback<int>>());
}

message return_state(const roamers& all, std::uint32_t element, const location& now,
                     std::uint32_t next_reduction) {
  detail::tracked_state empty(1);
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  detail::job& j = *all.state().space().current_job();
  detail::save_tracked_state<roamer>(j, ar, empty);
  return make_remote<state>({0, priority::high}, all.state().id(), element, now, next_reduction,
                            bytes);
}

TEST(forged_migrations, with_contributions_that_are_far_ahead) {
  for (const std::uint32_t number : {1u << 21, 1u << 30, ~0u})
    expect_refused(error_of([number](const roamers& all, detail::job& j) {
                     j.send(1, contribute(all, of_rank_0, number));
                   }),
                   "a contribution of another rank to a reduction that does not await it");
}

TEST(forged_migrations, with_a_contribution_that_comes_twice) {
  expect_refused(error_of([](const roamers& all, detail::job& j) {
                   for (int i = 0; i < 3; ++i) j.send(1, contribute(all, of_rank_0, 1));
                 }),
                 "a contribution of another rank to a reduction that does not await it");
}

TEST(forged_migrations, with_contributions_of_elements_that_have_not_migrated) {
  expect_refused(
      error_of([](const roamers& all, detail::job& j) { j.send(1, contribute(all, at_home, 0)); }),
      "a contribution of an element that has not migrated");
}

TEST(forged_migrations, with_destroyed_elements_that_have_contributed_too_often) {
  for (const std::uint32_t next : {1u << 21, 1u << 30, ~0u})
    expect_refused(error_of([next](const roamers& all, detail::job& j) {
                     j.send(1, return_state(all, of_rank_0, {1, 2}, next));
                   }),
                   "is destroyed that has contributed to reductions which do not exist");
}

TEST(forged_migrations, with_destroyed_elements_that_are_not_away) {
  const std::string why = "the state of an element that is not away";
  const auto refused = [&](std::uint32_t element, const location& now) {
    expect_refused(error_of([element, now](const roamers& all, detail::job& j) {
                     j.send(1, return_state(all, element, now, 0));
                   }),
                   why);
  };
  refused(at_home, {1, 2});
  refused(of_rank_0, {1, 1});
  expect_refused(error_of([](const roamers& all, detail::job& j) {
                   for (const std::uint32_t version : {2u, 3u})
                     j.send(1, return_state(all, of_rank_0, {1, version}, 0));
                 }),
                 "an element is destroyed twice");
}

void nothing() {}

/// Two ranks between which a message would be forwarded for ever.
TEST(forged_migrations, with_locations_that_contradict_each_other) {
  const auto ends = cluster{3, 1}.run([](runtime& rt) -> task<int> {
    stay_in_place(rt, "the messages name locations");
    const roamers all = create_array<roamer>(rt, 2, [](int, std::uint64_t) { return 1; });
    all[0].invoke<&roamer::go>(0);
    co_await quiescence();
    detail::job& j = *rt.service<detail::object_space>().current_job();
    for (const std::uint32_t rank_of_hint : {1u, 2u}) {
      const location other{3 - rank_of_hint, 100};
      j.send(int(rank_of_hint), make_remote<detail::remote_hint<roamer>>(
                                    {0, priority::high}, all.state().id(), of_rank_0, other, -1));
      co_await async<&nothing>(rank(int(rank_of_hint)));  // behind the hint
    }
    all[0].invoke<&roamer::nothing>();
    co_await quiescence();
    co_return 0;
  });
  const std::string error = cluster::text_of(ends[0]);
  EXPECT_NE(error.find("a message of rank "), std::string::npos) << error;
  EXPECT_NE(error.find("two locations of roamer[0] have the same version"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace starling
