// SPDX-License-Identifier: Apache-2.0
// Invalid messages about elements of bound arrays that arrive from another rank.
#include <cstdint>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using detail::location;
using detail::make_remote;
using starling_test::cluster;

struct lead : chare<lead> {
  void go(int to) { migrate_to(std::size_t(to)); }
  template <class Archive>
  void serialize(Archive&) {}
};
struct led : chare<led> {
  template <class Archive>
  void serialize(Archive&) {}
};
using pair_of_arrays = bound_arrays<lead, led>;
using arrival = detail::remote_pair<lead, led>;

constexpr std::uint32_t of_rank_0 = 0, at_home = 1;  // elements whose home is rank 1

struct on_worker_1 {
  std::size_t operator()(int, std::uint64_t) const { return 1; }
};

/// The state of an element without messages, as detail::save_element writes it.
template <class T>
shared_buffer<std::byte> empty_state(detail::job& j) {
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  save_value(ar, std::uint32_t{0});  // reductions
  save_value(ar, std::uint64_t{0});  // calls of load_balance() to skip
  save_value(ar, detail::report_place::as_created);
  save_value(ar, std::uint8_t{0});   // forced migrations that are left
  save_value(ar, std::uint64_t{0});  // lines of the offers of its channels
  save_value(ar, std::uint64_t{0});  // messages in the mailbox
  detail::tracked_state empty(1);
  detail::save_tracked_state<T>(j, ar, empty);
  return shared_buffer<std::byte>(std::move(bytes));
}

/// Expects that rank 1 refuses a message of `forge(arrays, job)` because of `why`. The home of all
/// elements is rank 1; the pair 0 has migrated to rank 0.
template <class Forge>
void expect_refused(const Forge& forge, const std::string& why) {
  const auto ends = cluster{2, 1}.run([&forge](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "the messages name locations");
    const auto make = forge;
    const pair_of_arrays all = create_bound_arrays<lead, led>(rt, 2, on_worker_1());
    all.leaders[0].invoke<&lead::go>(0);
    co_await quiescence();
    detail::job& j = *rt.service<detail::object_space>().current_job();
    j.send(1, make(all, j));
    co_await quiescence();
    co_return 0;
  });
  const std::string error = starling_test::error_of_rank_0<archive_error>(ends);
  EXPECT_NE(error.find("a message of rank 0"), std::string::npos) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

/// Returns the arrival of leader `i` and follower `k`.
message arrive(const pair_of_arrays& all, detail::job& j, std::uint32_t i, const location& leader,
               std::uint32_t k, const location& follower) {
  return make_remote<arrival>({0, priority::high}, all.leaders.state().id(), i, leader, false,
                              empty_state<lead>(j), all.followers.state().id(), k, follower, false,
                              empty_state<led>(j),
                              detail::exported_memory(all.leaders.state().space(), 1));
}

TEST(forged_arrivals_of_pairs, with_elements_of_different_indices) {
  expect_refused(
      [](const pair_of_arrays& all, detail::job& j) {
        return arrive(all, j, of_rank_0, {1, 2}, at_home, {1, 2});
      },
      "two elements that are not bound to each other");
}

TEST(forged_arrivals_of_pairs, with_elements_that_are_here_or_have_left_again) {
  for (const location& follower : {location{1, 0}, location{1, 1}})
    expect_refused(
        [follower](const pair_of_arrays& all, detail::job& j) {
          return arrive(all, j, of_rank_0, {1, 2}, of_rank_0, follower);
        },
        "an element that is here or has left again");
}

TEST(forged_arrivals_of_pairs, with_the_worker_of_another_rank) {
  expect_refused(
      [](const pair_of_arrays& all, detail::job& j) {
        return arrive(all, j, of_rank_0, {1, 2}, of_rank_0, {0, 2});
      },
      "it is for another worker");
}

TEST(forged_arrivals_of_pairs, with_a_follower_alone) {
  expect_refused(
      [](const pair_of_arrays& all, detail::job& j) {
        return make_remote<detail::remote_element<led>>(
            {0, priority::high}, all.followers.state().id(), of_rank_0, location{1, 2}, false,
            empty_state<led>(j), detail::exported_memory(all.leaders.state().space(), 1));
      },
      "a follower without its leader");
}

}  // namespace
}  // namespace starling
