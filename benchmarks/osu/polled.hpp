// SPDX-License-Identifier: Apache-2.0
//
// Measures the questions with two processes of one thread each, which poll. See README.md.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "problems.hpp"

namespace osu {

/// A player of the questions over a link, which is the competitor. Both sides of a link have slots:
/// own memory to send from and to receive into. Messages arrive in the order sent.
///
///     int rank();                                        // 0 or 1
///     void prepare(int slots, std::size_t bytes);        // at least 8 bytes each, to send from,
///                                                        // and as many to receive into
///     std::span<std::byte> out(int slot);                // the memory to send from
///     std::span<const std::byte> in(int slot);           // the last message received
///     void send(int slot, std::size_t bytes);            // returns when `out` may be written
///     void receive(int slot, std::size_t bytes);         // returns when the message is complete
///     void start_send(int slot, std::size_t bytes);
///     void start_receive(int slot, std::size_t bytes);
///     void wait();                                       // until all started operations are over
///     bool leave();                                      // both call it; did the peer end well
template <class Link>
class player {
 public:
  explicit player(Link& link) : m_link(link) { m_link.prepare(1, 8); }

  /// Plays a question, on both sides. Returns, on rank 0, the number of right messages of both.
  std::uint64_t play(const question& q) {
    m_right = 0;
    if (q.what == measure::latency)
      to_and_fro(q);
    else
      windows(q);
    return add_up();
  }

  /// Exchanges messages with known bytes. Returns, on rank 0, whether both arrived unchanged.
  bool send_known(const question& q) {
    prepare(q);
    const auto mine = std::uint64_t(m_link.rank()), theirs = 1 - mine;
    fill(m_link.out(0).first(q.bytes), mine);
    m_link.start_receive(0, q.bytes);
    m_link.start_send(0, q.bytes);
    m_link.wait();
    m_right = is_filled(m_link.in(0).first(q.bytes), theirs);
    return add_up() == 2;
  }

 private:
  /// Prepares the slots. No side sends before its peer is prepared.
  void prepare(const question& q) {
    const bool is_first = m_link.rank() == 0;
    if (!is_first) m_link.receive(0, 8);
    // If both sides send, messages of the next window may arrive while this window is checked.
    const int windows = q.what == measure::bidirectional ? 2 : 1;
    m_link.prepare(windows * (q.window + 1), std::max<std::size_t>(q.bytes, 8));
    m_link.send(0, 8);
    if (is_first) m_link.receive(0, 8);
  }
  void expect(int slot, std::size_t bytes, std::uint64_t number) {
    m_right += has_stamp(m_link.in(slot).first(bytes), number);
  }
  void to_and_fro(const question& q) {
    const bool begins = m_link.rank() == 0;
    for (std::uint64_t i = 0; i < std::uint64_t(q.rounds); ++i) {
      if (!begins) receive_one(q, i);
      stamp(m_link.out(0).first(q.bytes), i);
      m_link.send(0, q.bytes);
      if (begins) receive_one(q, i);
    }
  }
  void receive_one(const question& q, std::uint64_t number) {
    m_link.receive(0, q.bytes);
    expect(0, q.bytes, number);
  }
  void windows(const question& q) {
    const bool sends = q.what == measure::bidirectional || m_link.rank() == 0;
    const bool receives = q.what == measure::bidirectional || m_link.rank() == 1;
    std::uint64_t number = 0;
    for (int w = 0; w < q.rounds; ++w, number += std::uint64_t(q.window)) {
      for (int i = 0; receives && i < q.window; ++i) m_link.start_receive(i, q.bytes);
      for (int i = 0; sends && i < q.window; ++i) {
        stamp(m_link.out(i).first(q.bytes), number + std::uint64_t(i));
        m_link.start_send(i, q.bytes);
      }
      m_link.wait();
      for (int i = 0; receives && i < q.window; ++i) expect(i, q.bytes, number + std::uint64_t(i));
      if (q.what == measure::bandwidth) acknowledge(q.window);
    }
  }
  /// Permits the sender to use the memory of a window again.
  void acknowledge(int slot) {
    if (m_link.rank() == 0)
      m_link.receive(slot, 8);
    else
      m_link.send(slot, 8);
  }
  std::uint64_t add_up() {
    std::uint64_t theirs = 0;
    if (m_link.rank() == 1) {
      std::memcpy(m_link.out(0).data(), &m_right, sizeof m_right);
      m_link.send(0, sizeof m_right);
    } else {
      m_link.receive(0, sizeof theirs);
      std::memcpy(&theirs, m_link.in(0).data(), sizeof theirs);
    }
    return m_right + theirs;
  }

  Link& m_link;
  std::uint64_t m_right = 0;
};

template <class Link>
bool ask(Link& link, const options& chosen, bench::report* out) {
  player<Link> p(link);
  for (const auto& [name, q] : questions(chosen)) {
    const bool arrives_whole = p.send_known(q);
    bench::sampling runs(chosen, name, q.messages());
    while (runs.wants_more()) {
      runs.begin();
      const std::uint64_t right = p.play(q) + (chosen.breaks(name) ? 1 : 0);
      runs.end();
      runs.judge(right == q.messages());
    }
    if (out == nullptr) continue;
    add(*out, q, runs.result());
    out->check("contents_of_" + name, arrives_whole);
  }
  return link.leave();
}

template <class Link>
int run(const std::string& name, const std::string& about, int argc, char** argv) {
  options chosen;
  CLI::App app{about};
  return main_of(name, app, chosen, argc, argv, [&] {
    Link link;
    if (link.rank() == 1) return ask(link, chosen, nullptr) ? EXIT_SUCCESS : EXIT_FAILURE;
    report out(name, chosen);
    out.print_heading();
    out.check("the_other_process_ended_well", ask(link, chosen, &out));
    out.write(chosen.json);
    return out.exit_code();
  });
}

}  // namespace osu
