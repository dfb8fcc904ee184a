// SPDX-License-Identifier: Apache-2.0
// Invalid insertions from other ranks.
#include <cstdint>
#include <string>
#include <tuple>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::cluster;

struct roamer : chare<roamer, std::uint64_t> {
  void go(int to) { migrate_to(std::size_t(to)); }
  template <class Archive>
  void serialize(Archive&) {}
};
using roamers = chare_array<roamer>;
using insertion = detail::insert_message<roamer, std::tuple<>>;

constexpr std::uint64_t destroyed = 1, never_made = 3;  // their home is worker 1 of two

/// Returns the error of a run in which `forge(array, job)` sends messages to rank 1, the home of
/// two indices: of an element that has migrated and was destroyed, and of one that was never made.
template <class Forge>
std::string error_of(const Forge& forge) {
  const auto ends = cluster{2, 1}.run([&forge](runtime& rt) -> task<int> {
    const auto send = forge;
    const roamers all = create_sparse_array<roamer>(rt);
    all.insert(destroyed);
    for (const int to : {0, 1}) {
      all[destroyed].invoke<&roamer::go>(to);
      co_await quiescence();
    }
    all[destroyed].destroy();
    co_await quiescence();
    send(all, *rt.service<detail::object_space>().current_job());
    co_await quiescence();
    co_return 0;
  });
  return cluster::text_of(ends[0]);
}

void expect_unexpected(std::uint64_t index) {
  const std::string error = error_of([index](const roamers& all, detail::job&) {
    const auto to = all[index].address();
    auto* const m = new detail::tracked_message<roamer>(to, *new insertion(to, {}), {},
                                                        detail::functions_of<roamer, insertion>);
    m->send_copy(1);
    m->discard();
  });
  EXPECT_NE(error.find("roamer[" + std::to_string(index) + "]"), std::string::npos) << error;
  EXPECT_NE(error.find("that its home does not expect"), std::string::npos) << error;
}

TEST(forged_insertions, of_a_destroyed_element_that_its_home_does_not_expect) {
  expect_unexpected(destroyed);
}

TEST(forged_insertions, of_an_element_that_has_never_migrated) { expect_unexpected(never_made); }

TEST(forged_insertions, by_a_worker_that_does_not_exist) {
  const std::string error = error_of([](const roamers& all, detail::job& j) {
    j.send(1, detail::make_remote<detail::remote_insertion<roamer, std::tuple<>>>(
                  {0, priority::normal}, all.state().id(), destroyed, std::uint32_t{2},
                  std::uint64_t{1}, std::tuple<>()));
  });
  EXPECT_NE(error.find("a message of rank 0"), std::string::npos) << error;
  EXPECT_NE(error.find("an insertion by a worker that does not exist"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
