// SPDX-License-Identifier: Apache-2.0
// Elements that send each other numbered data on channels, for tests of migration.
#pragma once

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

namespace starling_test {

using namespace starling;

/// Returns the data that are sent as number `n`: a few values, or more than a message takes along.
inline std::vector<int> data_of(int n) {
  std::vector<int> values(n % 5 == 4 ? 3000 : 40);
  std::iota(values.begin(), values.end(), n * 10'000);
  return values;
}

/// One of two elements that send each other numbered data of all kinds of memory.
struct pal : chare<pal> {
  pal() { connect(); }
  explicit pal(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_channel, m_heard, m_given, m_taken, m_migrations);
  }
  void connect() { m_channel = {*this, this_array()[this_index() ^ 1]}; }
  void disconnect() { m_channel = {}; }

  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }
  int migrations() const { return m_migrations; }
  void after_migration() { ++m_migrations; }

  /// Sends the next `count` numbers, by turns from host memory and from that of a stream.
  void give(int count) {
    for (int i = 0; i < count; ++i) {
      const int n = m_given++;
      const std::vector<int>& values = m_kept.emplace_back(data_of(n));
      if (n % 2 == 0) {
        m_channel.post(values);
        continue;
      }
      auto& memory = m_memory.emplace_back(
          at().device().allocate<int>(memory_kind::pinned, values.size(), at()));
      at().copy(memory, values);
      m_channel.post(memory.span(), at());
    }
  }
  /// Receives `count` numbers, by turns into host memory, in the order of a stream, and borrowed.
  task<> take(int count) {
    for (int i = 0; i < count; ++i) {
      const int n = m_taken++;
      const int way = n % 3;
      m_heard.resize(std::size_t(m_taken));
      std::vector<int> values(data_of(n).size());
      if (way == 0) {
        co_await m_channel.receive(values);
      } else if (way == 1) {
        co_await m_channel.receive(values, at());
        co_await at().completion();
      } else {
        const borrowed<int> lent = co_await m_channel.borrow(at(), values.size());
        at().copy(values, lent.span());
        co_await at().completion();
      }
      m_heard[std::size_t(n)] = values;
    }
  }
  /// Whether the data received are those of the numbers from 0 to `count` − 1, in order.
  bool has_all_in_order(int count) const {
    if (m_heard.size() != std::size_t(count)) return false;
    for (int n = 0; n < count; ++n)
      if (m_heard[std::size_t(n)] != data_of(n)) return false;
    return true;
  }
  std::string heard() const {
    std::string text;
    for (const auto& values : m_heard)
      text += (values.empty() ? "-" : std::to_string(values[0] / 10'000)) + " ";
    return text;
  }

  void begin_send() {
    m_kept.push_back(data_of(m_given++));
    m_begun.emplace(m_channel.send(m_kept.back()));
  }
  void begin_receive() {
    m_kept.emplace_back(data_of(0).size());
    m_begun.emplace(m_channel.receive(m_kept.back()));
  }
  task<> end_receive() {
    co_await *std::exchange(m_begun, std::nullopt);
    m_heard.push_back(m_kept.back());
  }
  task<bool> is_cancelled() {
    std::vector<int> values(1);
    try {
      co_await m_channel.receive(values);
    } catch (const operation_cancelled&) {
      co_return true;
    }
    co_return false;
  }
  task<> begin_offer(element<pal> to) {
    m_kept.push_back(data_of(m_given++));
    auto offered = offer(*this, to, std::span(m_kept.back()));
    to.invoke<&pal::take_offer>(m_given - 1, offered.memory);
    co_await std::move(offered.sent);
  }
  task<> take_offer(int n, offered<int> memory) {
    std::vector<int> values(memory.size());
    co_await memory.receive(*this, std::span(values));
    m_heard.resize(std::max(m_heard.size(), std::size_t(n) + 1));
    m_heard[std::size_t(n)] = values;
  }

 private:
  stream& at() {
    if (!m_at) m_at.emplace(devices(*runtime::current()).here().make_stream());
    return *m_at;
  }
  std::optional<stream> m_at;
  std::deque<std::vector<int>> m_kept;
  std::deque<buffer<int>> m_memory;
  chare_channel<int> m_channel;
  std::optional<channel_wait> m_begun;
  std::vector<std::vector<int>> m_heard;
  int m_given = 0;
  int m_taken = 0;
  int m_migrations = 0;
};

inline task<int> place_after(chare_array<pal> a, int i, int to) {
  a[i].invoke<&pal::go>(to);
  co_await quiescence();
  co_return co_await a[i].call<&pal::place>();
}
inline task<std::string> heard_by(chare_array<pal> a, int i) {
  co_await quiescence();
  co_return co_await a[i].call<&pal::heard>();
}

}  // namespace starling_test
