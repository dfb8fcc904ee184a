// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/hdf5_operation.hpp"

namespace stars::hdf5 {

/// All bytes of an HDF5 file except the data of its large datasets, which have known places. So the
/// file is written without HDF5: HDF5 does not recover from a full disk, as it keeps the file open
/// and tries again at exit; and several processes may write into one dataset.
struct skeleton {
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };

  std::uint64_t size = 0;       ///< of the whole file, in bytes
  std::vector<range> datasets;  ///< the data of the large datasets, in the order of their creation

  /// Writes the bytes outside of `datasets`. The file must have the size `size`.
  void write(positioned_file& file) const;

  struct piece {
    std::uint64_t begin;
    std::vector<std::byte> bytes;
  };
  std::vector<piece> pieces;
};

/// Makes the content of a file.
class skeleton_builder {
 public:
  skeleton_builder(const operation& op, hid_t file) : m_op(op), m_file(file) {}

  [[nodiscard]] const operation& op() const { return m_op; }
  [[nodiscard]] hid_t file() const { return m_file; }

  /// Adds a dataset whose data are not a part of the skeleton. Datasets of at least a page of
  /// memory (4096 bytes) begin at a page of the file.
  void add_large_dataset(hid_t where, const std::string& name, std::span<const hsize_t> extents,
                         hid_t stored);

 private:
  friend skeleton make_skeleton(const operation&, const std::function<void(skeleton_builder&)>&);

  const operation& m_op;
  hid_t m_file;
  std::vector<skeleton::range> m_datasets;
};

/// Returns the skeleton of a file that `fill` makes, by a temporary file in `/dev/shm` or else in
/// the folder for temporary files. The metadata have checksums. Needs memory for the skeleton only.
[[nodiscard]] skeleton make_skeleton(const operation& op,
                                     const std::function<void(skeleton_builder&)>& fill);

}  // namespace stars::hdf5
