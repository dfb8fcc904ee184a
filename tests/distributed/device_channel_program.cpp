// SPDX-License-Identifier: Apache-2.0
// Channels between devices of several ranks, in a ring, with every way to send and to receive:
//     test_device_channel [spoil] [--starling-backend cuda …]
// The exit code is the number of arrays that arrived with wrong contents, at most 100.
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

namespace {

using starling::buffer;
using starling::memory_kind;
using starling::runtime;
using starling::task;

bool spoils = false;  // corrupts the sent values, to show that the check detects it

enum class source { host, device, posted };
enum class target { host, device, borrowed };

struct member : starling::chare<member> {
  explicit member(int n)
      : m_at(starling::devices(*runtime::current()).here().make_stream()),
        // Distinguished by the sender's index: with two members both channels have the same peer.
        m_next(*this, this_array()[(this_index() + 1) % n], this_index()),
        m_before(*this, this_array()[(this_index() + n - 1) % n], (this_index() + n - 1) % n) {}

  static int element(int round, std::size_t i) { return round * 7919 + int(i); }

  task<> send(source from, int rounds, std::size_t n) {
    starling::device& d = m_at.device();
    for (int r = 0; r < rounds; ++r) {
      auto values = d.allocate<int>(memory_kind::pinned, n, m_at);
      for (std::size_t i = 0; i < n; ++i) values.data()[i] = element(r, i);
      if (spoils) ++values.data()[n - 1];
      if (from == source::host) {
        co_await m_next.send(values.span());
        continue;
      }
      auto there = d.allocate<int>(memory_kind::device, n, m_at);
      m_at.copy(there, values);
      if (from == source::posted) {
        m_next.post(there.span(), m_at);
        m_kept.push_back(std::move(there));  // until all receivers have read it
        m_pinned.push_back(std::move(values));
      } else {
        co_await m_next.send(there.span(), m_at);
        m_at.fill(there.span(), -1);  // allowed, since the send is complete
        co_await m_at.completion();
      }
    }
  }

  task<int> receive(target to, int rounds, std::size_t n) {
    starling::device& d = m_at.device();
    int wrong = 0;
    for (int r = 0; r < rounds; ++r) {
      auto values = d.allocate<int>(memory_kind::pinned, n, m_at);
      if (to == target::host) {
        co_await m_before.receive(values.span());
      } else if (to == target::borrowed) {
        const starling::borrowed<int> lent = co_await m_before.borrow(m_at, n);
        m_at.copy(values, lent.span());
      } else {
        auto here = d.allocate<int>(memory_kind::device, n, m_at);
        co_await m_before.receive(here.span(), m_at);
        m_at.copy(values, here);
      }
      co_await m_at.completion();
      for (std::size_t i = 0; i < n; ++i)
        if (values.data()[i] != element(r, i)) {
          ++wrong;
          break;
        }
    }
    co_return wrong;
  }
  void forget() {
    m_kept.clear();
    m_pinned.clear();
  }

 private:
  starling::stream m_at;
  starling::chare_channel<int> m_next, m_before;
  std::vector<buffer<int>> m_kept, m_pinned;
};

task<int> lead(runtime& rt) {
  constexpr int rounds = 3;
  const int n = std::max(starling::rank_count(), 2);
  const auto ring = starling::create_array<member>(rt, n, starling::placement::block, n);
  int wrong = 0;
  for (const source from : {source::host, source::device, source::posted})
    for (const target to : {target::host, target::device, target::borrowed})
      for (const std::size_t size : {1u, 300u, 20'000u, 1'100'000u}) {
        if (from == source::posted && to == target::host) continue;  // the receiver needs a stream
        std::vector<starling::future<>> sent;
        std::vector<starling::future<int>> received;
        for (int i = 0; i < n; ++i) {
          received.push_back(ring[i].call<&member::receive>(to, rounds, size));
          sent.push_back(ring[i].call<&member::send>(from, rounds, size));
        }
        for (auto& f : received) wrong += co_await std::move(f);
        for (auto& f : sent) co_await std::move(f);
        for (int i = 0; i < n; ++i) co_await ring[i].call<&member::forget>();
      }
  std::printf("%d arrays came wrong\n", wrong);
  co_return std::min(wrong, 100);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    runtime rt(argc, argv);
    spoils = argc > 1 && argv[1] == std::string_view("spoil");
    return starling::run(rt, lead(rt));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "test_device_channel: %s\n", e.what());
    return 1;
  }
}
