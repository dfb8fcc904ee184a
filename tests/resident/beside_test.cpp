// SPDX-License-Identifier: Apache-2.0
// Operations of the host's streams on devices that run a resident program: neither delays the
// other.
#include <numeric>

#include "beside_chares.hpp"
#include "support.hpp"

namespace starling_test {
namespace {

using metronomes = resident::system<metronome_program>;
using host_metronome = metronome<metronomes::context>;
using starling::device;
using starling::memory_kind;

/// Machines; on a GPU also programs that run in a multiprocessor partition.
std::vector<machine> machines_and_partitions() {
  std::vector<machine> all = joined(machines_of_blocks(), wide_hosts());
  if (cuda_devices() == 0) return all;
  constexpr auto gpu = resident::place::device;
  all.push_back({"gpu_in_a_partition", {.place = gpu, .schedulers = 8, .multiprocessors = 8}});
  all.push_back(
      {"gpu_in_a_large_partition", {.place = gpu, .schedulers = 60, .multiprocessors = 60}});
  return all;
}

/// Copies and kernels on two streams that wait for each other. The memory is allocated before the
/// program starts.
class stream_work {
 public:
  stream_work(starling::stream kernels, starling::stream copies)
      : m_kernels(std::move(kernels)), m_copies(std::move(copies)) {
    device& d = m_kernels.device();
    m_pinned = d.allocate<std::uint32_t>(memory_kind::pinned, length);
    m_result = d.allocate<std::uint32_t>(memory_kind::pinned, length);
    m_data = d.allocate<std::uint32_t>(memory_kind::device, length);
  }

  task<void> once(std::uint32_t factor) {
    std::iota(m_pinned.begin(), m_pinned.end(), factor);
    m_copies.copy(m_data, m_pinned);
    m_kernels.wait(m_copies.record());
    m_kernels.submit(starling::range{int(length)}, scale_and_shift{m_data.data(), factor});
    m_copies.wait(m_kernels.record());
    m_copies.copy(m_result, m_data);
    m_copies.fill(m_data, 3u);  // a kernel of the runtime, then one of the driver
    m_copies.fill(m_data, 0u);
    co_await m_copies.completion();
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < length; ++i)
      wrong += m_result.data()[i] == factor * (i + factor) + i ? 0 : 1;
    EXPECT_EQ(wrong, 0u) << "of " << length << ", factor " << factor;
  }

 private:
  static constexpr std::size_t length = 1 << 16;
  starling::stream m_kernels, m_copies;
  starling::buffer<std::uint32_t> m_pinned, m_result, m_data;
};

class resident_beside : public on_machine {};

TEST_P(resident_beside, streams_of_the_host_programs_run_without_mutual_waits) {
  run([](runtime& rt, resident::options o) -> task<void> {
    const std::uint32_t n = schedulers(o), rounds = times(o, 20, 5);
    metronomes program(rt, o);
    const auto all = program.create<metronome>(n);
    const auto box = program.make_host_mailbox<std::uint32_t>();
    std::vector<stream_work> works;
    for (std::uint32_t d = 0; d < o.devices; ++d)
      works.emplace_back(program.beside(d), program.beside(d));
    co_await program.start();
    co_await program.broadcast(all, entry<&host_metronome::tick>);
    for (std::uint32_t r = 0; r < rounds; ++r) {
      for (stream_work& work : works) co_await work.once(r + 2);
      co_await program.invoke(all[r % n], entry<&host_metronome::echo>, 100 * r, box);
      EXPECT_EQ(co_await program.receive(box), 100 * r + r % n);
    }
    co_await program.broadcast(all, entry<&host_metronome::stop>);
    co_await program.quiescence();
    co_await program.broadcast(all, entry<&host_metronome::tell>, box);
    EXPECT_EQ(co_await program.receive(box), n);
    program.stop();
    EXPECT_EQ((co_await program.ended()).left, 0u);
    for (stream_work& work : works) co_await work.once(7);
  });
}

INSTANTIATE_TEST_SUITE_P(on, resident_beside, testing::ValuesIn(machines_and_partitions()),
                         name_of_machine);

TEST(resident_partition, is_of_a_device_of_the_program) {
  runtime rt(options_with(1));
  const metronomes program(rt, {.devices = 2});
  EXPECT_EQ(program.beside(1).backend(), starling::devices(rt).backend());
  const auto said =
      message_of<starling::usage_error>([&] { static_cast<void>(program.beside(2)); });
  EXPECT_NE(said.find("device 2"), std::string::npos) << said;
}

TEST(resident_partition, has_no_meaning_on_the_host) {
  run_with({.schedulers = 2, .multiprocessors = 1000},
           [](runtime& rt, resident::options o) -> task<void> {
             metronomes program(rt, o);
             stream_work work(program.beside(), program.beside());
             co_await program.start();
             co_await work.once(5);
           });
}

class resident_partition_of_a_gpu : public testing::Test {
 protected:
  void SetUp() override {
    starling::runtime_options options = starling_test::options_with(1);
    options.extra["backend"] = "cuda";
    runtime rt(options);
    try {
      static_cast<void>(starling::devices(rt));
    } catch (const starling::backend_unavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }
  /// Returns the text of the error with which the start of a program with options `o` fails.
  template <class Error>
  static std::string refusal_of(resident::options o) {
    std::string said;
    run_with(o, [&said](runtime& rt, resident::options chosen) -> task<void> {
      metronomes program(rt, chosen);
      static_cast<void>(program.create<metronome>(1));
      said = co_await error_of<Error>(program.start());
    });
    return said;
  }
};

constexpr auto gpu = resident::place::device;

TEST_F(resident_partition_of_a_gpu, is_not_larger_than_the_device) {
  const auto said = refusal_of<starling::option_error>(
      {.place = gpu, .schedulers = 1, .multiprocessors = 100'000});
  EXPECT_NE(said.find("multiprocessors = 100000"), std::string::npos) << said;
  EXPECT_NE(said.find("Ask for fewer"), std::string::npos) << said;
}

/// More blocks than the partition's multiprocessors hold, though the whole device would hold them.
TEST_F(resident_partition_of_a_gpu, holds_all_schedulers_at_once) {
  const auto said = refusal_of<starling::device_error>(
      {.place = gpu, .schedulers = 132, .threads = 512, .multiprocessors = 8});
  EXPECT_NE(said.find("of its multiprocessors"), std::string::npos) << said;
}

}  // namespace
}  // namespace starling_test
