// SPDX-License-Identifier: Apache-2.0
// Attacks on a rank: by a program that has the rank's address but is no rank of the job, and by a
// rank that sends invalid data. The attackers use UCX directly.
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "net/transports.hpp"
#include "net/ucx/wire_header.hpp"

namespace {

using namespace starling_test;
using starling::message;
using starling::detail::wire_header;

/// Keeps the values that the ranks gather: each rank's address and the key of the job.
class overheard_bootstrap final : public starling::bootstrap {
 public:
  overheard_bootstrap(thread_group& group, int rank, int size) : m_inner(group, rank, size) {}
  int rank() const noexcept override { return m_inner.rank(); }
  int size() const noexcept override { return m_inner.size(); }
  int local_rank() const noexcept override { return m_inner.local_rank(); }
  int local_size() const noexcept override { return m_inner.local_size(); }
  const char* name() const noexcept override { return m_inner.name(); }
  std::vector<std::string> all_gather(const std::string& mine) override {
    m_rounds.push_back(m_inner.all_gather(mine));
    return m_rounds.back();
  }
  void abort(int, const std::string&) noexcept override {}

  [[nodiscard]] std::string address_of(int rank) const { return m_rounds.at(1).at(rank); }
  [[nodiscard]] starling::detail::siphash_key key() const {
    std::istringstream words(m_rounds.at(2).at(0));
    std::string near, far;
    starling::detail::siphash_key key{};
    words >> near >> far >> key[0] >> key[1];
    return key;
  }

 private:
  thread_bootstrap m_inner;
  std::vector<std::vector<std::string>> m_rounds;
};

/// A program that connects to a rank by UCX alone.
class unauthenticated_peer {
 public:
  explicit unauthenticated_peer(const std::string& address) {
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = UCP_FEATURE_AM | UCP_FEATURE_TAG;
    check(ucp_init(&wanted, nullptr, &m_context));
    ucp_worker_params_t how{};
    check(ucp_worker_create(m_context, &how, &m_worker));
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address = reinterpret_cast<const ucp_address_t*>(address.data());
    check(ucp_ep_create(m_worker, &to, &m_endpoint));
  }
  unauthenticated_peer(const unauthenticated_peer&) = delete;
  unauthenticated_peer& operator=(const unauthenticated_peer&) = delete;
  ~unauthenticated_peer() {
    ucp_worker_destroy(m_worker);
    ucp_cleanup(m_context);
  }

  void send(unsigned id, std::string header, std::string data, unsigned flags = 0) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = flags;
    begin(std::move(header), std::move(data), [&](const std::string& h, const std::string& d) {
      return ucp_am_send_nbx(m_endpoint, id, h.data(), h.size(), d.data(), d.size(), &how);
    });
  }
  void send_tagged(std::uint64_t tag, std::string data) {
    ucp_request_param_t how{};
    begin("", std::move(data), [&](const std::string&, const std::string& d) {
      return ucp_tag_send_nbx(m_endpoint, d.data(), d.size(), tag, &how);
    });
  }
  /// Makes progress. True: all sends have completed, with or without an error of the receiver.
  bool progress() {
    while (ucp_worker_progress(m_worker) != 0) {
    }
    std::erase_if(m_requests, [](void* r) {
      if (ucp_request_check_status(r) == UCS_INPROGRESS) return false;
      ucp_request_free(r);
      return true;
    });
    return m_requests.empty();
  }

 private:
  static void check(ucs_status_t s) {
    if (s != UCS_OK) throw std::runtime_error(ucs_status_string(s));
  }
  template <class Begin>
  void begin(std::string header, std::string data, const Begin& start) {
    m_memory.push_back(std::move(header));
    const std::string& h = m_memory.back();
    m_memory.push_back(std::move(data));
    const ucs_status_ptr_t r = start(h, m_memory.back());
    if (UCS_PTR_IS_PTR(r)) m_requests.push_back(r);
  }
  std::deque<std::string> m_memory;  // until the end
  std::vector<void*> m_requests;
  ucp_context_h m_context = nullptr;
  ucp_worker_h m_worker = nullptr;
  ucp_ep_h m_endpoint = nullptr;
};

std::string text_of(const wire_header& h) { return {reinterpret_cast<const char*>(&h), sizeof h}; }

/// Two ranks as threads of the test; `attack` runs against rank 0 while both are connected.
class ranks_and_unauthenticated_peers : public with_ranks {
 protected:
  void SetUp() override {
    ::setenv("UCX_TLS", "tcp,self", 1);  // as between hosts
    with_ranks::SetUp();
  }
  void TearDown() override { ::unsetenv("UCX_TLS"); }
  using attack = std::function<void(transport& victim, const overheard_bootstrap& known)>;
  void run_with(
      const attack& befalls,
      const std::function<void(transport&)>& other = [](transport& t) { t.finish(); }) {
    thread_group group(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        overheard_bootstrap ranks(group, rank, 2);
        try {
          const auto t = make_transport(ranks, transport_kind::ucx);
          if (rank == 0)
            befalls(*t, ranks);
          else
            other(*t);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "rank " << rank << ": " << e.what();
        }
      });
    for (std::thread& t : threads) t.join();
  }
  static void drive_both(transport& t, unauthenticated_peer& s) {
    while (!s.progress())
      if (!t.progress()) std::this_thread::yield();
    while (t.progress()) {
    }
  }
};
INSTANTIATE_TEST_SUITE_P(ucx, ranks_and_unauthenticated_peers,
                         testing::Values(setting{transport_kind::ucx, 2}), name_of);

/// Counts messages, and keeps the last one.
struct recorder {
  static void take(void* self, int, message m) noexcept {
    auto& r = *static_cast<recorder*>(self);
    ++r.count;
    r.last.assign(reinterpret_cast<const char*>(m.data()), m.size());
  }
  int count = 0;
  std::string last;
};

TEST_P(ranks_and_unauthenticated_peers, share_no_handlers) {
  recorder heard;
  std::atomic<bool> is_attacked{false};
  run_with(
      [&](transport& victim, const overheard_bootstrap& known) {
        victim.set_handler(3, &recorder::take, &heard);
        unauthenticated_peer s(known.address_of(0));
        testing::internal::CaptureStderr();
        // Like a rank, but without the code: in one piece, in two, to be fetched, and cut off.
        for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{0x53544c31}}) {
          const std::string header = text_of({code, 1, 3, 0, 0});
          s.send(1, "", header + "small", UCP_AM_SEND_FLAG_EAGER);
          s.send(1, header, "two pieces");
          s.send(1, header, std::string(4 << 20, 'x'), UCP_AM_SEND_FLAG_RNDV);
          s.send(1, "", header.substr(0, 7), UCP_AM_SEND_FLAG_EAGER);
          s.send(1, "", "");
        }
        drive_both(victim, s);
        EXPECT_EQ(heard.count, 0);
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;  // for all of them
        EXPECT_NE(said.find("a program that is no rank of this job"), std::string::npos) << said;
        is_attacked.store(true);
        // The rank itself is heard, at the position that the unauthenticated peer has claimed.
        drive(victim, [&] { return heard.count == 1; });
        EXPECT_EQ(heard.last, "of rank 1");
        victim.finish();
      },
      [&](transport& t) {
        drive(t, [&] { return is_attacked.load(); });
        message m(9);
        std::memcpy(m.data(), "of rank 1", 9);
        t.send(0, 3, std::move(m));
        t.finish();
      });
}

TEST_P(ranks_and_unauthenticated_peers, share_no_memory) {
  constexpr std::uint64_t tag = 5;
  std::atomic<bool> is_attacked{false};
  run_with(
      [&](transport& victim, const overheard_bootstrap& known) {
        std::vector<double> memory(4);
        counted_transfer wanted(1, tag, memory);
        victim.start_receive(wanted);
        unauthenticated_peer s(known.address_of(0));
        for (const std::uint64_t from : {0, 1})
          s.send_tagged(from * transfer::tag_limit | tag, std::string(32, 'x'));
        // A message to be fetched completes only after the victim has dropped it.
        s.send_tagged(std::uint64_t{1} * transfer::tag_limit | tag, std::string(8 << 20, 'x'));
        drive_both(victim, s);
        EXPECT_FALSE(wanted.is_over.load());
        is_attacked.store(true);
        drive(victim, [&] { return wanted.is_over.load(); });
        EXPECT_EQ(wanted.error, nullptr);
        EXPECT_EQ(memory, std::vector<double>(4, 7.0));
        victim.finish();
      },
      [&](transport& t) {
        drive(t, [&] { return is_attacked.load(); });
        std::vector<double> memory(4, 7.0);
        counted_transfer given(0, tag, memory);
        t.start_send(given);
        drive(t, [&] { return given.is_over.load(); });
        t.finish();
      });
}

/// Rank 0's error about rank 1, in whose name this header arrives.
class a_forged_header : public ranks_and_unauthenticated_peers {
 protected:
  std::string verdict_on(wire_header h) {
    std::string said;
    std::atomic<bool> is_told{false};
    run_with(
        [&](transport& victim, const overheard_bootstrap& known) {
          victim.set_failure_handler(
              [](void* into, const starling::rank_failure& what) noexcept {
                EXPECT_EQ(what.rank(), 1);
                *static_cast<std::string*>(into) = what.what();
              },
              &said);
          h.code = starling::detail::message_code(known.key(), 1, 0);
          unauthenticated_peer s(known.address_of(0));
          s.send(1, "", text_of(h), UCP_AM_SEND_FLAG_EAGER);
          s.send(1, "", text_of(h), UCP_AM_SEND_FLAG_EAGER);
          drive(victim, [&] {
            static_cast<void>(s.progress());
            return !said.empty();
          });
          is_told.store(true);
        },
        [&](transport& t) { drive(t, [&] { return is_told.load(); }); });
    return said;
  }
};
INSTANTIATE_TEST_SUITE_P(ucx, a_forged_header, testing::Values(setting{transport_kind::ucx, 2}),
                         name_of);

TEST_P(a_forged_header, with_more_credits_than_were_used_names_its_sender) {
  for (const std::uint64_t credits :
       {std::uint64_t{1}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const std::string said = verdict_on({0, 1, 3, 0, credits});
    EXPECT_NE(said.find("rank 1 (process "), std::string::npos) << said;
    EXPECT_NE(said.find("it has destroyed more messages than it was sent"), std::string::npos)
        << said;
  }
}

TEST_P(a_forged_header, with_a_position_that_has_passed_names_its_sender) {
  const std::string said = verdict_on({0, 1, 3, 0, 0});
  EXPECT_NE(said.find("a message came twice"), std::string::npos) << said;
}

}  // namespace
