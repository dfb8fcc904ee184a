// SPDX-License-Identifier: Apache-2.0
// Linked in place of restart_hdf5_*.cpp if HDF5 was not found.
#include <stdexcept>

#include "io/restart.hpp"

namespace stars {

namespace {

[[noreturn]] void throw_absent(const std::filesystem::path& file) {
  throw std::runtime_error(file.string() +
                           ": restart files need HDF5, which this build lacks; install libhdf5-dev "
                           "or set the CMake option HDF5_ROOT, then configure and build again");
}

}  // namespace

bool restart_available() noexcept { return false; }

void write_restart(const std::filesystem::path& file, const restart&) { throw_absent(file); }

restart read_restart(const std::filesystem::path& file) { throw_absent(file); }

restart read_restart_header(const std::filesystem::path& file) { throw_absent(file); }

std::vector<double> read_restart_part(const std::filesystem::path& file, int, int) {
  throw_absent(file);
}

struct restart_writer::impl {
  restart_place place;
};

restart_writer::restart_writer(const std::filesystem::path& file, const restart&) {
  throw_absent(file);
}

restart_writer::~restart_writer() = default;

const restart_place& restart_writer::place() const { return m_impl->place; }

void restart_writer::commit(std::span<const std::uint32_t>) {}

}  // namespace stars
