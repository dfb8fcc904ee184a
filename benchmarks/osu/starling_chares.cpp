// SPDX-License-Identifier: Apache-2.0
//
// Measures messages between chares of two ranks: entry methods with a vector of bytes, which is
// copied, with a shared_buffer, which is not copied, or without an argument. See README.md.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "awaited.hpp"
#include "slots.hpp"

namespace {

using osu::measure, osu::question;

/// Memory from which a window of messages is sent: vectors, of which each message gets a copy.
struct vector_slots {
  using argument = std::vector<std::byte>;
  void prepare(const question& q) { m_all.assign(std::size_t(q.window), argument(q.bytes)); }
  std::span<std::byte> memory(std::size_t i) { return m_all[i % m_all.size()]; }
  const argument& message(std::size_t i) { return m_all[i % m_all.size()]; }

 private:
  std::vector<argument> m_all;
};

/// Memory from which messages are sent without a copy: two windows, as one window is written while
/// the peer may still read the previous one.
struct shared_slots {
  using argument = starling::shared_buffer<std::byte>;
  void prepare(const question& q) {
    m_all = std::make_shared<osu::slots>();
    m_all->prepare(2 * q.window, q.bytes);
    m_bytes = q.bytes;
  }
  std::span<std::byte> memory(std::size_t i) { return (*m_all)[slot(i)].first(m_bytes); }
  argument message(std::size_t i) { return argument(memory(i), m_all); }

 private:
  [[nodiscard]] int slot(std::size_t i) const { return int(i % std::size_t(m_all->count())); }
  std::shared_ptr<osu::slots> m_all;
  std::size_t m_bytes = 0;
};

template <class Slots>
struct player : starling::chare<player<Slots>> {
  using argument = typename Slots::argument;

  starling::task<bool> contents(question q) {
    other().template invoke<&player::prepare>(q);
    prepare(q);
    osu::fill(m_out.memory(0), 0);
    co_return co_await other().template call<&player::is_known>(m_out.message(0));
  }

  starling::task<> play(question q) {
    other().template invoke<&player::begin>(q);
    begin(q);
    starling::future<void> over = m_over.emplace().get_future();
    send_window();
    co_await std::move(over);
  }
  starling::task<std::uint64_t> right(question) { co_return m_right; }

  // --- called by the peer
  void prepare(question q) { m_out.prepare(q); }
  bool is_known(const argument& data) { return osu::is_filled(data, 0); }
  void begin(question q) {
    m_question = q;
    m_right = m_came = m_sent = 0;
    if (q.what == measure::bidirectional && this->this_index() == 1) send_window();
  }
  void take(argument data) {
    m_right += data.size() == m_question.bytes && osu::has_stamp(data, m_came);
    ++m_came;
    if (m_question.what == measure::latency)
      answer();
    else if (m_came % std::uint64_t(m_question.window) == 0)
      end_window();
  }
  void take_nothing() { take({}); }
  void go_on() {
    if (!is_through(m_sent)) send_window();
  }
  void end(std::uint64_t right) {
    m_right += right;
    m_over->set_value();
  }

 private:
  starling::element<player> other() { return this->this_array()[1 - this->this_index()]; }
  /// Returns whether `messages` is the number of all messages of one direction.
  [[nodiscard]] bool is_through(std::uint64_t messages) const {
    return messages == std::uint64_t(m_question.rounds) * std::uint64_t(m_question.window);
  }
  void send_window() {
    for (int i = 0; i < m_question.window; ++i) send();
  }
  void send() {
    const std::uint64_t number = m_sent++;
    osu::stamp(m_out.memory(number), number);
    if (m_question.bytes == 0)
      other().template invoke<&player::take_nothing>();
    else
      other().template invoke<&player::take>(m_out.message(number));
  }
  void answer() {
    if (this->this_index() == 1) {
      send();
      if (is_through(m_came)) other().template invoke<&player::end>(m_right);
    } else if (!is_through(m_came)) {
      send();
    }
  }
  void end_window() {
    if (m_question.what == measure::bandwidth)
      other().template invoke<&player::go_on>();
    else if (!is_through(m_sent))
      send_window();
    if (is_through(m_came) && this->this_index() == 1)
      other().template invoke<&player::end>(m_right);
  }

  Slots m_out;
  question m_question{};
  std::uint64_t m_right = 0, m_came = 0, m_sent = 0;
  std::optional<starling::promise<void>> m_over;
};

}  // namespace

int main(int argc, char** argv) {
  std::string argument = "vector";
  return osu::run_awaited(
      "osu_starling_chares", "Messages between chares of two ranks: entry methods", argc, argv,
      [&](CLI::App& app, starling::runtime_options&) {
        app.add_option(
               "--argument", argument,
               "Argument of entry methods: a vector, or a shared_buffer, which is not copied")
            ->check(CLI::IsMember({"vector", "shared_buffer"}))
            ->capture_default_str();
      },
      [&](starling::runtime& rt, const osu::options& chosen, osu::bench::report& out) {
        out.config("argument", argument);
        return argument == "vector" ? osu::ask<player<vector_slots>>(rt, chosen, out)
                                    : osu::ask<player<shared_slots>>(rt, chosen, out);
      });
}
