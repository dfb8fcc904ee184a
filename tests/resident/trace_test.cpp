// SPDX-License-Identifier: Apache-2.0
// The runtime's timeline contains the activity of resident schedulers.
#include <algorithm>
#include <string>
#include <vector>

#include "message_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using parrots = resident::system<parrot_program>;
using host = parrot<parrots::context>;

const starling::trace_total* find(const std::vector<starling::trace_total>& all,
                                  const std::string& name) {
  const auto found = std::ranges::find(all, name, &starling::trace_total::name);
  return found == all.end() ? nullptr : &*found;
}

/// Lets each of `chares` elements run `none`, which causes a `count`.
task<void> chatter(runtime& rt, resident::options o, std::uint32_t chares) {
  parrots program(rt, o);
  const auto all = program.create<parrot>(chares);
  co_await program.start();
  co_await program.broadcast(all, entry<&host::none>);
  co_await program.quiescence();
}

class resident_timeline : public on_machine {};

TEST_P(resident_timeline, has_entry_methods_and_idle_times) {
  constexpr std::uint32_t chares = 40;
  run([](runtime& rt, const resident::options& o) -> task<void> {
    rt.tracer().enable();
    co_await chatter(rt, o, chares);
    const auto all = rt.tracer().totals();
    const auto* const none = find(all, "none");
    const auto* const count = find(all, "count");
    const auto* const idle = find(all, "nothing to do");
    // The leader of several blocks polls for some time before it reports idleness to the group.
    const bool shows_idle =
        o.place == resident::place::host || o.granularity == resident::granularity::block;
    EXPECT_TRUE(none != nullptr && count != nullptr && (idle != nullptr || !shows_idle))
        << rt.tracer().summary();
    if (none == nullptr || count == nullptr) co_return;
    // Each rank's timeline has the spans of its own schedulers only.
    EXPECT_EQ(none->count, chares / o.ranks);
    EXPECT_EQ(count->count, chares / o.ranks);
    EXPECT_EQ(none->kind, starling::span_kind::task);
    EXPECT_TRUE(idle == nullptr || idle->kind == starling::span_kind::idle);
  });
}

TEST_P(resident_timeline, keeps_as_many_spans_as_it_may) {
  run([](runtime& rt, resident::options o) -> task<void> {
    o.trace_records = 4;
    rt.tracer().enable();
    co_await chatter(rt, o, 20 * schedulers(o));
    std::uint64_t spans = 0;
    for (const auto& row : rt.tracer().totals())
      if (row.name == "none" || row.name == "count" || row.name == "nothing to do")
        spans += row.count;
    EXPECT_EQ(spans, 4 * schedulers(o) / o.ranks);
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_timeline, all_machines, name_of_machine);

TEST(resident_trace, has_times_within_those_of_the_host) {
  runtime rt(options_with(2));
  rt.tracer().enable();
  const std::uint64_t before = starling::tracer::now();
  rt.sync_wait(chatter(rt, {}, 8));
  const std::uint64_t lasted = starling::tracer::now() - before;
  for (const auto& row : rt.tracer().totals()) EXPECT_LE(row.longest_ns, lasted) << row.name;
}

TEST(resident_trace, costs_nothing_when_it_is_off) {
  runtime rt(options_with(1));
  rt.sync_wait(chatter(rt, {}, 8));
  EXPECT_TRUE(rt.tracer().totals().empty());
  const auto refused =
      message_of<starling::option_error>([&] { parrots program(rt, {.trace_records = 3}); });
  EXPECT_NE(refused.find("trace_records = 3"), std::string::npos) << refused;
}

}  // namespace
}  // namespace starling_test
