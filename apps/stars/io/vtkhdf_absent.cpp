// SPDX-License-Identifier: Apache-2.0
// Linked in place of vtkhdf_hdf5_write.cpp if HDF5 was not found.
#include <stdexcept>

#include "io/vtkhdf.hpp"

namespace stars {

namespace {

[[noreturn]] void throw_absent(const std::filesystem::path& file) {
  throw std::runtime_error(file.string() +
                           ": VTKHDF files need HDF5, which this build lacks; install libhdf5-dev "
                           "or set the CMake option HDF5_ROOT, then configure and build again");
}

}  // namespace

void write_vtkhdf(const std::filesystem::path& file, const snapshot&) { throw_absent(file); }

struct vtkhdf_writer::impl {
  vtkhdf_place place;
};

vtkhdf_writer::vtkhdf_writer(const std::filesystem::path& file, const snapshot&) {
  throw_absent(file);
}

vtkhdf_writer::~vtkhdf_writer() = default;

const vtkhdf_place& vtkhdf_writer::place() const { return m_impl->place; }

void vtkhdf_writer::commit() {}

}  // namespace stars
