// SPDX-License-Identifier: Apache-2.0
#include "launch/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace {

using starling::detail::unique_fd;
using starling::launch::labelled_stream;
using starling::launch::sink;

TEST(labelled_stream, takes_the_remaining_output_of_a_writer_that_does_not_stop) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const unique_fd in(ends[1]);
  sink to(1);  // never written to
  labelled_stream stream(unique_fd{ends[0]}, 3, to);
  ASSERT_EQ(::write(in.get(), "abc\n", 4), 4);
  std::atomic<bool> over = false;
  ::signal(SIGPIPE, SIG_IGN);
  std::thread writer([&] {
    const std::string much(1 << 12, '\n');
    while (!over) (void)!::write(in.get(), much.data(), much.size());
  });
  stream.read_the_rest();
  over = true;
  writer.join();
  EXPECT_EQ(stream.fd(), -1);
  EXPECT_FALSE(to.is_empty());
}

}  // namespace
