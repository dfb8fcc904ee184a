// SPDX-License-Identifier: Apache-2.0
//
// What do messages between chares of two ranks cost: entry methods with a vector of bytes, or with
// no argument? See README.md.
#include <optional>
#include <utility>
#include <vector>

#include "awaited.hpp"

namespace {

using osu::measure, osu::question;
using bytes = std::vector<std::byte>;

struct player : starling::chare<player> {
  starling::task<bool> contents(question q) {
    other().invoke<&player::prepare>(q);
    prepare(q);
    osu::fill(m_out.front(), 0);
    co_return co_await other().call<&player::is_known>(m_out.front());
  }

  starling::task<> play(question q) {
    other().invoke<&player::begin>(q);
    begin(q);
    starling::future<void> over = m_over.emplace().get_future();
    send_some();
    co_await std::move(over);
  }
  starling::task<std::uint64_t> right(question) { co_return m_right; }

  // --- from the other one
  void prepare(question q) { m_out.assign(std::size_t(q.window()), bytes(q.bytes)); }
  bool is_known(bytes data) { return osu::is_filled(data, 0); }
  void begin(question q) {
    m_question = q;
    m_right = m_came = m_sent = 0;
    if (q.what == measure::bidirectional && this_index() == 1) send_some();
  }
  void take(bytes data) {
    m_right += data.size() == m_question.bytes && osu::has_stamp(data, m_came);
    ++m_came;
    if (m_question.what == measure::latency)
      answer(std::move(data));
    else if (m_came % std::uint64_t(m_question.window()) == 0)
      end_window();
  }
  void take_nothing() { take({}); }
  void go_on() {
    if (!is_through(m_sent)) send_some();
  }
  void end(std::uint64_t right) {
    m_right += right;
    m_over->set_value();
  }

 private:
  starling::element<player> other() { return this_array()[1 - this_index()]; }
  /// Of one way.
  [[nodiscard]] bool is_through(std::uint64_t messages) const {
    return messages == std::uint64_t(m_question.rounds) * std::uint64_t(m_question.window());
  }
  void send(bytes&& data) {
    osu::stamp(data, m_sent++);
    if (data.empty())
      other().invoke<&player::take_nothing>();
    else
      other().invoke<&player::take>(std::move(data));
  }
  /// A window of vectors that stay here.
  void send_some() {
    for (bytes& data : m_out) {
      osu::stamp(data, m_sent++);
      if (data.empty())
        other().invoke<&player::take_nothing>();
      else
        other().invoke<&player::take>(data);
    }
  }
  /// What has come goes back.
  void answer(bytes data) {
    if (this_index() == 1) {
      send(std::move(data));
      if (is_through(m_came)) other().invoke<&player::end>(m_right);
    } else if (!is_through(m_came)) {
      send(std::move(data));
    }
  }
  void end_window() {
    if (m_question.what == measure::bandwidth)
      other().invoke<&player::go_on>();
    else if (!is_through(m_sent))
      send_some();
    if (is_through(m_came) && this_index() == 1) other().invoke<&player::end>(m_right);
  }

  std::vector<bytes> m_out;
  question m_question{};
  std::uint64_t m_right = 0, m_came = 0, m_sent = 0;
  std::optional<starling::promise<void>> m_over;
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run_awaited(
      "osu_starling_chares", "Messages between chares of two ranks: entry methods", argc, argv,
      [](CLI::App&, starling::runtime_options&) {},
      [](starling::runtime& rt, const osu::bench::options& chosen, osu::bench::report& out) {
        return osu::ask<player>(rt, chosen, out);
      });
}
