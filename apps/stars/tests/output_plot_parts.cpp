// SPDX-License-Identifier: Apache-2.0
// A plotfile that several parts of the domain write.
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/files.hpp"
#include "io/plotfile.hpp"
#include "tests/output_fixture.hpp"

namespace stars::testing {
namespace {

namespace fs = std::filesystem;

/// Writes a plotfile by three parts of the leaves of `two_levels`. No part has a message to wait
/// for: their borders are chosen so, and octants are handed over from the highest part on.
class divided_plotfile : public ::testing::Test {
 protected:
  divided_plotfile() {
    for (std::size_t p = 0; p < m_firsts.size(); ++p) {
      const int end = p + 1 < m_firsts.size() ? m_firsts[p + 1] : m_state.grid.subgrid_count();
      m_nodes.emplace_back(m_state.grid.tree(), m_firsts, int(p),
                           data_of(m_state, m_firsts[p], end - m_firsts[p]));
    }
    for (std::size_t from = m_nodes.size(); from-- > 1;)
      for (const octant_transfer& t : m_nodes[from].transfers())
        if (t.from == int(from)) m_sent.push_back({t, m_nodes[from].give(t)});
    for (const octant_transfer& t : m_nodes[0].transfers())
      for (const auto& [sent, cells] : m_sent)
        if (sent == t) m_nodes[0].take(t, cells);
  }

  std::vector<plot_records> write_parts(const fs::path& path) {
    std::vector<plot_records> records;
    for (node_means& nodes : m_nodes) records.push_back(write_plot_part(path, m_state, nodes));
    return records;
  }

  scratch_directory m_scratch;
  snapshot m_state = sample_state(mesh(two_levels(), 1.5));
  std::vector<int> m_firsts{0, 8, 12};
  std::vector<node_means> m_nodes;
  std::vector<std::pair<octant_transfer, std::vector<double>>> m_sent;
};

TEST_F(divided_plotfile, differs_from_that_of_one_part_only_by_the_places_of_grids) {
  write_plotfile(m_scratch / "one", m_state);
  plotfile_writer file(m_scratch / "plt", m_state.without_data());
  file.commit(write_parts(file.path()));
  for (const char* same : {"Header", "stars.json", "Level_0/Cell_H", "Level_2/Cell_H"})
    EXPECT_EQ(read_file(m_scratch / "plt" / same), read_file(m_scratch / "one" / same)) << same;
  const std::string level = "plt/Level_1/";
  std::string grids;
  for (const char* part : {"Cell_D_00000", "Cell_D_00001", "Cell_D_00002"})
    grids += read_file(m_scratch / (level + part));
  EXPECT_EQ(grids, read_file(m_scratch / "one/Level_1/Cell_D_00000"));
  const std::string header = read_file(m_scratch / (level + "Cell_H"));
  for (const char* place : {"Cell_D_00000 0\n", "Cell_D_00001 0\n", "Cell_D_00002 0\n"})
    expect_contains(header, std::string("FabOnDisk: ") + place);
  EXPECT_FALSE(fs::exists(m_scratch / "plt/Level_2/Cell_D_00001"));
  EXPECT_EQ(m_scratch.names().size(), 2u);
}

TEST_F(divided_plotfile, without_the_records_of_a_part_does_not_appear) {
  {
    plotfile_writer file(m_scratch / "plt", m_state.without_data());
    auto records = write_parts(file.path());
    records[1].smallest.pop_back();
    expect_contains(error_of<std::invalid_argument>([&] { file.commit(records); }),
                    "records of a part are not complete");
    records.erase(records.begin() + 1);
    expect_contains(error_of<std::invalid_argument>([&] { file.commit(records); }),
                    "records of 4 grids on level 1, not 8");
  }
  EXPECT_TRUE(m_scratch.names().empty());
}

TEST_F(divided_plotfile, of_which_a_part_failed_leaves_the_older_one) {
  write_plotfile(m_scratch / "plt", sample_state(0));
  const std::string before = read_file(m_scratch / "plt/Level_0/Cell_D_00000");
  {
    const plotfile_writer file(m_scratch / "plt", m_state.without_data());
    const file_size_limit limit(100'000);
    expect_contains(error_of<output_error>([&] { (void)write_parts(file.path()); }),
                    "Level_2/Cell_D_00000: cannot write: File too large");
  }
  EXPECT_EQ(read_file(m_scratch / "plt/Level_0/Cell_D_00000"), before);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

}  // namespace
}  // namespace stars::testing
