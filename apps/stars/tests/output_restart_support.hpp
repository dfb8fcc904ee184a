// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the tests of restart files.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "io/files.hpp"
#include "io/restart.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {

class restart_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!restart_available()) GTEST_SKIP() << "built without HDF5";
  }

  std::string read_error() {
    return error_of<output_error>([&] { (void)read_restart(m_path); });
  }

  scratch_directory m_scratch;
  std::filesystem::path m_path = m_scratch / "restart.h5";
};

inline restart sample_restart(mesh grid) {
  restart out;
  out.state = sample_state(std::move(grid));
  out.state.time = std::nextafter(0.1, 1.0);
  out.scheme = {{"cfl", 0.4},
                {"ghost_width", std::int64_t{3}},
                {"reconstruction", std::string("ppm")},
                {"floor", -0.0},
                {"remark", std::string()}};
  return out;
}
/// The tree has the boundary of the state, as trees that are read have.
inline restart sample_restart(const octree& tree) {
  return sample_restart(mesh(tree.with_boundary(boundary_kind::reflecting), 1.5));
}
inline restart sample_restart(int level) { return sample_restart(octree::uniform(level)); }

}  // namespace stars::testing
