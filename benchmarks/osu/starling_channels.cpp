// SPDX-License-Identifier: Apache-2.0
//
// Measures memory that two chares exchange: host memory, or in the order of a stream pinned or
// device memory; through a channel or by alternatives. See README.md.
#include <map>
#include <string>
#include <vector>

#include <starling/device.hpp>

#include "awaited.hpp"

namespace {

using osu::measure, osu::question;
using starling::memory_kind, starling::task;

enum class by : std::uint8_t { channel, borrowing, offer, staging };

/// How memory is transferred from one element to its peer.
struct way {
  memory_kind memory = memory_kind::host;  // host memory: without a stream
  by how = by::channel;
};

/// The player of channel questions. Messages of one slot are the same each time, as the host must
/// not write memory that a stream reads: the stamp is the slot's number. The last contents are
/// checked.
class player : public starling::chare<player> {
 public:
  explicit player(way how)
      : m_way(how), m_at(starling::devices(*starling::runtime::current()).here().make_stream()),
        m_sends_at(m_at.device().make_stream()), m_channel(*this, this_array()[1 - this_index()]) {}

  task<bool> contents(question q) {
    auto theirs = other().call<&player::exchange_known>(q);
    const bool mine = co_await exchange_known(q);
    co_return co_await std::move(theirs) && mine;
  }
  task<> play(question q) {
    auto theirs = other().call<&player::take_part>(q);
    co_await take_part(q);
    co_await std::move(theirs);
  }
  task<std::uint64_t> right(question q) {
    auto theirs = other().call<&player::look>(q);
    const std::uint64_t mine = co_await look(q);
    co_return mine + co_await std::move(theirs);
  }

  // --- called on both elements
  task<bool> exchange_known(question q) {
    m_bytes = q.bytes;
    for (auto* slots : {&m_out, &m_in, &m_staged}) {
      slots->clear();
      const bool is_of_host = slots == &m_staged;
      const int count = is_of_host && m_way.how != by::staging ? 0 : q.window;
      for (int i = 0; i < count; ++i)
        slots->push_back(
            m_at.device().allocate<std::byte>(is_of_host ? memory_kind::pinned : m_way.memory,
                                              std::max<std::size_t>(q.bytes, 1), m_at));
    }
    std::vector<std::byte> known(q.bytes);
    osu::fill(known, std::uint64_t(this_index()));
    co_await write(0, known);
    co_await to_and_fro({measure::latency, q.bytes, 1});
    const bool is_known = osu::is_filled(co_await read(0), std::uint64_t(1 - this_index()));
    for (std::size_t i = 0; i < m_out.size(); ++i) {
      co_await write_stamp(m_in[i], ~i);  // contents left by an earlier question must not pass
      co_await write_stamp(m_out[i], i);
    }
    co_return is_known;
  }
  task<> take_part(question q) { return q.what == measure::latency ? to_and_fro(q) : windows(q); }
  /// Returns the number of right messages; those of the last round represent all rounds.
  task<std::uint64_t> look(question q) {
    if (q.what == measure::bandwidth && this_index() == 0) co_return 0;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < std::size_t(q.window); ++i)
      seen += std::uint64_t(co_await has_stamp(i));
    co_return seen == std::uint64_t(q.window) ? seen* std::uint64_t(q.rounds) : 0;
  }
  starling::awaited take(int slot, std::vector<std::byte> data);
  starling::awaited take_offered(int slot, starling::offered<std::byte> memory);

 private:
  starling::element<player> other() { return this_array()[1 - this_index()]; }

  task<> to_and_fro(question q) {
    for (int i = 0; i < q.rounds; ++i) {
      if (this_index() == 1) co_await receive(0);
      co_await send(0);
      if (this_index() == 0) co_await receive(0);
    }
    if (!is_plain()) co_await m_at.completion();
  }
  task<> windows(question q) {
    const bool sends = q.what == measure::bidirectional || this_index() == 0;
    const bool receives = q.what == measure::bidirectional || this_index() == 1;
    const auto n = std::size_t(q.window);
    for (int w = 0; w < q.rounds; ++w) {
      std::vector<starling::channel_wait> begun;
      for (std::size_t i = 0; receives && m_way.how == by::channel && i < n; ++i)
        begun.push_back(start_receive(i));
      for (std::size_t i = 0; sends && i < n; ++i) {
        if (m_way.how == by::staging)
          co_await send(i);
        else
          begun.push_back(start_send(i, m_sends_at));
      }
      for (std::size_t i = 0; receives && m_way.how != by::channel && i < n; ++i)
        co_await receive(i);
      for (auto& each : begun) co_await each;
      if (is_plain()) continue;
      co_await m_sends_at.completion();
      co_await m_at.completion();
    }
  }

  [[nodiscard]] bool is_plain() const { return m_way.memory == memory_kind::host; }
  starling::channel_wait start_send(std::size_t slot, starling::stream& at) {
    const auto from = std::as_const(m_out[slot]).span().first(m_bytes);
    if (m_way.how == by::offer) {
      auto made = is_plain() ? starling::offer(*this, other(), from)
                             : starling::offer(*this, other(), from, at);
      other().invoke<&player::take_offered>(int(slot), made.memory);
      return std::move(made.sent);
    }
    return is_plain() ? m_channel.send(from) : m_channel.send(from, at);
  }
  task<> send(std::size_t slot) {
    if (m_way.how != by::staging) {
      co_await start_send(slot, m_at);
      co_return;
    }
    const auto pinned = m_staged[slot].span().first(m_bytes);
    if (m_bytes != 0) m_at.copy(pinned, m_out[slot].span().first(m_bytes));
    co_await m_at.completion();
    other().invoke<&player::take>(int(slot), std::vector(pinned.begin(), pinned.end()));
  }
  starling::channel_wait start_receive(std::size_t slot) {
    const auto to = m_in[slot].span().first(m_bytes);
    return is_plain() ? m_channel.receive(to) : m_channel.receive(to, m_at);
  }
  task<> receive(std::size_t slot) {
    const auto to = m_in[slot].span().first(m_bytes);
    if (m_way.how == by::staging) {
      const auto data = co_await when<&player::take>(int(slot));
      if (data.empty()) co_return;
      // Through pinned memory: a vector is pageable.
      const auto pinned = m_staged[slot].span().first(m_bytes);
      std::ranges::copy(data, pinned.begin());
      m_at.copy(to, pinned);
      co_await m_at.completion();
    } else if (m_way.how == by::offer) {
      const auto memory = co_await when<&player::take_offered>(int(slot));
      if (is_plain())
        co_await memory.receive(*this, to);
      else
        co_await memory.receive(*this, to, m_at);
    } else if (m_way.how == by::channel) {
      co_await start_receive(slot);
    } else {
      auto lent = co_await m_channel.borrow(m_at, m_bytes);
      if (m_bytes != 0) m_at.copy(to, lent.span());  // the work that reads the borrowed memory
    }
  }

  task<> write(std::size_t slot, const std::vector<std::byte>& bytes) {
    if (bytes.empty()) co_return;
    m_at.copy(m_out[slot].span().first(m_bytes), bytes);
    co_await m_at.completion();
  }
  task<std::vector<std::byte>> read(std::size_t slot) {
    std::vector<std::byte> bytes(m_bytes);
    if (!bytes.empty()) m_at.copy(bytes, m_in[slot].span().first(m_bytes));
    co_await m_at.completion();
    co_return bytes;
  }

  /// Copies the stamp: beginning and end, as much of each as the shorter span has.
  task<> copy_ends(std::span<std::byte> to, std::span<const std::byte> from) {
    const std::size_t bytes = std::min(to.size(), from.size());
    if (bytes == 0) co_return;
    m_at.copy(to.first(bytes - bytes / 2), from.first(bytes - bytes / 2));
    m_at.copy(to.last(bytes / 2), from.last(bytes / 2));
    co_await m_at.completion();
  }
  task<> write_stamp(starling::buffer<std::byte>& to, std::uint64_t number) {
    std::vector<std::byte> bytes(2 * sizeof number);
    osu::stamp(bytes, number);
    co_await copy_ends(to.span().first(m_bytes), bytes);
  }
  task<bool> has_stamp(std::size_t slot) {
    std::vector<std::byte> bytes(std::min(m_bytes, 2 * sizeof slot));
    co_await copy_ends(bytes, m_in[slot].span().first(m_bytes));
    co_return osu::has_stamp(bytes, slot);
  }

  way m_way;
  std::size_t m_bytes = 0;  // of each message
  starling::stream m_at;
  // For windows: sends must not wait for receives.
  starling::stream m_sends_at;
  std::vector<starling::buffer<std::byte>> m_out, m_in, m_staged;
  starling::chare_channel<std::byte> m_channel;
};

}  // namespace

int main(int argc, char** argv) {
  way chosen_way;
  const std::map<std::string, memory_kind> memories = {{"host", memory_kind::host},
                                                       {"pinned", memory_kind::pinned},
                                                       {"device", memory_kind::device}};
  const std::map<std::string, by> ways = {{"channel", by::channel},
                                          {"borrow", by::borrowing},
                                          {"offer", by::offer},
                                          {"staging", by::staging}};
  return osu::run_awaited(
      "osu_starling_channels", "Messages between chares of two ranks: channels", argc, argv,
      [&](CLI::App& app, starling::runtime_options& of_runtime) {
        app.add_option("--memory", chosen_way.memory, "host (without a stream), pinned or device")
            ->transform(CLI::CheckedTransformer(memories));
        app.add_option("--by", chosen_way.how,
                       "channel (into a place), borrow, offer (an entry method is given it), or "
                       "staging: by pinned memory and an entry method")
            ->transform(CLI::CheckedTransformer(ways));
        app.add_option("--backend", of_runtime.extra["backend"], "Backend of the devices")
            ->default_val("host");
      },
      [&](starling::runtime& rt, const osu::options& chosen, osu::bench::report& out) {
        if (chosen_way.memory == memory_kind::host && chosen_way.how == by::borrowing)
          throw starling::usage_error("--by borrow needs a stream: --memory pinned or device");
        return osu::ask<player>(rt, chosen, out, chosen_way);
      });
}
