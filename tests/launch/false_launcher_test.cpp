// SPDX-License-Identifier: Apache-2.0
// How a rank reacts to a false launcher.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

#include <starling/net/bootstrap.hpp>

#include "net/bootstrap/local/local_session.hpp"
#include "support/scratch_folder.hpp"

namespace {

namespace wire = starling::detail::wire;
using starling::detail::local_session;
using starling::detail::unique_fd;

const wire::secret the_secret = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// Accepts a rank, reads its hello and answers with `bytes`. Returns the error of the rank's
/// `all_gather`, or "nothing".
std::string error_for_reply(const std::string& bytes) {
  const starling_test::scratch_folder folder;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.path() + "/socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const unique_fd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 1) != 0)
    throw std::runtime_error("listen");
  std::thread launcher([&] {
    const unique_fd rank(::accept(listener.get(), nullptr, nullptr));
    char hello[1000];
    (void)!::read(rank.get(), hello, sizeof hello);
    (void)!::write(rank.get(), bytes.data(), bytes.size());
    (void)::shutdown(rank.get(), SHUT_WR);
    while (::read(rank.get(), hello, sizeof hello) > 0) {
    }
  });
  std::string fault = "nothing";
  try {
    local_session session({path, the_secret, 0, 2, std::chrono::seconds(60)});
    (void)session.all_gather("a");
  } catch (const starling::bootstrap_error& e) {
    fault = e.what();
  }
  launcher.join();
  return fault;
}

TEST(a_rank, refuses_replies_that_no_launcher_sends) {
  using wire::kind;
  const std::string welcome = wire::frame(kind::welcome, "");
  const std::string all = wire::pack_gathered(0, {"a", "b"});
  EXPECT_EQ(error_for_reply(welcome + wire::frame(kind::gathered, all)), "nothing");
  std::string too_large = wire::frame(kind::gathered, all);
  too_large[11] = '\x7f';  // the most significant byte of the length
  for (const std::string& wrong :
       {std::string(100, 'x'), wire::frame(kind::gathered, all), welcome + std::string(100, 'x'),
        welcome + wire::frame(kind::hello, "a"), welcome + too_large,
        welcome + wire::frame(kind::gathered, wire::pack_gathered(1, {"a", "b"})),
        welcome + wire::frame(kind::gathered, wire::pack_gathered(0, {"a", "b", "c"})),
        welcome + wire::frame(kind::gathered, all.substr(0, all.size() - 1))})
    EXPECT_NE(error_for_reply(wrong).find("a message that cannot be read"), std::string::npos)
        << error_for_reply(wrong);
  // Truncated messages.
  const std::string half = wire::frame(kind::gathered, all).substr(0, 15);
  for (const std::string& cut : {std::string(), welcome, welcome + half})
    EXPECT_NE(error_for_reply(cut).find("the launcher has gone"), std::string::npos);
}

}  // namespace
