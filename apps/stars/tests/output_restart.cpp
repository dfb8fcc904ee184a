// SPDX-License-Identifier: Apache-2.0
// Restart files: bitwise round trip, and every kind of file that must be refused.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>

#include "io/files.hpp"
#include "io/restart.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {
namespace {

namespace fs = std::filesystem;

class restart_file : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  }

  std::string read_error() {
    return error_of<output_error>([&] { (void)read_restart(m_path); });
  }

  /// Replaces the only occurrence of `from` by a text of the same length.
  void patch(const std::string& from, const std::string& to) {
    ASSERT_EQ(from.size(), to.size());
    std::string content = read_file(m_path);
    const auto place = content.find(from);
    ASSERT_NE(place, std::string::npos);
    ASSERT_EQ(content.find(from, place + 1), std::string::npos);
    write_file(m_path, content.replace(place, from.size(), to));
  }

  scratch_directory m_scratch;
  fs::path m_path = m_scratch / "restart.h5";
};

restart sample_restart(int level) {
  restart out;
  out.state = sample_state(level);
  out.state.time = std::nextafter(0.1, 1.0);
  out.scheme = {{"cfl", 0.4},
                {"ghost_width", std::int64_t{3}},
                {"reconstruction", std::string("ppm")},
                {"floor", -0.0},
                {"remark", std::string()}};
  return out;
}

TEST_F(restart_file, returns_every_bit) {
  restart written = sample_restart(1);
  written.state.data[0] = -0.0;
  written.state.data[1] = std::numeric_limits<double>::denorm_min();
  written.state.data[2] = -std::numeric_limits<double>::infinity();
  written.state.data[3] = std::bit_cast<double>(std::uint64_t{0x7ff800000000beef});
  write_restart(m_path, written);
  const restart read = read_restart(m_path);
  ASSERT_EQ(read.state.data.size(), written.state.data.size());
  for (std::size_t i = 0; i < read.state.data.size(); ++i)
    ASSERT_TRUE(same_bits(read.state.data[i], written.state.data[i])) << i;
  EXPECT_TRUE(same_bits(read.state.time, written.state.time));
  EXPECT_EQ(read.state.outflow, written.state.outflow);
  EXPECT_EQ(read.state.step, written.state.step);
  EXPECT_EQ(read.state.gamma, written.state.gamma);
  EXPECT_EQ(read.state.problem, written.state.problem);
  EXPECT_EQ(read.state.boundary, written.state.boundary);
  EXPECT_EQ(read.state.grid.level(), written.state.grid.level());
  EXPECT_EQ(read.state.grid.xscale(), written.state.grid.xscale());
  EXPECT_EQ(read.scheme, written.scheme);
  EXPECT_TRUE(same_bits(std::get<double>(read.scheme.at("floor")), -0.0));
}

TEST_F(restart_file, holds_a_single_subgrid_and_no_parameters) {
  restart written = sample_restart(0);
  written.scheme.clear();
  write_restart(m_path, written);
  const restart read = read_restart(m_path);
  EXPECT_EQ(read.state.data, written.state.data);
  EXPECT_TRUE(read.scheme.empty());
}

TEST_F(restart_file, replaces_an_older_one) {
  write_restart(m_path, sample_restart(1));
  write_restart(m_path, sample_restart(0));
  EXPECT_EQ(read_restart(m_path).state.grid.level(), 0);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

TEST_F(restart_file, survives_a_failed_write) {
  write_restart(m_path, sample_restart(0));
  const std::string before = read_file(m_path);
  {
    const file_size_limit limit(100'000);
    const auto text = error_of<output_error>([&] { write_restart(m_path, sample_restart(1)); });
    expect_contains(text, "cannot write: File too large");
  }
  EXPECT_EQ(read_file(m_path), before);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

TEST_F(restart_file, needs_a_directory_to_write_to) {
  const auto text =
      error_of<output_error>([&] { write_restart(m_scratch / "no/a.h5", sample_restart(0)); });
  expect_contains(text, "cannot create: No such file or directory");
  EXPECT_THROW(write_restart(m_scratch / ".", sample_restart(0)), output_error);
}

TEST_F(restart_file, refuses_data_that_do_not_fit_the_mesh) {
  restart content = sample_restart(0);
  content.state.data.push_back(0.0);
  EXPECT_THROW(write_restart(m_path, content), std::invalid_argument);
}

TEST_F(restart_file, that_is_absent_is_named) {
  expect_contains(read_error(), "restart.h5: cannot read the restart file: No such file");
}

TEST_F(restart_file, that_is_no_hdf5_is_refused) {
  write_file(m_path, "plain text, long enough to be looked at by a reader of binary files");
  expect_contains(read_error(), "not an HDF5 file");
  write_file(m_path, "");
  expect_contains(read_error(), "not an HDF5 file");
  m_path = m_scratch / ".";
  expect_contains(read_error(), "a directory");
}

TEST_F(restart_file, that_is_truncated_is_refused_wherever_it_ends) {
  write_restart(m_path, sample_restart(0));
  const std::string whole = read_file(m_path);
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{600}}) {
    write_file(m_path, whole.substr(0, size));
    expect_contains(read_error(), "cannot read the restart file");
  }
}

TEST_F(restart_file, with_one_wrong_bit_in_the_state_is_refused) {
  const restart written = sample_restart(0);
  write_restart(m_path, written);
  std::string content = read_file(m_path);
  const double value = written.state.data[1234];
  const std::string bytes(reinterpret_cast<const char*>(&value), sizeof(value));
  const auto place = content.find(bytes);
  ASSERT_NE(place, std::string::npos);
  content[place] = static_cast<char>(content[place] ^ 1);
  write_file(m_path, content);
  expect_contains(read_error(), "'state' is damaged");
}

TEST_F(restart_file, of_another_program_is_refused) {
  write_restart(m_path, sample_restart(0));
  patch("sedov-restart", "other-program");
  expect_contains(read_error(), "not a restart file of this program");
}

TEST_F(restart_file, without_an_attribute_is_refused) {
  write_restart(m_path, sample_restart(0));
  patch("xscale", "xxxxxx");
  expect_contains(read_error(), "no attribute 'xscale'");
}

TEST_F(restart_file, with_an_unknown_boundary_is_refused) {
  write_restart(m_path, sample_restart(0));
  patch("reflecting", "transmuted");
  expect_contains(read_error(), "unknown boundary 'transmuted'");
}

}  // namespace
}  // namespace stars::testing
