// SPDX-License-Identifier: Apache-2.0
// Requests of `starling resize` to a launcher.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/net/bootstrap.hpp>

#include "launch/control.hpp"
#include "launch/resize_command.hpp"
#include "launch/stop_request.hpp"
#include "support/scratch_folder.hpp"

namespace {

using starling::detail::change_state;
using starling::detail::stop_state;
using starling::detail::stop_word;
using starling::detail::unique_fd;
using starling::launch::control;
using starling::launch::control_address;
using starling::launch::resize_request;
using starling::launch::stop_request;

struct recorded_events : starling::launch::control_events {
  void resize_requested(const resize_request& wanted) override { requests.push_back(wanted); }
  void requester_left() override { ++left; }
  std::vector<resize_request> requests;
  int left = 0;
};

class control_socket : public testing::Test {
 protected:
  // This process stands for a launcher.
  std::optional<control> server{std::in_place, ::getpid()};
  recorded_events events;

  unique_fd connect() const {
    const control_address of(::geteuid(), ::getpid());
    unique_fd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(made.get(), reinterpret_cast<const sockaddr*>(&of.address), of.length), 0);
    return made;
  }
  unique_fd client(const std::string& packet) {
    unique_fd made = connect();
    EXPECT_EQ(::send(made.get(), packet.data(), packet.size(), 0), ssize_t(packet.size()));
    serve();
    return made;
  }
  /// Serves what has arrived.
  void serve() {
    for (;;) {
      std::vector<pollfd> polled;
      server->wants(polled);
      if (::poll(polled.data(), polled.size(), 0) == 0) return;
      server->serve(polled, events);
    }
  }
  /// Returns the answer; empty: the connection was closed without one.
  static std::string answer(const unique_fd& to) {
    char text[1000];
    const ssize_t count = ::recv(to.get(), text, sizeof text, MSG_DONTWAIT);
    return count > 0 ? std::string(text, std::size_t(count)) : count == 0 ? "" : "none yet";
  }
};

TEST_F(control_socket, takes_one_request_at_a_time) {
  EXPECT_EQ(server->fault(), "");
  const unique_fd first = client(pack(resize_request{4, 2.5}));
  ASSERT_EQ(events.requests.size(), 1U);
  EXPECT_EQ(events.requests[0].ranks, 4);
  EXPECT_EQ(events.requests[0].within, 2.5);
  EXPECT_EQ(answer(first), "none yet");
  const unique_fd second = client(pack(resize_request{5, 1}));
  EXPECT_EQ(answer(second), "-it is being resized already");
  server->answer(true, "done");
  EXPECT_EQ(answer(first), "+done");
  EXPECT_EQ(events.left, 0);
  const unique_fd third = client(pack(resize_request{6, 1}));
  EXPECT_EQ(events.requests.size(), 2U);
  server.reset();
  EXPECT_EQ(answer(third), "-the job has ended before it could be resized");
}

TEST_F(control_socket, reports_a_client_that_leaves) {
  {
    const unique_fd one = client(pack(resize_request{4, 1}));
    EXPECT_EQ(events.requests.size(), 1U);
  }
  serve();
  EXPECT_EQ(events.left, 1);
  server->answer(true, "nobody hears it");
  { const unique_fd silent = connect(); }
  serve();
  EXPECT_EQ(events.left, 1);
  const unique_fd next = client(pack(resize_request{5, 1}));
  EXPECT_EQ(events.requests.size(), 2U);
}

TEST_F(control_socket, refuses_other_bytes) {
  for (const std::string& wrong :
       {std::string("x"), std::string(3000, 'x'), std::string("starling-resize-1"),
        std::string("starling-resize-1 4"), std::string("starling-resize-1 0 5"),
        std::string("starling-resize-1 1025 5"), std::string("starling-resize-1 4 -1"),
        std::string("starling-resize-1 4 nan"), std::string("starling-resize-1 4 1e300"),
        std::string("starling-resize-1 4 5 6"), std::string("starling-resize-2 4 5")}) {
    const unique_fd one = client(wrong);
    EXPECT_EQ(answer(one), "-its launcher is of another version of Starling") << wrong;
  }
  EXPECT_TRUE(events.requests.empty());
}

TEST_F(control_socket, outlives_many_silent_clients) {
  std::vector<unique_fd> silent;
  for (int i = 0; i < 30; ++i) {
    silent.push_back(connect());
    serve();
  }
  const unique_fd one = client(pack(resize_request{4, 1}));
  EXPECT_EQ(events.requests.size(), 1U);
  EXPECT_EQ(answer(silent.front()), "");
  EXPECT_EQ(answer(silent.back()), "none yet");
}

TEST_F(control_socket, is_in_the_list_of_the_system_while_it_listens) {
  const auto is_listed = [] {
    std::ifstream sockets("/proc/net/unix");
    const auto found = starling::launch::launchers_in(sockets, ::geteuid());
    return std::ranges::count(found, ::getpid()) == 1;
  };
  const unique_fd one = connect();
  serve();
  EXPECT_TRUE(is_listed());
  const control other(::getpid());
  EXPECT_NE(other.fault(), "");  // the name is in use
  server.reset();
  EXPECT_FALSE(is_listed());
}

TEST(launchers_of_a_user, are_found_by_the_names_of_sockets) {
  std::istringstream sockets(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "000000004021c1ee: 00000002 00000000 00000000 0001 03 1969\n"
      "00000000c40f4023: 00000002 00000000 00010000 0005 01 1970 @starling-launch-7-300\n"
      "00000000c40f4024: 00000003 00000000 00000000 0005 03 1971 @starling-launch-7-300\n"
      "00000000c40f4025: 00000002 00000000 00010000 0005 01 1972 @starling-launch-77-301\n"
      "00000000c40f4026: 00000002 00000000 00010000 0005 01 1973 @starling-launch-7-12\n"
      "00000000c40f4027: 00000002 00000000 00010000 0001 01 1974 /tmp/starling-launch-7-13\n"
      "00000000c40f4028: 00000002 00000000 00010000 0001 01 1975 @starling-launch-7-\n"
      "00000000c40f4029: 00000002 00000000 00010000 0001 01 1976 @starling-launch-7-1x\n"
      "00000000c40f402a: 00000002 00000000 00010000 0001 01 1977 @starling-launch-7--5\n"
      "nonsense\n\n");
  EXPECT_EQ(starling::launch::launchers_in(sockets, 7), (std::vector<pid_t>{12, 300}));
  std::istringstream none("");
  EXPECT_TRUE(starling::launch::launchers_in(none, 7).empty());
}

/// Maps the file as rank 0 does.
stop_word* map(const std::string& path) {
  const unique_fd file(::open(path.c_str(), O_RDWR));
  void* const shared =
      ::mmap(nullptr, sizeof(stop_word), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return shared == MAP_FAILED ? nullptr : static_cast<stop_word*>(shared);
}

TEST(request_to_stop, is_withdrawn_before_or_carried_out_but_never_both) {
  const starling_test::scratch_folder folder;
  stop_request request(folder.path() + "/requests");
  EXPECT_THROW(stop_request(folder.path() + "/requests"), starling::bootstrap_error);
  EXPECT_THROW(stop_request(folder.path() + "/none/requests"), starling::bootstrap_error);
  EXPECT_FALSE(request.has_checkpoints());
  EXPECT_EQ(request.signal(), 0);
  EXPECT_EQ(request.state(), stop_state::none);
  request.make();
  EXPECT_EQ(request.state(), stop_state::wanted);
  EXPECT_TRUE(request.withdraw());
  EXPECT_EQ(request.state(), stop_state::none);
  EXPECT_TRUE(request.withdraw());

  stop_word* const rank = map(folder.path() + "/requests");
  ASSERT_NE(rank, nullptr);
  EXPECT_EQ(rank->mark, stop_word::expected_mark);
  rank->signal = 10;
  EXPECT_EQ(request.signal(), 0);  // not published
  rank->has_checkpoints = 1;
  EXPECT_TRUE(request.has_checkpoints());
  EXPECT_EQ(request.signal(), 10);
  EXPECT_FALSE(change_state(*rank, stop_state::wanted, stop_state::accepted));
  request.make();
  EXPECT_TRUE(change_state(*rank, stop_state::wanted, stop_state::accepted));
  EXPECT_FALSE(request.withdraw());
  request.make();
  EXPECT_EQ(request.state(), stop_state::accepted);
  EXPECT_TRUE(change_state(*rank, stop_state::accepted, stop_state::failed));
  request.make();  // once more
  EXPECT_EQ(request.state(), stop_state::wanted);
  EXPECT_TRUE(change_state(*rank, stop_state::wanted, stop_state::accepted));
  rank->number = 12;
  rank->by_signal = 1;
  EXPECT_TRUE(change_state(*rank, stop_state::accepted, stop_state::stopped));
  EXPECT_FALSE(request.withdraw());
  request.make();
  EXPECT_EQ(request.state(), stop_state::stopped);
  EXPECT_EQ(request.number(), 12U);
  EXPECT_TRUE(request.is_by_signal());
  ::munmap(rank, sizeof(stop_word));
}

}  // namespace
