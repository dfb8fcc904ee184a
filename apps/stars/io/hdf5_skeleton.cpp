// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5_skeleton.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace stars::hdf5 {

namespace {

constexpr hsize_t page = 4096;  // of the caches of file systems: processes write different ones

/// A temporary file, in memory if the system has a file system there. Ranges that are not written
/// take no space. Its name is removed by `hide`, at the latest by the destructor.
class temporary_file {
 public:
  explicit temporary_file(const operation& op) : m_op(op) {
    m_descriptor = create("/dev/shm");
    if (m_descriptor < 0) m_descriptor = create(std::filesystem::temp_directory_path());
    if (m_descriptor < 0) throw_system_error(op.file, "make a temporary file");
  }
  ~temporary_file() {
    hide();
    ::close(m_descriptor);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] const std::string& path() const { return m_path; }
  void hide() {
    if (!m_path.empty()) ::unlink(m_path.c_str());
    m_path.clear();
  }

  [[nodiscard]] std::uint64_t size() const {
    struct ::stat status {};
    if (::fstat(m_descriptor, &status) != 0) throw_system_error(m_op.file, "read back");
    return static_cast<std::uint64_t>(status.st_size);
  }

  [[nodiscard]] skeleton::piece read(std::uint64_t begin, std::uint64_t end) const {
    skeleton::piece out{begin, std::vector<std::byte>(end - begin)};
    for (std::uint64_t done = 0; done < out.bytes.size();) {
      const auto count = ::pread(m_descriptor, out.bytes.data() + done, out.bytes.size() - done,
                                 static_cast<off_t>(begin + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw_system_error(m_op.file, "read back");
      done += static_cast<std::uint64_t>(count);
    }
    return out;
  }

 private:
  int create(const std::filesystem::path& folder) {
    m_path = (folder / "stars-XXXXXX").string();
    return ::mkostemp(m_path.data(), O_CLOEXEC);
  }

  const operation& m_op;
  std::string m_path;
  int m_descriptor = -1;
};

handle create_file(const operation& op, const std::string& path) {
  const handle access = op.own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "access");
  // Since version 1.8 the metadata of HDF5 files can have checksums.
  op.check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), "access");
  op.check(H5Pset_alignment(access.get(), page, page), "access");
  const handle creation = without_times(op, H5P_FILE_CREATE);
  return op.own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose,
                "temporary file");
}

}  // namespace

void skeleton::write(positioned_file& file) const {
  for (const piece& p : pieces) file.write(p.begin, p.bytes);
}

void skeleton_builder::add_large_dataset(hid_t where, const std::string& name,
                                         std::span<const hsize_t> extents, hid_t stored) {
  const handle space =
      m_op.own(H5Screate_simple(int(extents.size()), extents.data(), nullptr), H5Sclose, name);
  const handle layout = without_times(m_op, H5P_DATASET_CREATE);
  m_op.check(H5Pset_alloc_time(layout.get(), H5D_ALLOC_TIME_EARLY), name);
  m_op.check(H5Pset_fill_time(layout.get(), H5D_FILL_TIME_NEVER), name);
  const handle data = m_op.own(
      H5Dcreate2(where, name.c_str(), stored, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
      H5Dclose, name);
  const haddr_t begin = H5Dget_offset(data.get());
  if (begin == HADDR_UNDEF) m_op.fail(name + ": " + last_error());
  m_datasets.push_back({begin, H5Dget_storage_size(data.get())});
}

skeleton make_skeleton(const operation& op, const std::function<void(skeleton_builder&)>& fill) {
  temporary_file temporary(op);
  skeleton out;
  {
    const handle file = create_file(op, temporary.path());
    temporary.hide();
    skeleton_builder builder(op, file.get());
    fill(builder);
    op.check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "temporary file");
    out.datasets = builder.m_datasets;
  }
  out.size = temporary.size();
  auto by_place = out.datasets;
  std::sort(by_place.begin(), by_place.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::uint64_t begin = 0;
  for (const skeleton::range& data : by_place) {
    if (data.begin > begin) out.pieces.push_back(temporary.read(begin, data.begin));
    begin = data.begin + data.size;
  }
  if (out.size > begin) out.pieces.push_back(temporary.read(begin, out.size));
  return out;
}

}  // namespace stars::hdf5
