// SPDX-License-Identifier: Apache-2.0
// Which shared memory counts as left behind: it has a name, and no living process uses it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "../../benchmarks/common/shared_memory.hpp"

namespace {

using starling::bench::unused_shared_memory;

TEST(unused_shared_memory, lists_a_file_exactly_while_no_process_maps_it) {
  const std::string name = "starling_test_" + std::to_string(::getpid());
  const int file = ::shm_open(("/" + name).c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  const std::size_t size = 4096;
  ASSERT_EQ(::ftruncate(file, size), 0);
  EXPECT_TRUE(unused_shared_memory().contains(name));

  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::close(file);
  EXPECT_FALSE(unused_shared_memory().contains(name));

  ASSERT_EQ(::munmap(mapped, size), 0);
  EXPECT_TRUE(unused_shared_memory().contains(name));
  ASSERT_EQ(::shm_unlink(("/" + name).c_str()), 0);
  EXPECT_FALSE(unused_shared_memory().contains(name));
}

TEST(unused_shared_memory, lists_a_segment_exactly_while_no_process_has_it_attached) {
  const int segment = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  ASSERT_GE(segment, 0);
  const std::string name = "segment " + std::to_string(segment);
  EXPECT_TRUE(unused_shared_memory().contains(name));

  void* const attached = ::shmat(segment, nullptr, 0);
  EXPECT_FALSE(unused_shared_memory().contains(name));

  ASSERT_EQ(::shmdt(attached), 0);
  EXPECT_TRUE(unused_shared_memory().contains(name));
  ASSERT_EQ(::shmctl(segment, IPC_RMID, nullptr), 0);
  EXPECT_FALSE(unused_shared_memory().contains(name));
}

}  // namespace
