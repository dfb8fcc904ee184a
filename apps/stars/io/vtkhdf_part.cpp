// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "io/files.hpp"
#include "io/plot_fields.hpp"
#include "io/vtkhdf.hpp"

namespace stars {

static_assert(std::endian::native == std::endian::little, "the files have this byte order");

void write_vtkhdf_part(const vtkhdf_place& place, const snapshot& header, node_means& nodes) {
  positioned_file file(place.file);
  std::vector<double> values(plot_values);
  for (int level = 0; level <= header.grid.level(); ++level) {
    auto box = static_cast<std::uint64_t>(nodes.nodes_before(level));
    for (const int node : nodes.nodes(level)) {
      fill_plot_fields(nodes.data(node), header.gamma, values);
      for (std::size_t f = 0; f < plot_fields; ++f) {
        const auto cells = std::span(values).subspan(f * node_cells, node_cells);
        file.write(place.offsets[std::size_t(level) * plot_fields + f] + box * cells.size_bytes(),
                   std::as_bytes(cells));
      }
      ++box;
    }
  }
  file.close();
}

}  // namespace stars
