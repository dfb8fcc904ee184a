// SPDX-License-Identifier: Apache-2.0
// Shared code of the tests of resident programs: programs of chosen sizes, run by a task.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/resident.hpp>

#include "core/support.hpp"
#include "objects/cluster.hpp"

namespace starling_test {

namespace resident = starling::resident;
using resident::entry;
using starling::runtime;
using starling::task;

/// Sizes with which each test of the protocol runs, including the smallest possible sizes.
struct machine {
  std::string name;
  resident::options options;
};

/// Returns the number of CUDA devices, if the tests are compiled for CUDA.
inline std::size_t cuda_devices() {
  runtime rt(options_with(1));
  starling::device_set& all = starling::devices(rt);
  return all.backend() == starling::backend_kind::cuda ? all.count() : 0;
}

/// Returns machines whose groups have several blocks, on the host.
inline std::vector<machine> wide_hosts() {
  using enum resident::granularity;
  return {
      {"clusters_of_two",
       {.devices = 2, .schedulers = 2, .granularity = cluster, .group_blocks = 2}},
      {"clusters_of_two_by_three",
       {.schedulers = 2, .threads = 3, .granularity = cluster, .group_blocks = 2}},
      {"clusters_of_four_with_rings_of_one",
       {.schedulers = 2, .granularity = cluster, .group_blocks = 4, .ring_slots = 1, .blocks = 1}},
      {"whole_devices_as_schedulers",
       {.devices = 2, .schedulers = 1, .threads = 2, .granularity = device, .group_blocks = 3}},
      {"two_ranks_of_clusters", {.ranks = 2, .schedulers = 1, .granularity = cluster}}};
}
/// Returns such machines on GPUs, for programs compiled for these groups: see wide_programs.cu.
inline std::vector<machine> wide_gpus() {
  using enum resident::granularity;
  std::vector<machine> all;
  const std::size_t gpus = cuda_devices();
  constexpr auto gpu = resident::place::device;
  if (gpus >= 1) {
    for (const std::uint32_t n : {2u, 8u})
      all.push_back({"gpu_with_clusters_of_" + std::to_string(n),
                     {.place = gpu, .schedulers = 6, .granularity = cluster, .group_blocks = n}});
    all.push_back({"gpu_with_one_cluster_of_warps",
                   {.place = gpu, .schedulers = 1, .threads = 32, .granularity = cluster}});
    all.push_back({"gpu_with_clusters_and_rings_of_one",
                   {.place = gpu, .schedulers = 6, .granularity = cluster, .ring_slots = 1}});
    all.push_back({"gpu_as_one_scheduler", {.place = gpu, .schedulers = 1, .granularity = device}});
    all.push_back(
        {"gpu_as_one_scheduler_of_three_blocks",
         {.place = gpu, .schedulers = 1, .threads = 96, .granularity = device, .group_blocks = 3}});
  }
  if (gpus >= 2)
    all.push_back({"two_gpus_as_two_schedulers",
                   {.place = gpu, .devices = 2, .schedulers = 1, .granularity = device}});
  return all;
}

/// Further machines, where tests/nvshmem is linked.
[[gnu::weak]] std::vector<machine> machines_of_nvshmem();

/// Returns machines whose groups are one block; every program is compiled for them.
inline std::vector<machine> machines_of_blocks() {
  std::vector<machine> all = {
      {"one_scheduler", {.devices = 1, .schedulers = 1}},
      {"four_schedulers", {.devices = 1, .schedulers = 4}},
      {"two_devices", {.devices = 2, .schedulers = 2}},
      {"rings_of_one", {.devices = 2, .schedulers = 2, .ring_slots = 1, .blocks = 1}},
      {"a_tree_of_three_levels", {.devices = 3, .schedulers = 5, .ring_slots = 4}},
      {"groups_of_three", {.schedulers = 2, .threads = 3}},
      {"two_ranks", {.ranks = 2, .schedulers = 3}},
      {"two_ranks_of_groups", {.ranks = 2, .schedulers = 1, .threads = 2}},
      {"two_ranks_of_two_devices_with_rings_of_one",
       {.ranks = 2, .devices = 2, .schedulers = 2, .ring_slots = 1, .blocks = 1}}};
  // See far_programs.cpp.
  constexpr auto nvshmem = resident::reach::nvshmem;
  all.push_back({"two_far_devices", {.devices = 2, .schedulers = 2, .reach = nvshmem}});
  all.push_back({"three_far_devices_with_rings_of_one",
                 {.devices = 3, .schedulers = 2, .reach = nvshmem, .ring_slots = 1, .blocks = 1}});
  all.push_back(
      {"far_groups_of_two", {.devices = 2, .schedulers = 1, .threads = 2, .reach = nvshmem}});
  all.push_back({"two_far_ranks", {.ranks = 2, .schedulers = 2, .reach = nvshmem}});
  const std::size_t gpus = cuda_devices();
  constexpr auto device = resident::place::device;
  if (gpus >= 1) {
    all.push_back({"gpu_of_one_scheduler", {.place = device, .schedulers = 1}});
    all.push_back({"gpu", {.place = device, .schedulers = 132}});
    all.push_back({"gpu_with_warps", {.place = device, .schedulers = 20, .threads = 32}});
    all.push_back({"gpu_with_rings_of_one",
                   {.place = device, .schedulers = 6, .ring_slots = 1, .blocks = 1}});
  }
  // Ranks of one process, so that both run at the same time on one device.
  if (gpus >= 1)
    all.push_back({"two_ranks_of_a_gpu", {.place = device, .ranks = 2, .schedulers = 10}});
  if (gpus >= 2) all.push_back({"two_gpus", {.place = device, .devices = 2, .schedulers = 10}});
  if (machines_of_nvshmem != nullptr)
    for (machine& m : machines_of_nvshmem()) all.push_back(std::move(m));
  return all;
}

/// Returns a number of repetitions: `few` where many threads share the cores of the host and wait
/// for each other often, in groups or for the only slot of a ring.
inline std::uint32_t times(const resident::options& o, int calm, int few) {
  const bool is_group = o.threads > 1 || o.granularity != resident::granularity::block;
  const bool is_crowded = o.place == resident::place::host && (is_group || o.ring_slots == 1);
  return static_cast<std::uint32_t>(is_crowded ? few : many(calm, few));
}

inline void PrintTo(const machine& m, std::ostream* out) { *out << m.name; }

[[nodiscard]] constexpr std::uint32_t schedulers(const resident::options& o) noexcept {
  return o.ranks * o.devices * o.schedulers;
}

/// Returns `body(rt, options)` as the task of a job's rank 0; `o` and `body` must outlive it.
template <class Body>
auto main_of(const resident::options& o, const Body& body) {
  return [&](runtime& rt) -> task<int> {
    co_await body(rt, o);
    co_return 0;
  };
}

/// Runs `body(rt, options)` to its end, as the task of a runtime, or of rank 0 of a job if the
/// program has several ranks.
template <class Body>
void run_with(resident::options o, const Body& body) {
  // On an oversubscribed host all threads of a group can be descheduled for seconds.
  if (o.place == resident::place::host) o.stall_seconds = 30;
  if (o.ranks == 1) {
    runtime rt(options_with(2));
    rt.sync_wait(body(rt, o));
    return;
  }
  cluster{static_cast<int>(o.ranks), 2}.expect(0, main_of(o, body));
}

/// Returns the text of the hang error of `body`, which awaits something that never happens.
template <class Body>
std::string hang_of(const resident::options& o, const Body& body) {
  if (o.ranks == 1) return message_of<starling::hang_error>([&] { run_with(o, body); });
  return cluster::text_of(cluster{static_cast<int>(o.ranks), 2}.run(main_of(o, body))[0]);
}

/// Ends a program after its quiescence: no message may be left.
template <class System>
task<void> expect_end_at_quiescence(System& program) {
  co_await program.quiescence();
  program.stop();
  const auto report = co_await program.ended();
  EXPECT_EQ(report.left, 0u);
}

class on_machine : public testing::TestWithParam<machine> {
 protected:
  template <class Body>
  void run(const Body& body) const {
    run_with(GetParam().options, body);
  }
};

inline std::vector<machine> joined(std::vector<machine> some, const std::vector<machine>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}
/// Machines for programs that are compiled for groups of one block only.
inline const auto machines_without_wide_gpus =
    testing::ValuesIn(joined(machines_of_blocks(), wide_hosts()));
inline const auto all_machines =
    testing::ValuesIn(joined(joined(machines_of_blocks(), wide_hosts()), wide_gpus()));
inline std::string name_of_machine(const testing::TestParamInfo<machine>& info) {
  return info.param.name;
}

/// Awaits `awaited`, which must throw an Error, and returns its text.
template <class Error, class Awaitable>
task<std::string> error_of(Awaitable awaited) {
  try {
    static_cast<void>(co_await std::move(awaited));
  } catch (const Error& e) {
    co_return std::string(e.what());
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    co_return std::string();
  }
  ADD_FAILURE() << "no exception";
  co_return std::string();
}

}  // namespace starling_test
