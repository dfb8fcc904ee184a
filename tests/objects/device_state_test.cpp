// SPDX-License-Identifier: Apache-2.0
// Device memory as a part of an element's state: packed, migrated, stored in checkpoints.
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::message_of;
using starling_test::over_ucx;
using starling_test::stay_in_place;
using numbers = std::vector<std::uint64_t>;

/// a[i] = factor · a[i] + i.
struct step_kernel {
  static constexpr const char* name = "step_kernel";
  std::uint64_t* a;
  std::uint64_t factor;
  void operator()(index3 i) const { a[i.x] = factor * a[i.x] + std::uint64_t(i.x); }
};

numbers stepped(std::size_t count, std::uint64_t first, const numbers& factors) {
  numbers a(count, first);
  for (const std::uint64_t f : factors)
    for (std::size_t i = 0; i < count; ++i) a[i] = f * a[i] + i;
  return a;
}

runtime_options host_devices(unsigned workers, int devices) {
  runtime_options o = runtime_options::from_environment();
  o.workers = workers;
  o.bind = binding::none;
  o.extra["backend"] = "host";
  o.extra["devices"] = std::to_string(devices);
  return o;
}

using of_numbers = std::tuple<buffer<std::uint64_t>>;

// --- packing

class packed_buffer : public testing::TestWithParam<memory_kind> {
 protected:
  /// Packs a buffer while its stream has work that is not over, and unpacks it.
  static task<> there_and_back(device& d, std::size_t count) {
    stream s = d.make_stream();
    auto b = d.allocate<std::uint64_t>(GetParam(), count, s);
    s.fill(b, std::uint64_t(3));
    const auto kernels = range{std::int64_t(count)};
    s.submit(kernels, step_kernel{b.data(), 5});
    s.submit(kernels, step_kernel{b.data(), 7});
    const std::vector<std::byte> bytes = pack(b);
    buffer<std::uint64_t> found = std::get<0>(unpack<of_numbers>(bytes));
    EXPECT_EQ(found.size(), count);
    EXPECT_EQ(found.kind(), GetParam());
    numbers contents(count);
    s.copy(contents, found.span());
    co_await s.completion();
    EXPECT_EQ(contents, stepped(count, 3, {5, 7}));
  }
  runtime rt{host_devices(2, 1)};
};
INSTANTIATE_TEST_SUITE_P(of, packed_buffer,
                         testing::Values(memory_kind::host, memory_kind::pinned,
                                         memory_kind::device),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(packed_buffer, has_the_results_of_its_stream) {
  rt.sync_wait(there_and_back(devices(rt).device(0), 1000));
}

TEST_P(packed_buffer, may_be_larger_than_the_pieces_in_which_it_is_copied) {
  rt.sync_wait(there_and_back(devices(rt).device(0), (std::size_t(17) << 20) / 8 + 1));
}

TEST_P(packed_buffer, may_be_empty) {
  rt.sync_wait([](device& d) -> task<> {
    const buffer<std::uint64_t> none;
    const auto also_none = d.allocate<std::uint64_t>(GetParam(), 0);
    EXPECT_TRUE(std::get<0>(unpack<of_numbers>(pack(none))).empty());
    EXPECT_TRUE(std::get<0>(unpack<of_numbers>(pack(also_none))).empty());
    co_return;
  }(devices(rt).device(0)));
}

TEST_P(packed_buffer, is_refused_when_its_bytes_are_wrong) {
  rt.sync_wait([](device& d) -> task<> {
    auto b = d.allocate<std::uint64_t>(GetParam(), 10);
    stream s = d.make_stream();
    s.fill(b, std::uint64_t(1));
    co_await s.completion();
    const std::vector<std::byte> good = pack(b);
    for (std::size_t size = 0; size < good.size(); ++size)
      EXPECT_THROW(static_cast<void>(unpack<of_numbers>({good.data(), size})), archive_error)
          << size << " bytes";
    const std::size_t at = good.size() - 10 * sizeof(std::uint64_t) - 1;  // of the kind of memory
    auto other_kind = good;
    other_kind.at(at) = std::byte(memory_kinds);
    EXPECT_THROW(static_cast<void>(unpack<of_numbers>(other_kind)), archive_error);
    auto large = good;
    const std::uint64_t count = ~std::uint64_t(0) / 4;
    std::memcpy(&large.at(at - sizeof count), &count, sizeof count);
    EXPECT_THROW(static_cast<void>(unpack<of_numbers>(large)), archive_error);
  }(devices(rt).device(0)));
}

TEST_P(packed_buffer, is_unpacked_by_workers_only) {
  std::vector<std::byte> bytes;
  rt.sync_wait([](device& d, std::vector<std::byte>& to) -> task<> {
    auto b = d.allocate<std::uint64_t>(GetParam(), 2);
    stream s = d.make_stream();
    s.fill(b, std::uint64_t(1));
    co_await s.completion();
    to = pack(b);
  }(devices(rt).device(0), bytes));
  EXPECT_NE(message_of<usage_error>([&] {
              static_cast<void>(unpack<of_numbers>(bytes));
            }).find("only a worker knows its device"),
            std::string::npos);
}

// --- migration between ranks, and checkpoints

/// An element whose state is in device memory.
struct device_cell : chare<device_cell> {
  explicit device_cell(int count)
      : m_at(devices(*runtime::current()).here().make_stream()),
        m_cells(
            m_at.device().allocate<std::uint64_t>(memory_kind::device, std::size_t(count), m_at)) {
    m_at.fill(m_cells, std::uint64_t(this_index()));
  }
  explicit device_cell(migrated) : m_at(devices(*runtime::current()).here().make_stream()) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_cells);
    if constexpr (Archive::is_reading) m_cells.release_on(m_at);
  }
  task<> advance(std::uint64_t factor) {
    m_at.submit(range{std::int64_t(m_cells.size())}, step_kernel{m_cells.data(), factor});
    co_await m_at.completion();
  }
  /// Leaves work behind that is not awaited.
  void advance_and_go(std::uint64_t factor, int to) {
    m_at.submit(range{std::int64_t(m_cells.size())}, step_kernel{m_cells.data(), factor});
    migrate_to(std::size_t(to));
  }
  void after_migration() {
    device& here = devices(*runtime::current()).here();
    if (&m_at.device() == &here) return;
    stream at = here.make_stream();
    move_buffer(m_cells, m_at, at);
    m_at = std::move(at);
  }
  task<numbers> contents() {
    numbers found(m_cells.size());
    m_at.copy(found, std::as_const(m_cells).span());
    co_await m_at.completion();
    co_return found;
  }
  int place() { return int(this_worker()); }
  int device_number() { return m_at.device().id().value; }
  bool is_on_its_device() {
    const device& here = devices(*runtime::current()).here();
    return &m_at.device() == &here;
  }

 private:
  stream m_at;
  buffer<std::uint64_t> m_cells;
};

/// The kernels have no form for CUDA, so that the tests use the host's devices everywhere.
cluster on_host(cluster c) {
  c.backend = "host";
  return c;
}

constexpr int cells = 3;
constexpr int cell_size = 10'000;  // large enough to be exported

class device_state : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, device_state,
                         testing::Values(on_host({1, 2}), on_host({2, 1}), on_host({2, 2}),
                                         on_host(over_ucx({2, 1}))),
                         starling_test::ranks_name);

TEST_P(device_state, migrates_with_the_element) {
  const auto all = create_array<device_cell>(rt, cells, placement::block, cell_size);
  const int workers = int(total_worker_count(rt));
  numbers factors;
  for (int round = 0; round < 6; ++round) {
    factors.push_back(std::uint64_t(round) + 3);
    for (int i = 0; i < cells; ++i)
      all[i].invoke<&device_cell::advance_and_go>(factors.back(), (i + round) % workers);
    rt.wait_idle();
    for (int i = 0; i < cells; ++i)
      ASSERT_EQ(rt.sync_wait(all[i].call<&device_cell::contents>()),
                stepped(cell_size, std::uint64_t(i), factors))
          << "element " << i << " after round " << round;
  }
}

TEST(device_state_of_a_rank, follows_the_element_to_the_device_of_its_worker) {
  runtime rt(host_devices(2, 2));
  stay_in_place(rt, "device and worker are asked one after the other");
  const auto all = create_array<device_cell>(rt, cells, placement::block, cell_size);
  numbers factors;
  for (int round = 0; round < 4; ++round) {
    factors.push_back(std::uint64_t(round) + 3);
    for (int i = 0; i < cells; ++i)
      all[i].invoke<&device_cell::advance_and_go>(factors.back(), (i + round) % 2);
    rt.wait_idle();
    for (int i = 0; i < cells; ++i) {
      EXPECT_EQ(rt.sync_wait(all[i].call<&device_cell::device_number>()),
                rt.sync_wait(all[i].call<&device_cell::place>()));
      ASSERT_EQ(rt.sync_wait(all[i].call<&device_cell::contents>()),
                stepped(cell_size, std::uint64_t(i), factors))
          << "element " << i << " after round " << round;
    }
  }
}

/// Runs a program of cells on rank 0: advances them to `last`, with a checkpoint after step 2.
task<int> cells_program(runtime& rt, std::string path, std::string restart, int last) {
  auto saved = co_await checkpoints::open(rt, path, {2, "", restart});
  const auto all = saved.create_array<device_cell>("cells", cells, placement::block, cell_size);
  co_await saved.load();
  numbers factors;
  for (int s = 0; s < last; ++s) {
    factors.push_back(std::uint64_t(s) + 11);
    if (s < int(saved.step())) continue;
    for (int i = 0; i < cells; ++i) co_await all[i].call<&device_cell::advance>(factors.back());
    if (s + 1 == 2) {
      auto written = co_await saved.take(2);
      static_cast<void>(co_await std::move(written));
    }
  }
  EXPECT_EQ(saved.is_restart(), restart != "none");
  for (int i = 0; i < cells; ++i) {
    const numbers found = co_await all[i].call<&device_cell::contents>();
    EXPECT_EQ(found, stepped(cell_size, std::uint64_t(i), factors)) << i;
    EXPECT_TRUE(co_await all[i].call<&device_cell::is_on_its_device>()) << i;
  }
  co_return 0;
}

TEST(device_state_in_checkpoints, is_restored_on_other_numbers_of_ranks) {
  const starling_test::scratch_folder scratch;
  const auto run = [&](const cluster& c, const char* restart, int last) {
    on_host(c).expect(
        0, [&](runtime& rt) { return cells_program(rt, scratch.path(), restart, last); });
  };
  run({1, 2}, "none", 3);
  run({2, 1}, "latest", 5);
  run({3, 2}, "latest", 4);
}

TEST(device_state_in_checkpoints, is_restored_on_other_numbers_of_devices) {
  const starling_test::scratch_folder scratch;
  const char* restart = "none";
  for (const int devices : {2, 1, 3}) {
    runtime rt(host_devices(3, devices));
    EXPECT_EQ(rt.sync_wait(cells_program(rt, scratch.path(), restart, 4)), 0) << devices;
    restart = "latest";
  }
}

}  // namespace
}  // namespace starling
