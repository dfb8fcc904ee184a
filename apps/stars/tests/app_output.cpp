// SPDX-License-Identifier: Apache-2.0
// Ranks compute, read and write their own leaves: files and reports are those of one process, and
// no rank has the whole state.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "driver/part.hpp"
#include "driver/regrid.hpp"
#include "io/plotfile.hpp"
#include "io/vtkhdf.hpp"
#include "objects/cluster.hpp"
#include "tests/app_allocations.hpp"
#include "tests/app_support.hpp"

namespace stars::test {
namespace {

namespace fs = std::filesystem;
using starling::task;
using starling_test::cluster;

/// Settings of a blast. Its first mesh has leaves on the levels 0 to 3.
settings refined_blast() {
  settings s;
  s.level = 3;
  s.min_level = 0;
  return s;
}

/// Runs `action(sim)` for the simulation of a run on so many ranks.
template <class Action>
void on_ranks(int ranks, settings s, const Action& action) {
  const auto lead = [&](starling::runtime& rt) -> task<int> {
    const beginning first = begin_run(s, ranks);
    const auto sim = co_await make_across_ranks(rt, first, s);
    co_await action(*sim);
    co_return 0;
  };
  cluster{ranks, 1}.expect(0, lead);
}

/// Returns the state of a run at its beginning, made by this process alone, and completes the
/// settings.
snapshot whole_beginning(settings& s) {
  snapshot state = begin_run(s, 1).header;
  state.data = first_data(s, state.grid, 0, state.grid.subgrid_count());
  return state;
}

/// Returns the content of all files of the grids of a level, one after the other.
std::string grids_of(const fs::path& level) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(level))
    if (entry.path().filename() != "Cell_H") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& file : files) all += read_file(file);
  return all;
}

/// Returns the rows of the header of a level without the places of the grids in files.
std::string without_places(const fs::path& header) {
  std::ifstream file(header);
  std::string rows;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("FabOnDisk", 0) != 0) rows += line + '\n';
  return rows;
}

void expect_same_plotfiles(const fs::path& a, const fs::path& b, int levels) {
  for (const char* same : {"Header", "stars.json"})
    EXPECT_EQ(read_file(a / same), read_file(b / same)) << same;
  for (int level = 0; level <= levels; ++level) {
    const std::string name = "Level_" + std::to_string(level);
    EXPECT_TRUE(grids_of(a / name) == grids_of(b / name)) << name;
    EXPECT_EQ(without_places(a / name / "Cell_H"), without_places(b / name / "Cell_H"));
  }
}

class output : public testing::Test {
 protected:
  void SetUp() override {
    if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  }
  scratch_directory m_scratch;
};

class output_of_ranks : public output, public testing::WithParamInterface<int> {};

TEST_P(output_of_ranks, is_that_of_one_process_from_the_first_state_on) {
  settings s = refined_blast();
  const snapshot whole = whole_beginning(s);
  ASSERT_EQ(whole.grid.level(), 3);
  write_plotfile(m_scratch / "one", whole);
  write_vtkhdf(m_scratch / "one.vtkhdf", whole);
  write_restart(m_scratch / "one.h5", {whole, {}});
  on_ranks(GetParam(), s, [&](adaptive_simulation& sim) -> task<> {
    EXPECT_TRUE(sim.grid() == whole.grid);
    co_await sim.write_plot(m_scratch / "all", plot_format::amrex);
    co_await sim.write_plot(m_scratch / "all.vtkhdf", plot_format::vtkhdf);
    co_await sim.write_restart(m_scratch / "all.h5", {});
  });
  expect_same_plotfiles(m_scratch / "one", m_scratch / "all", 3);
  EXPECT_TRUE(read_file(m_scratch / "one.vtkhdf") == read_file(m_scratch / "all.vtkhdf"));
  EXPECT_TRUE(read_file(m_scratch / "one.h5") == read_file(m_scratch / "all.h5"));
  EXPECT_EQ(m_scratch.names().size(), 6u);
}

TEST_P(output_of_ranks, follows_the_steps_and_the_mesh) {
  settings s = refined_blast();
  s.place = residency::resident;
  const snapshot first = whole_beginning(s);
  const std::vector<refinement_rule> never = {{field::rho, refinement_measure::value, 1e9}};
  const snapshot stepped = serial(first, s.numerics, 1);
  snapshot merged = stepped;
  ASSERT_TRUE(regrid(merged, never, limits_of(s)));
  on_ranks(GetParam(), s, [&](adaptive_simulation& sim) -> task<> {
    co_await sim.write_restart(m_scratch / "first.h5", {});
    co_await sim.step(no_limit);
    co_await sim.finish();
    co_await sim.write_restart(m_scratch / "stepped.h5", {});
    co_await sim.write_plot(m_scratch / "stepped", plot_format::amrex);
    co_await sim.regrid(never, limits_of(s));
    co_await sim.write_restart(m_scratch / "merged.h5", {});
  });
  expect_same_bits(read_restart(m_scratch / "first.h5").state, first);
  expect_same_bits(read_restart(m_scratch / "stepped.h5").state, stepped);
  expect_same_bits(read_restart(m_scratch / "merged.h5").state, merged);
  write_plotfile(m_scratch / "one", stepped);
  expect_same_plotfiles(m_scratch / "one", m_scratch / "stepped", 3);
}

/// Sums are added up in the order of the tree.
TEST_P(output_of_ranks, has_the_sums_of_one_process) {
  settings s;
  s.problem = "rayleigh-taylor";
  s.level = 1;
  const snapshot whole = whole_beginning(s);
  const auto flow = make_problem(s);
  domain_sums sums;
  sums.add(whole, 0, flow->gravity);
  state_record record;
  record.add(whole, 0, *flow);
  EXPECT_NE(sums.potential, 0.0);
  on_ranks(GetParam(), s, [&](adaptive_simulation& sim) -> task<> {
    const domain_sums got = co_await sim.sums();
    for (const auto& [a, b] : {std::pair{got.mass.sum, sums.mass.sum},
                               {got.mass.lost, sums.mass.lost},
                               {got.energy.sum, sums.energy.sum},
                               {got.energy.lost, sums.energy.lost},
                               {got.potential, sums.potential}})
      EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b));
    const state_record all = co_await sim.record();
    EXPECT_EQ(all.digest(), record.digest());
    EXPECT_EQ(all.sums.energy.value(), sums.energy.value());
    EXPECT_FALSE(all.error.value());
  });
}

TEST_P(output_of_ranks, has_the_error_of_one_process) {
  settings s;
  s.problem = "vortex";
  s.level = 1;
  snapshot whole = whole_beginning(s);
  const auto error = density_error(*make_problem(s), whole);
  ASSERT_TRUE(error);
  on_ranks(GetParam(), s, [&](adaptive_simulation& sim) -> task<> {
    const state_record all = co_await sim.record();
    EXPECT_EQ(all.error.value(), error);
  });
}

/// Writing fails on all ranks: no part of a file appears, and no rank waits for another one.
TEST_P(output_of_ranks, appears_as_a_whole_or_not_at_all) {
  const settings s = refined_blast();
  on_ranks(GetParam(), s, [&](adaptive_simulation& sim) -> task<> {
    for (const auto format : {plot_format::amrex, plot_format::vtkhdf}) {
      std::string said;
      try {
        const file_size_limit limit(50'000);
        co_await sim.write_plot(m_scratch / "plt", format);
      } catch (const std::runtime_error& e) {
        said = e.what();
      }
      EXPECT_NE(said.find("File too large"), std::string::npos) << said;
      EXPECT_TRUE(m_scratch.names().empty());
    }
    co_await sim.write_plot(m_scratch / "plt", plot_format::amrex);
    EXPECT_EQ(m_scratch.names().size(), 1u);
  });
}

TEST_P(output_of_ranks, is_refused_on_the_rank_that_reads_damaged_leaves) {
  snapshot whole = make_blast(1);
  whole.data.back() = 0.123456789;
  const fs::path file = m_scratch / "a.h5";
  write_restart(file, {whole, {}});
  std::string content = read_file(file);
  const double last = whole.data.back();
  const auto place = content.rfind(std::string(reinterpret_cast<const char*>(&last), sizeof last));
  ASSERT_NE(place, std::string::npos);
  content[place] = char(content[place] ^ 1);
  write_file(file, content);
  settings s;
  s.restart_from = file.string();
  const auto lead = [&](starling::runtime& rt) -> task<int> {
    const beginning first{read_restart_header(file).state};
    std::string said;
    try {
      static_cast<void>(co_await make_across_ranks(rt, first, s));
    } catch (const std::runtime_error& e) {
      said = e.what();
    }
    EXPECT_NE(said.find("the data of leaf 7 do not have their checksum"), std::string::npos)
        << said;
    const int reader = GetParam() - 1;
    EXPECT_EQ(said.rfind("rank " + std::to_string(reader) + ": ", 0) == 0, reader > 0) << said;
    co_return 0;
  };
  cluster{GetParam(), 1}.expect(0, lead);
}

/// The file has one leaf.
TEST_F(output, continues_from_a_file_of_version_2) {
  settings s;
  s.restart_from = STARS_TEST_DATA "/restart_version2.h5";
  const snapshot old = read_restart(s.restart_from).state;
  by_files files;
  snapshot got;
  const auto lead = [&](starling::runtime& rt) -> task<int> {
    const beginning first{read_restart_header(s.restart_from).state};
    const auto sim = co_await make_across_ranks(rt, first, s);
    got = co_await files.gather(*sim);
    co_return 0;
  };
  cluster{1, 1}.expect(0, lead);
  expect_same_bits(got, old);
}

INSTANTIATE_TEST_SUITE_P(on, output_of_ranks, testing::Values(1, 2, 3, 4),
                         [](const auto& info) { return std::to_string(info.param) + "_ranks"; });

constexpr int many_ranks = 8;

class shares : public output {};

/// The largest array of a run is the copy of the own leaves that files are made of.
TEST_F(shares, are_all_that_a_rank_has) {
  settings s;
  s.level = 2;
  const std::size_t whole = snapshot::size_of(mesh(2)) * sizeof(double);
  std::size_t largest = 0;
  on_ranks(many_ranks, s, [&](adaptive_simulation& sim) -> task<> {
    const allocation_record record;
    co_await sim.sums();
    co_await sim.write_plot(m_scratch / "plt", plot_format::amrex);
    co_await sim.step(no_limit);
    co_await sim.finish();
    co_await sim.record();
    co_await sim.write_restart(m_scratch / "a.h5", {});
    co_await sim.write_plot(m_scratch / "a.vtkhdf", plot_format::vtkhdf);
    largest = record.largest();
  });
  EXPECT_EQ(largest, whole / many_ranks);
}

/// A part has 8 of 64 leaves, and with the leaves that it reads at most 27.
TEST_F(shares, are_all_that_a_rank_has_at_the_beginning) {
  settings s;
  s.level = 2;
  const std::size_t whole = snapshot::size_of(mesh(2)) * sizeof(double);
  const auto begin = [](adaptive_simulation&) -> task<> { co_return; };
  {
    const allocation_record record;
    on_ranks(many_ranks, s, begin);
    EXPECT_GE(record.largest(), whole / many_ranks);
    EXPECT_LT(record.largest(), whole / 2);
  }
  on_ranks(many_ranks, s, [&](adaptive_simulation& sim) -> task<> {
    co_await sim.write_restart(m_scratch / "a.h5", restart_parameters(s));
  });
  settings next;
  next.restart_from = m_scratch / "a.h5";
  const allocation_record record;
  on_ranks(many_ranks, next, begin);
  EXPECT_GE(record.largest(), whole / many_ranks);
  EXPECT_LT(record.largest(), whole / 2);
}

TEST(allocation_record, sees_a_whole_state) {
  const std::size_t whole = snapshot::size_of(mesh(2)) * sizeof(double);
  const allocation_record record;
  const snapshot whole_state = make_blast(2);
  EXPECT_GE(record.largest(), whole);
}

}  // namespace
}  // namespace stars::test
