// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <starling/core/runtime.hpp>
#include <starling/device.hpp>

#include "device/batch.hpp"
#include "device/collector.hpp"
#include "device/device_impl.hpp"
#include "device/stream_state.hpp"
#include "device/support.hpp"

namespace starling::detail {
namespace {

using starling_test::on_host;

struct numbered {
  static constexpr const char* name = "numbered";
  int number;
  void operator()(index3) const {}
};

/// Records its operations, and refuses those it is set to refuse.
class picky_stream final : public starling_test::idle_queue {
 public:
  explicit picky_stream(std::vector<std::string>& log) : m_log(&log) {}

  void launch(const kernel_call& call) override {
    if (refuses_many && call.count > 1) throw std::bad_alloc();
    std::string entry = "launch";
    const std::size_t starts = call.count > 1 ? std::min(most, call.count) : 1;
    for (std::size_t i = 0; i < starts; ++i) {
      numbered k{};
      std::memcpy(&k, static_cast<const std::byte*>(call.object) + i * call.bytes, sizeof k);
      if (k.number == refused) throw std::bad_alloc();
      entry += ' ' + std::to_string(k.number);
    }
    m_log->push_back(entry);
    call.note_started(starts);
    if (starts < call.count) throw std::bad_alloc();
  }
  void copy(std::span<const transfer> transfers, member_observer*) override {
    if (refuses_many && transfers.size() > 1) throw std::bad_alloc();
    m_log->push_back("copy of " + std::to_string(transfers.size()));
  }
  void record(const std::shared_ptr<backend_event>&) override {
    if (--records_left < 0) throw std::bad_alloc();
  }

  bool refuses_many = false;
  int refused = -1;
  std::size_t most = 8;  // kernels of a merged call that start before it is refused
  int records_left = 1000;

 private:
  std::vector<std::string>* m_log;
};

/// Three members: kernel 1, 2 or 3, a copy, kernel 11, 12 or 13.
class a_batch : public testing::Test {
 protected:
  a_batch() : rt(on_host(1)), home(devices(rt).device(0), {}, priority::normal), all(home, 8) {
    queue.emplace(devices(rt).device(0).internals().context, stream_id{77}, priority::normal, word);
    auto made = std::make_unique<picky_stream>(log);
    stream = made.get();
    queue->open(std::move(made), false);
    for (int i = 1; i <= 3; ++i) {
      members.push_back(std::make_unique<batch_member>(home));
      add_kernel(i);
      members.back()->operations.add(transfer{&to, &from, 1});
      add_kernel(10 + i);
      all.places.emplace_back(home, *members.back());
    }
  }
  void add_kernel(int number) {
    const numbered k{number};
    members.back()->operations.add(make_call(range{1}, k, default_shape<numbered>()));
  }
  bool failed(std::size_t member) const { return members[member]->error != nullptr; }

  std::vector<std::string> log;
  std::byte from{};
  std::byte to{};
  completion_word word{0};
  std::optional<stream_state> queue;  // outlives the runtime, whose poller refers to it
  runtime rt;
  collector home;
  std::vector<std::unique_ptr<batch_member>> members;
  batch all;
  picky_stream* stream;
};

using entries = std::vector<std::string>;

TEST_F(a_batch, is_submitted_position_by_position) {
  EXPECT_TRUE(all.submit(*queue));
  EXPECT_EQ(log, (entries{"launch 1 2 3", "copy of 3", "launch 11 12 13"}));
}

TEST_F(a_batch, of_one_member_is_submitted_as_it_is) {
  all.places.resize(1, all.places.front());
  EXPECT_TRUE(all.submit(*queue));
  EXPECT_EQ(log, (entries{"launch 1", "copy of 1", "launch 11"}));
}

TEST_F(a_batch, refused_as_one_is_submitted_member_by_member) {
  stream->refuses_many = true;
  EXPECT_FALSE(all.submit(*queue));
  EXPECT_EQ(log, (entries{"launch 1", "copy of 1", "launch 11", "launch 2", "copy of 1",
                          "launch 12", "launch 3", "copy of 1", "launch 13"}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(failed(i));
}

TEST_F(a_batch, with_one_refused_member_fails_the_later_operations_of_that_member) {
  stream->refused = 12;
  EXPECT_FALSE(all.submit(*queue));
  EXPECT_EQ(log, (entries{"launch 1 2 3", "copy of 3", "launch 11", "launch 13"}));
  EXPECT_FALSE(failed(0));
  EXPECT_TRUE(failed(1));
  EXPECT_FALSE(failed(2));
  EXPECT_THROW(std::rethrow_exception(members[1]->error), std::bad_alloc);
}

TEST_F(a_batch, refused_early_leaves_out_the_remaining_operations_of_that_member) {
  stream->refused = 2;
  EXPECT_FALSE(all.submit(*queue));
  EXPECT_EQ(log,
            (entries{"launch 1", "copy of 1", "launch 11", "launch 3", "copy of 1", "launch 13"}));
  EXPECT_TRUE(failed(1));
}

TEST_F(a_batch, refused_half_way_repeats_no_started_operation) {
  stream->most = 2;
  EXPECT_FALSE(all.submit(*queue));
  EXPECT_EQ(log, (entries{"launch 1 2", "copy of 1", "launch 11", "copy of 1", "launch 12",
                          "launch 3", "copy of 1", "launch 13"}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(failed(i));
}

TEST_F(a_batch, refused_half_way_counts_the_started_operations) {
  const numbered two[] = {{1}, {2}};
  kernel_call call = make_call(range{1}, two[0], default_shape<numbered>());
  call.count = 2;
  stream->most = 1;
  EXPECT_EQ(queue->position(), 0u);
  EXPECT_THROW(queue->launch(call), std::bad_alloc);
  EXPECT_NE(queue->position(), 0u) << "one kernel is under way";
}

TEST_F(a_batch, that_gets_no_barrier_repeats_no_started_operation) {
  devices(rt).device(0).internals().context.barriers = true;
  stream->records_left = 1;  // for the event before the first launch
  EXPECT_FALSE(all.submit(*queue));
  EXPECT_EQ(log, (entries{"launch 1 2 3"}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(failed(i));
}

TEST(operation_lists, of_one_shape_differ_in_members_and_places_only) {
  const auto made = [](range extent, int number, std::size_t bytes) {
    operation_list list;
    const numbered k{number};
    list.add(make_call(extent, k, default_shape<numbered>()));
    list.add(transfer{nullptr, &list, bytes});
    return list;
  };
  const operation_list one = made({8, 8, 8}, 1, 64);
  EXPECT_TRUE(one.has_shape_of(made({8, 8, 8}, 2, 64)));
  EXPECT_EQ(one.hash(), made({8, 8, 8}, 2, 64).hash());
  EXPECT_FALSE(one.has_shape_of(made({8, 8, 9}, 1, 64)));
  EXPECT_FALSE(one.has_shape_of(made({8, 8, 8}, 1, 65)));
  EXPECT_FALSE(one.has_shape_of(operation_list()));
}

TEST(operation_lists, keep_their_operations_when_they_grow_and_move) {
  operation_list list;
  for (int i = 0; i < 100; ++i) {
    const numbered k{i};
    list.add(make_call(range{1}, k, default_shape<numbered>()));
  }
  operation_list moved(std::move(list));
  EXPECT_TRUE(list.empty());
  int i = 0;
  for (std::size_t at = 0; at < moved.size(); at += moved.at(at).bytes) {
    numbered k{};
    std::memcpy(&k, static_cast<const operation_list::kernel_record&>(moved.at(at)).object(),
                sizeof k);
    EXPECT_EQ(k.number, i++);
  }
  EXPECT_EQ(i, 100);
  moved.clear();
  EXPECT_TRUE(moved.empty());
}

}  // namespace
}  // namespace starling::detail
