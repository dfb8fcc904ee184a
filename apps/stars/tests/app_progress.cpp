// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <starling/core/error.hpp>

#include "driver/memory.hpp"
#include "driver/progress.hpp"

namespace stars {
namespace {

TEST(progress, is_measured_by_steps_or_time_whichever_ends_first) {
  EXPECT_EQ((run_goal{20, 0.0}).done(5, 99.0), 0.25);
  EXPECT_EQ((run_goal{0, 2.0}).done(5, 1.0), 0.5);
  EXPECT_EQ((run_goal{20, 2.0}).done(5, 1.0), 0.5);
  EXPECT_EQ((run_goal{20, 2.0}).done(40, 1.0), 1.0);
}

TEST(progress, after_a_restart_does_not_count_the_steps_before_it) {
  // One of 100 steps takes ten seconds: from the beginning, and from step 90 on.
  EXPECT_NEAR(run_goal::seconds_left(10.0, 0.0, 0.01), 990.0, 1e-9);
  EXPECT_NEAR(run_goal::seconds_left(10.0, 0.90, 0.91), 90.0, 1e-9);
  EXPECT_EQ(run_goal::seconds_left(10.0, 0.9, 0.9), 0.0);
}

TEST(memory, holds_five_states_when_staged_and_more_when_resident_on_the_host) {
  const double state = 512.0 * 15 * sizeof(double) * 8;
  EXPECT_EQ(memory_needed(1, residency::staged, true, 1), 5 * state);
  EXPECT_EQ(memory_needed(1, residency::staged, false, 1), 5 * state);
  EXPECT_EQ(memory_needed(1, residency::staged, true, 4), 1.25 * state);
  const double on_device = memory_needed(1, residency::resident, false, 1);
  EXPECT_EQ(on_device, 4 * state);
  EXPECT_GT(memory_needed(1, residency::resident, true, 1), on_device + 3 * state);
}

TEST(memory, that_does_not_suffice_is_an_error_with_level_bytes_and_remedy) {
  EXPECT_NO_THROW(require_memory(3, 100.0, 100.0));
  try {
    require_memory(4, 3e9, 1 << 30);
    FAIL() << "no exception";
  } catch (const starling::option_error& error) {
    EXPECT_STREQ(error.what(),
                 "--level 4: 128³ cells need 2.79 GiB of memory, and this process can have 1 GiB; "
                 "choose a lower level or a machine with more memory");
  }
}

TEST(memory, of_this_process_is_known) { EXPECT_GT(memory_available(), 1e6); }

}  // namespace
}  // namespace stars
