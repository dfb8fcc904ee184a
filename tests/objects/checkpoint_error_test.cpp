// SPDX-License-Identifier: Apache-2.0
// Checkpoints of arrays: what is refused, and errors of files.
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "checkpoint_cells.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::word;

/// Holds what no checkpoint can store.
struct holder : chare<holder> {
  explicit holder(int fault = 0) : m_fault(fault) {}
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (!Archive::is_reading) {
      if (m_fault == 1) throw std::range_error("no state");
    }
    ar(m_fault, m_to, m_some, m_others);
    if constexpr (Archive::is_reading) {
      if (m_fault == 2) throw std::range_error("no element");
    } else {
      if (m_fault == 3) ar(m_fault);
    }
  }
  void keep_callback(callback<int> to) { m_to = to; }
  void keep_section(const section<holder>& some) { m_some = {some}; }
  void keep_array(const chare_array<holder>& others) { m_others = {others}; }
  awaited bell();
  task<> wait() { co_await when<&holder::bell>(); }
  void give(callback<int> to) { contribute(1, reduction::sum(), to); }
  void ring(callback<int> to) { to.deliver(1); }

 private:
  int m_fault = 0;
  callback<int> m_to;
  std::vector<section<holder>> m_some;
  std::vector<chare_array<holder>> m_others;
};

class refused_checkpoint_of_arrays : public starling_test::on_clusters {
 protected:
  using work = std::function<task<>(runtime&)>;
  /// Runs a task on rank 0.
  void run(const work& w) const {
    all.expect(0, [&](runtime& rt) -> task<int> { return rank_zero(rt, w); });
  }
  static task<int> rank_zero(runtime& rt, work w) {
    co_await w(rt);
    co_return 0;
  }
  [[nodiscard]] task<checkpoints> open(runtime& rt, std::string restart = "none") const {
    return checkpoints::open(rt, scratch.path(), {2, "", std::move(restart)});
  }
  /// Expects that the task fails with E, whose message contains `text`.
  template <class E>
  static task<> expect(task<> t, std::string text) {
    try {
      co_await std::move(t);
      ADD_FAILURE() << "no error with '" << text << "'";
    } catch (const E& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }
  static task<> take(const checkpoints& saved) {
    auto written = co_await saved.take(1);
    static_cast<void>(co_await std::move(written));
  }

  static task<> discard(task<checkpoints> t) { static_cast<void>(co_await std::move(t)); }
  void expect_failing_restart(int fault, const std::string& text);

  starling_test::scratch_folder scratch;
};
INSTANTIATE_TEST_SUITE_P(on, refused_checkpoint_of_arrays,
                         testing::Values(cluster{1, 2}, cluster{3, 1}),
                         starling_test::cluster_name);

constexpr int holders = 6;

TEST_P(refused_checkpoint_of_arrays, states_that_cannot_be_stored) {
  run([&](runtime& rt) -> task<> {
    auto saved = co_await open(rt);
    const auto other = create_array<holder>(rt, holders, placement::block);
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::block);
    mine[5].invoke<&holder::keep_array>(other);
    co_await expect<usage_error>(take(saved), "was not created by starling::checkpoints");
    mine[5].invoke<&holder::keep_array>(mine);
    co_await take(saved);
    auto [to, answer] = make_reply<int>();
    mine[5].invoke<&holder::keep_callback>(to);
    co_await expect<usage_error>(take(saved), "cannot store a callback");
    mine[5].invoke<&holder::keep_callback>(callback<int>());
    mine[5].invoke<&holder::keep_section>(make_section(mine, std::vector<int>{1, 5}));
    co_await expect<usage_error>(take(saved), "cannot store a section");
    to.deliver(3);
    EXPECT_EQ(co_await std::move(answer), 3);
  });
}

TEST_P(refused_checkpoint_of_arrays, runs_in_the_middle_of_something) {
  run([&](runtime& rt) -> task<> {
    auto saved = co_await open(rt);
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::block);
    auto waits = mine[4].call<&holder::wait>();
    co_await expect<usage_error>(take(saved), "holder[4] has a coroutine");
    mine[4].invoke<&holder::bell>();
    co_await std::move(waits);
    co_await take(saved);

    auto [to, sum] = make_reply<int>();
    for (int i = 1; i < holders; ++i) mine[i].invoke<&holder::give>(to);
    co_await expect<usage_error>(take(saved), "have not contributed to a reduction");
    mine[0].invoke<&holder::give>(to);
    EXPECT_EQ(co_await std::move(sum), holders);
    co_await take(saved);

    // One element on each worker: those that have contributed wait for no one of their own worker.
    const int workers = int(total_worker_count(rt));
    const auto each = saved.create_array<holder>("each", workers, placement::block);
    auto [to_each, of_each] = make_reply<int>();
    for (int i = 1; i < workers; ++i) each[i].invoke<&holder::give>(to_each);
    co_await expect<usage_error>(take(saved), "have not contributed to a reduction");
    each[0].invoke<&holder::give>(to_each);
    EXPECT_EQ(co_await std::move(of_each), workers);
    co_await take(saved);

    const auto some = saved.create_sparse_array<word>("words");
    auto early = some["later"].call<&word::text>();
    co_await expect<usage_error>(take(saved), "messages wait for elements of word");
    some.insert("later", std::string("here"));
    EXPECT_EQ(co_await std::move(early), "here");
    co_await take(saved);
  });
}

/// Sends memory on a channel, which the other element receives later.
struct linked : chare<linked> {
  template <class Archive>
  void serialize(Archive&) {}
  void offer() {
    m_link = {*this, this_array()[1 - this_index()]};
    m_link.post(m_sent);
  }
  task<double> receive() {
    m_link = {*this, this_array()[1 - this_index()]};
    std::vector<double> received(m_sent.size());
    co_await m_link.receive(received);
    co_return received.at(5);
  }

 private:
  std::vector<double> m_sent = std::vector<double>(100, 1.5);
  chare_channel<double> m_link;
};

TEST_P(refused_checkpoint_of_arrays, transfers_that_have_not_ended) {
  run([&](runtime& rt) -> task<> {
    auto saved = co_await open(rt);
    const auto both = saved.create_array<linked>("both", 2, placement::block);
    both[0].invoke<&linked::offer>();
    co_await expect<usage_error>(take(saved), "has a channel with a transfer that has not ended");
    EXPECT_EQ(co_await both[1].call<&linked::receive>(), 1.5);
    co_await take(saved);
  });
}

/// Takes a checkpoint of an array with such a fault, then restarts, which must end the run.
void refused_checkpoint_of_arrays::expect_failing_restart(int fault, const std::string& text) {
  run([&](runtime& rt) -> task<> {
    starling_test::stay_in_place(rt, "`serialize` of a migration would fail");
    auto saved = co_await open(rt);
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", 2, placement::block, fault);
    co_await take(saved);
  });
  const auto main = [&](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "`serialize` of a migration would fail");
    auto saved = co_await open(rt, "latest");
    [[maybe_unused]] const auto mine = saved.create_array<holder>("mine", 2, placement::block);
    co_await saved.load();
    co_return 0;
  };
  const std::string error = cluster::text_of(all.run(main).at(0));
  EXPECT_NE(error.find("holder["), std::string::npos) << error;
  EXPECT_NE(error.find(text), std::string::npos) << error;
}

TEST_P(refused_checkpoint_of_arrays, errors_of_serialize) {
  run([&](runtime& rt) -> task<> {
    starling_test::stay_in_place(rt, "`serialize` of a migration would fail");
    auto saved = co_await open(rt);
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::block, 1);
    co_await expect<std::range_error>(take(saved), "no state");
  });
  expect_failing_restart(2, "no element");
  expect_failing_restart(3, "has not read the last 4 bytes");
}

TEST_P(refused_checkpoint_of_arrays, restarts_of_another_program) {
  run([&](runtime& rt) -> task<> {
    auto saved = co_await open(rt);
    double time = 2.5;
    saved.add_value("time", time);
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::block);
    [[maybe_unused]] const auto other = saved.create_array<holder>("other", 1, placement::block);
    EXPECT_THROW(static_cast<void>(saved.create_array<holder>("mine", 1, placement::block)),
                 usage_error);
    EXPECT_THROW(saved.add_value("mine", time), usage_error);
    co_await take(saved);
  });
  run([&](runtime& rt) -> task<> {
    auto saved = co_await open(rt, "latest");
    const auto message = [](const auto& f) {
      try {
        f();
      } catch (const error& e) {
        return std::string(e.what());
      }
      return std::string("no error");
    };
    const auto expect_text = [](const std::string& is, const char* text) {
      EXPECT_NE(is.find(text), std::string::npos) << is;
    };
    double time = 0;
    float narrow = 0;
    expect_text(message([&] { saved.add_value("clock", time); }), "has no value 'clock'");
    expect_text(message([&] { saved.add_value("narrow time", narrow); }), "has no value");
    expect_text(
        message([&] { static_cast<void>(saved.create_array<holder>("m", 1, placement::block)); }),
        "has no array 'm'; it has 'mine', 'other'");
    expect_text(message([&] {
                  static_cast<void>(saved.create_array<holder>("mine", 5, placement::block));
                }),
                "with another extent");
    expect_text(message([&] { static_cast<void>(saved.create_sparse_array<word>("mine")); }),
                "with elements of type holder");
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::round_robin);
    co_await expect<usage_error>(take(saved), "await load() first");
    co_await expect<usage_error>(saved.load(), "has not created the array 'other'");
  });
  run([&](runtime& rt) -> task<> {
    auto saved = co_await open(rt, "latest");
    double time = 0;
    saved.add_value("time", time);
    EXPECT_EQ(time, 2.5);
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::round_robin);
    [[maybe_unused]] const auto other = saved.create_array<holder>("other", 1, placement::block);
    co_await saved.load();
    co_await expect<usage_error>(saved.load(), "called twice");
  });
}

TEST_P(refused_checkpoint_of_arrays, folders_that_cannot_be_used) {
  run([&](runtime& rt) -> task<> {
    co_await expect<option_error>(discard(open(rt, "newest")), "is neither none nor latest");
    co_await expect<checkpoint_error>(discard(open(rt, "12")), "checkpoint.000012");
    co_await expect<usage_error>(discard(checkpoints::open(rt, scratch.path(), {0})), "at least 1");
    const std::string file = scratch.path() + "/file";
    std::ofstream(file) << "no folder";
    co_await expect<checkpoint_error>(discard(checkpoints::open(rt, file, {1, "", "latest"})),
                                      file);
  });
}

TEST_P(refused_checkpoint_of_arrays, a_failed_write_leaves_the_program_and_the_one_before) {
  const std::string path = scratch.path() + "/saved";
  const auto at = [&path](runtime& rt, const char* restart) {
    return checkpoints::open(rt, path, {2, "", restart});
  };
  run([&](runtime& rt) -> task<> {
    auto saved = co_await at(rt, "none");
    [[maybe_unused]] const auto mine =
        saved.create_array<holder>("mine", holders, placement::block);
    co_await take(saved);
    std::ofstream(path + "/checkpoint.000002") << "a file where a folder should be";
    testing::internal::CaptureStderr();
    co_await expect<checkpoint_error>(take(saved), "checkpoint.000002");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("was not written"), std::string::npos) << said;
    std::filesystem::remove(path + "/checkpoint.000002");
    co_await take(saved);
  });
  run([&](runtime& rt) -> task<> {
    auto saved = co_await at(rt, "1");
    EXPECT_EQ(saved.number(), 1u);
  });
}

}  // namespace
}  // namespace starling
