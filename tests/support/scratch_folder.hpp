// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace starling_test {

/// A folder that is removed by the destructor.
class scratch_folder {
 public:
  explicit scratch_folder(
      const std::filesystem::path& below = std::filesystem::temp_directory_path()) {
    std::string path = below / "starling-test-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    m_path = path;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() { std::filesystem::remove_all(m_path); }
  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(m_path); }

 private:
  std::string m_path;
};

}  // namespace starling_test
