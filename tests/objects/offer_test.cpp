// SPDX-License-Identifier: Apache-2.0
// Memory as an argument of entry methods.
#include <algorithm>
#include <numeric>
#include <vector>

#include <starling/device.hpp>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::over_ucx;

class offers : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(of, offers,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{2, 1}, cluster{3, 2},
                                         cluster{2, 1, "refuse"}, cluster{2, 1, "stage"},
                                         cluster{3, 2, "stage"}, over_ucx({2, 2})),
                         starling_test::cluster_name);

enum class place { host, stream, borrowed };

struct trader : chare<trader> {
  trader() : m_at(devices(*runtime::current()).here().make_stream()) {}

  static int value(int first, std::size_t i) { return first + int(i); }

  /// Offers `rounds` arrays to the next element at once; returns the number received correctly.
  task<int> trade(int n, place from, place to, int rounds, std::size_t size) {
    const auto next = this_array()[(this_index() + 1) % n];
    std::vector<buffer<int>> kept;
    std::vector<channel_wait> sent;
    std::vector<future<bool>> right;
    for (int r = 0; r < rounds; ++r) {
      kept.push_back(m_at.device().allocate<int>(memory_kind::pinned, size, m_at));
      std::iota(kept.back().begin(), kept.back().end(), 100 * r);
      auto made = from == place::host ? offer(*this, next, kept.back().span())
                                      : offer(*this, next, kept.back().span(), m_at);
      sent.push_back(std::move(made.sent));
      right.push_back(next.call<&trader::take>(made.memory, 100 * r, to));
    }
    int count = 0;
    for (auto& s : sent) co_await s;
    for (auto& f : right) count += co_await std::move(f);
    co_return count;
  }
  task<bool> take(offered<int> memory, int first, place to) {
    auto into = m_at.device().allocate<int>(memory_kind::pinned, memory.size(), m_at);
    if (to == place::host) {
      co_await memory.receive(*this, into.span());
    } else if (to == place::stream) {
      co_await memory.receive(*this, into.span(), m_at);
    } else {
      const borrowed<int> lent = co_await memory.borrow(*this, m_at);
      m_at.copy(into, lent.span());
    }
    co_await m_at.completion();
    for (std::size_t i = 0; i < into.size(); ++i)
      if (into.data()[i] != value(first, i)) co_return false;
    co_return true;
  }

  task<bool> is_refused(element<trader> to, int elements) {
    const std::vector<int> values(std::size_t(elements), 1);
    auto made = offer(*this, to, std::span(values));
    auto refused = to.call<&trader::take_too_much>(made.memory);
    try {
      co_await made.sent;  // a sender on another rank may not be notified of it
    } catch (const usage_error&) {
    }
    co_return co_await std::move(refused);
  }
  task<bool> take_too_much(offered<int> memory) {
    std::vector<int> into(memory.size() + 1);
    try {
      co_await memory.receive(*this, std::span(into));
    } catch (const usage_error& e) {
      co_return std::string(e.what()).find("offer ") != std::string::npos;
    }
    co_return false;
  }

  void offer_in_vain(element<trader> to, int elements) {
    m_kept = m_at.device().allocate<int>(memory_kind::pinned, std::size_t(elements), m_at);
    static_cast<void>(offer(*this, to, m_kept.span(), m_at));
  }

 private:
  buffer<int> m_kept;
  stream m_at;
};

TEST_P(offers, are_taken_between_all_kinds_of_memory) {
  all.expect(0, [](runtime& rt) -> task<int> {
    constexpr int n = 5, rounds = 3;
    const auto traders = create_array<trader>(rt, n, placement::round_robin);
    int wrong = 0;
    for (const place from : {place::host, place::stream})
      for (const place to : {place::host, place::stream, place::borrowed})
        for (const std::size_t size : {std::size_t(1), std::size_t(500), std::size_t(200'000)}) {
          std::vector<future<int>> right;
          for (int i = 0; i < n; ++i)
            right.push_back(traders[i].call<&trader::trade>(n, from, to, rounds, size));
          for (auto& f : right) wrong += co_await std::move(f) != rounds;
        }
    co_return wrong;
  });
}

TEST_P(offers, of_another_size_are_refused) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto traders = create_array<trader>(rt, 2, placement::block);
    int wrong = 0;
    for (const int elements : {10, 100'000})
      wrong += !co_await traders[0].call<&trader::is_refused>(traders[1], elements);
    co_return wrong;
  });
}

TEST_P(offers, that_a_destroyed_chare_leaves_end_the_run) {
  for (const int elements : {10, 100'000}) {
    const auto ends = all.run([elements](runtime& rt) -> task<int> {
      const auto traders = create_array<trader>(rt, 2, placement::block);
      traders[0].invoke<&trader::offer_in_vain>(traders[1], elements);
      co_await quiescence();
      traders[1].destroy();
      co_await quiescence();
      co_return 0;
    });
    const std::string text = cluster::text_of(ends.front());
    EXPECT_NE(text.find("trader[1].channel: destroyed with a message"), std::string::npos) << text;
  }
}

/// Inserted only after offers to it have arrived.
struct late : chare<late, std::string> {
  task<int> take(std::vector<offered<int>> memory) {
    int right = 0;
    for (std::size_t k = 0; k < memory.size(); ++k) {
      std::vector<int> into(memory[k].size());
      co_await memory[k].receive(*this, std::span(into));
      right += into.front() == int(k);
    }
    co_return right;
  }
};
struct early : chare<early> {
  static constexpr int many = 800;  // of 8 KiB each: more than a window
  task<int> offer_all(chare_array<late> to) {
    std::vector<std::vector<int>> kept;
    std::vector<offered<int>> made;
    for (int k = 0; k < many; ++k) {
      kept.emplace_back(2000, k);
      made.push_back(offer(*this, to["it"], std::span(kept.back())).memory);
    }
    to.insert("it");
    to.done_inserting();
    co_return co_await to["it"].call<&late::take>(made);
  }
};
/// Places elements on the last worker of all ranks.
struct the_last {
  std::uint64_t worker = 0;
  std::size_t operator()(const std::string&) const noexcept { return worker; }
};

TEST_P(offers, to_a_missing_element_do_not_hold_up_its_insertion) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto them =
        create_sparse_array<late>(rt, the_last{std::uint64_t(total_worker_count(rt) - 1)});
    const auto from = create_array<early>(rt, 1, placement::block);
    co_return co_await from[0].call<&early::offer_all>(them) - early::many;
  });
}

TEST_P(offers, that_are_never_taken_are_a_hang) {
  for (const place to : {place::host, place::stream, place::borrowed}) {
    const auto ends = all.run([to](runtime& rt) -> task<int> {
      const auto traders = create_array<trader>(rt, 2, placement::block);
      co_await traders[1].call<&trader::take>(offered<int>(0, 77, 10), 0, to);
      co_return 0;
    });
    const std::string text =
        starling_test::message_of<hang_error>([&] { std::rethrow_exception(ends.front().error); });
    EXPECT_NE(text.find("offer 77 of rank 0 to trader[1]: receive"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace starling
