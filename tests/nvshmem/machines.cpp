// SPDX-License-Identifier: Apache-2.0
// What the tests of resident programs run on besides where they are linked with NVSHMEM.
#include "resident/support.hpp"

namespace starling_test {

std::vector<machine> machines_of_nvshmem() {
  constexpr auto device = resident::place::device;
  constexpr auto nvshmem = resident::reach::nvshmem;
  if (cuda_devices() == 0) return {};
  // Ranks of one process are one PE, which reaches its own memory as it would another's.
  return {{"nvshmem_between_two_ranks_of_a_gpu",
           {.place = device, .ranks = 2, .schedulers = 10, .reach = nvshmem}},
          {"nvshmem_with_rings_of_one",
           {.place = device,
            .ranks = 2,
            .schedulers = 3,
            .reach = nvshmem,
            .ring_slots = 1,
            .blocks = 1}},
          {"nvshmem_with_one_rank", {.place = device, .schedulers = 4, .reach = nvshmem}}};
}

}  // namespace starling_test
