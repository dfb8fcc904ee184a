// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <stdexcept>

#include "io/crc32.hpp"
#include "io/files.hpp"
#include "io/node_means.hpp"
#include "io/restart.hpp"

namespace stars {

static_assert(std::endian::native == std::endian::little, "the files have this byte order");

std::vector<std::uint32_t> write_restart_part(const restart_place& place, int first,
                                              std::span<const double> data) {
  if (first < 0 || data.size() % node_values != 0)
    throw std::invalid_argument("restart: " + std::to_string(data.size()) +
                                " values are not those of whole leaves");
  positioned_file file(place.file);
  const auto bytes = std::as_bytes(data);
  file.write(place.offset + static_cast<std::uint64_t>(first) * node_values * sizeof(double),
             bytes);
  file.close();
  std::vector<std::uint32_t> checksums;
  constexpr std::size_t leaf = node_values * sizeof(double);
  for (std::size_t begin = 0; begin < bytes.size(); begin += leaf)
    checksums.push_back(crc32(bytes.subspan(begin, leaf)));
  return checksums;
}

}  // namespace stars
