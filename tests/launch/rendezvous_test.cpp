// SPDX-License-Identifier: Apache-2.0
// The launcher's side in one thread; ranks and unauthenticated connections in other threads.
#include "launch/rendezvous.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <starling/net/bootstrap.hpp>

#include "net/bootstrap/local/local_session.hpp"
#include "support/scratch_folder.hpp"

namespace {

namespace wire = starling::detail::wire;
using starling::detail::local_session;
using starling::detail::local_settings;
using starling::detail::unique_fd;

const wire::secret the_secret = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// A rendezvous that a thread of its own serves until `stop`.
class served : private starling::launch::rendezvous_events {
 public:
  explicit served(int size) : m_size(size) {
    starling::launch::rendezvous_events& events = *this;
    m_rendezvous.emplace(socket(), the_secret, size, events);
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    m_stop_in.reset(ends[0]);
    m_stop_out.reset(ends[1]);
    m_thread = std::thread([this] { serve(); });
  }
  ~served() override { stop(); }
  served(const served&) = delete;
  served& operator=(const served&) = delete;

  [[nodiscard]] std::string socket() const { return m_folder.path() + "/socket"; }
  [[nodiscard]] const std::string& folder() const { return m_folder.path(); }

  [[nodiscard]] local_settings settings(int rank) const {
    return {socket(), the_secret, rank, m_size, std::chrono::seconds(60)};
  }

  /// Makes the serving thread report that the process of `rank` has ended.
  void end_rank(int rank) const {
    const char number = static_cast<char>('0' + rank);
    (void)!::write(m_stop_out.get(), &number, 1);
  }

  /// Stops serving; returns the lines that were reported.
  const std::vector<std::string>& stop() {
    if (m_thread.joinable()) {
      m_stop_out.reset();
      m_thread.join();
    }
    return m_lines;
  }

 private:
  void refused(const std::string& line) override { m_lines.push_back(line); }
  void aborted(int rank, int exit_code, const std::string& why) override {
    m_lines.push_back("abort " + std::to_string(rank) + " " + std::to_string(exit_code) + " " +
                      why);
  }
  void exhausted(const std::string& why) override { m_lines.push_back(why); }

  void serve() {
    for (;;) {
      std::vector<pollfd> polled = {{m_stop_in.get(), POLLIN, 0}};
      m_rendezvous->wants(polled);
      ::poll(polled.data(), polled.size(), -1);
      m_rendezvous->serve(polled);
      if (polled[0].revents == 0) continue;
      m_rendezvous->serve_all();
      char number = 0;
      if (::read(m_stop_in.get(), &number, 1) != 1) return;
      m_rendezvous->rank_ended(number - '0');
    }
  }

  int m_size;
  starling_test::scratch_folder m_folder;
  std::optional<starling::launch::rendezvous> m_rendezvous;
  unique_fd m_stop_in;
  unique_fd m_stop_out;
  std::vector<std::string> m_lines;
  std::thread m_thread;
};

unique_fd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  unique_fd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    made.reset();
  }
  return made;
}

void send_all(const unique_fd& to, const std::string& bytes) {
  (void)::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// Returns all bytes that arrive until the peer closes.
std::string read_all(const unique_fd& from) {
  std::string all;
  char block[4096];
  for (ssize_t count; (count = ::recv(from.get(), block, sizeof block, 0)) > 0;) {
    all.append(block, static_cast<std::size_t>(count));
  }
  return all;
}

std::string hello(const wire::secret& secret, std::uint32_t rank, std::uint32_t size) {
  std::string body(secret.begin(), secret.end());
  wire::put_u32(body, rank);
  wire::put_u32(body, size);
  return wire::frame(wire::kind::hello, body);
}

/// Sends `bytes` over an unauthenticated connection; returns the launcher's answer.
std::string say_unauthenticated(const served& to, const std::string& bytes) {
  const unique_fd connection = connect_to(to.socket());
  send_all(connection, bytes);
  ::shutdown(connection.get(), SHUT_WR);
  return read_all(connection);
}

/// Checks that all ranks can still gather.
void expect_unharmed(const served& job, int size) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&job, rank, size] {
      local_session session(job.settings(rank));
      const auto all = session.all_gather(std::to_string(rank));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
      EXPECT_EQ(all[0], "0");
      EXPECT_EQ(all.back(), std::to_string(size - 1));
    });
  }
  for (std::thread& one : ranks) one.join();
}

bool any_contains(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(rendezvous, gathers_many_rounds_of_changing_sizes) {
  served job(4);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&job, rank] {
      local_session session(job.settings(rank));
      for (int round = 0; round < 100; ++round) {
        const auto gift = [&](int of) {
          return std::string(static_cast<std::size_t>((of * 131 + round * 997) % 5000),
                             static_cast<char>('a' + of));
        };
        const auto all = session.all_gather(gift(rank));
        for (int of = 0; of < 4; ++of) ASSERT_EQ(all.at(static_cast<std::size_t>(of)), gift(of));
      }
    });
  }
  for (std::thread& one : ranks) one.join();
  EXPECT_TRUE(job.stop().empty());
}

TEST(rendezvous, takes_messages_byte_by_byte) {
  served job(1);
  const unique_fd rank = connect_to(job.socket());
  std::string body;
  wire::put_u32(body, 0);
  body += "slow";
  for (const char byte : hello(the_secret, 0, 1) + wire::frame(wire::kind::gather, body)) {
    send_all(rank, std::string(1, byte));
  }
  ::shutdown(rank.get(), SHUT_WR);
  wire::reader answer;
  const std::string bytes = read_all(rank);
  answer.put(bytes.data(), bytes.size());
  EXPECT_EQ(answer.next(wire::to_rank(1)).value().what, wire::kind::welcome);
  const wire::message gathered = answer.next(wire::to_rank(1)).value();
  EXPECT_EQ(wire::unpack_gathered(gathered.body, 0, 1), std::vector<std::string>{"slow"});
}

TEST(rendezvous, refuses_a_wrong_secret) {
  served job(2);
  wire::secret wrong = the_secret;
  wrong[15] ^= 1;
  EXPECT_NE(say_unauthenticated(job, hello(wrong, 0, 2)).find("does not know the secret"),
            std::string::npos);
  expect_unharmed(job, 2);
  EXPECT_EQ(job.stop().size(), 1U);
}

TEST(rendezvous, refuses_a_rank_that_the_job_does_not_have) {
  served job(2);
  for (const auto& [rank, size] : {std::pair{2U, 2U}, {0U, 3U}, {0xffffffffU, 2U}, {1U, 1U}}) {
    EXPECT_NE(say_unauthenticated(job, hello(the_secret, rank, size)).find("this job has 2"),
              std::string::npos);
  }
  expect_unharmed(job, 2);
}

TEST(rendezvous, refuses_a_second_connection_of_a_rank) {
  served job(2);
  local_session first(job.settings(0));
  try {
    const local_session second(job.settings(0));
    FAIL() << "was taken";
  } catch (const starling::bootstrap_error& fault) {
    EXPECT_NE(std::string(fault.what()).find("rank 0 has connected before"), std::string::npos);
  }
  std::thread other([&] { (void)local_session(job.settings(1)).all_gather("b"); });
  EXPECT_EQ(first.all_gather("a"), (std::vector<std::string>{"a", "b"}));
  other.join();
}

TEST(rendezvous, refuses_too_large_messages_before_they_have_arrived) {
  served job(1);
  std::string header = wire::frame(wire::kind::hello, {});
  const std::uint32_t huge = 0xfffffff0;
  std::memcpy(header.data() + 8, &huge, 4);
  EXPECT_NE(say_unauthenticated(job, header).find("at most 24"), std::string::npos);
  header = hello(the_secret, 0, 1) + wire::frame(wire::kind::gather, {});
  const auto one_more = static_cast<std::uint32_t>(4 + wire::gather_limit + 1);
  std::memcpy(header.data() + header.size() - 4, &one_more, 4);
  EXPECT_NE(say_unauthenticated(job, header).find("at most 1048580"), std::string::npos);
  EXPECT_EQ(job.stop().size(), 2U);
}

TEST(rendezvous, refuses_half_a_message_and_silence) {
  served job(2);
  const std::string whole = hello(the_secret, 0, 2);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    (void)say_unauthenticated(job, whole.substr(0, length));
  }
  expect_unharmed(job, 2);
  EXPECT_EQ(job.stop().size(), whole.size());
}

TEST(rendezvous, refuses_other_versions_and_kinds) {
  served job(1);
  const auto with = [](std::size_t at, char value) {
    std::string bytes = hello(the_secret, 0, 1);
    bytes[at] = value;
    return bytes;
  };
  EXPECT_NE(say_unauthenticated(job, with(0, 'x')).find("does not begin"), std::string::npos);
  EXPECT_NE(say_unauthenticated(job, with(4, 9)).find("version 9"), std::string::npos);
  for (const char kind : {0, 2, 3, 4, 5, 6, 7, 100}) {
    EXPECT_NE(say_unauthenticated(job, with(6, kind)).find("not allowed here"), std::string::npos);
  }
  expect_unharmed(job, 1);
}

TEST(rendezvous, survives_garbage) {
  served job(2);
  std::mt19937 random(20240229);
  const std::string valid = hello(wire::secret{}, 1, 2);
  for (int trial = 0; trial < 300; ++trial) {
    std::string bytes;
    if (trial % 2 == 0) {  // noise
      bytes.resize(random() % 200);
      for (char& byte : bytes) byte = static_cast<char>(random());
    } else {  // valid messages with a few wrong bytes, truncated
      bytes = valid + valid;
      for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      bytes.resize(random() % bytes.size());
    }
    (void)say_unauthenticated(job, bytes);
  }
  expect_unharmed(job, 2);
  EXPECT_EQ(job.stop().size(), 300U);
}

TEST(rendezvous, survives_garbage_of_a_rank) {
  std::mt19937 random(42);
  for (int trial = 0; trial < 60; ++trial) {
    served job(1);
    std::string body;
    wire::put_u32(body, 0);
    body += "gift";
    std::string bytes = wire::frame(wire::kind::gather, body) +
                        wire::frame(wire::kind::missing, {}) + wire::frame(wire::kind::abort, body);
    for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)say_unauthenticated(job, hello(the_secret, 0, 1) + bytes);
  }
}

TEST(rendezvous, tolerates_many_silent_connections) {
  served job(2);
  std::vector<unique_fd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect_to(job.socket()));
  expect_unharmed(job, 2);
  EXPECT_TRUE(any_contains(job.stop(), "too many such connections"));
}

TEST(rendezvous, refuses_other_users) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  served job(1);
  ::chmod(job.folder().c_str(), 0755);
  ::chmod(job.socket().c_str(), 0777);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    const unique_fd connection = connect_to(job.socket());
    if (!connection) ::_exit(2);
    send_all(connection, hello(the_secret, 0, 1));
    ::_exit(read_all(connection).find("belongs to user 65534") != std::string::npos ? 0 : 3);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  expect_unharmed(job, 1);
  EXPECT_EQ(job.stop().size(), 1U);
}

TEST(rendezvous, passes_an_abort_on) {
  served job(2);
  local_session(job.settings(1)).abort(7, "no more water");
  EXPECT_EQ(job.stop(), std::vector<std::string>{"abort 1 7 no more water"});
}

TEST(rendezvous, notifies_waiting_ranks_of_an_ended_rank) {
  for (const bool before : {true, false}) {
    served job(2);
    local_session waiting(job.settings(0));
    if (before) job.end_rank(1);
    std::thread ends([&] {
      if (!before) job.end_rank(1);
    });
    try {
      (void)waiting.all_gather("a");
      ADD_FAILURE() << "gathered";
    } catch (const starling::bootstrap_error& fault) {
      EXPECT_NE(std::string(fault.what()).find("rank 1 has ended"), std::string::npos);
    }
    // Later calls fail in the same way.
    EXPECT_THROW((void)waiting.all_gather("a"), starling::bootstrap_error);
    ends.join();
  }
}

TEST(rendezvous, names_missing_ranks_at_the_timeout) {
  served job(3);
  local_settings hurried = job.settings(0);
  hurried.timeout = std::chrono::seconds(3);
  local_session silent(job.settings(2));
  local_session waiting(hurried);
  try {
    (void)waiting.all_gather("a");
    FAIL() << "gathered";
  } catch (const starling::bootstrap_error& fault) {
    const std::string why = fault.what();
    EXPECT_NE(why.find("rank 1 never connected; rank 2 did not come"), std::string::npos) << why;
  }
  // The rank can still end the job.
  waiting.abort(7, "gave up");
  EXPECT_EQ(job.stop(), std::vector<std::string>{"abort 0 7 gave up"});
}

TEST(rendezvous, that_disappears_is_an_error_of_the_ranks) {
  auto job = std::make_unique<served>(2);
  local_session waiting(job->settings(0));
  job.reset();
  try {
    (void)waiting.all_gather("a");
    FAIL() << "gathered";
  } catch (const starling::bootstrap_error& fault) {
    EXPECT_NE(std::string(fault.what()).find("the launcher has gone"), std::string::npos);
  }
}

}  // namespace
