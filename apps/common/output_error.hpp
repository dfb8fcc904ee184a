// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace apps {

/// A file could not be written or read. The text names the file, the operation and the reason;
/// `code()` is the system's error number, or 0 if the reason is the file's content.
class output_error : public std::runtime_error {
 public:
  output_error(const std::filesystem::path& file, std::string_view operation,
               std::string_view reason, int code = 0)
      : std::runtime_error(file.string() + ": cannot " + std::string(operation) + ": " +
                           std::string(reason)),
        m_code(code) {}

  [[nodiscard]] int code() const noexcept { return m_code; }

 private:
  int m_code;
};

/// Throws `output_error` with the text of a system error number (by default `errno`).
[[noreturn]] inline void throw_system_error(const std::filesystem::path& file,
                                            std::string_view operation, int code = errno) {
  throw output_error(file, operation, std::generic_category().message(code), code);
}

}  // namespace apps
