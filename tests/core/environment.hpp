// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace starling_test {

/// Sets an environment variable for one test.
class variable {
 public:
  variable(const char* name, const char* value) : m_name(name) {
    if (const char* old = std::getenv(name)) m_old = old;
    setenv(name, value, 1);
  }
  ~variable() {
    if (m_old)
      setenv(m_name, m_old->c_str(), 1);
    else
      unsetenv(m_name);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  const char* m_name;
  std::optional<std::string> m_old;
};

}  // namespace starling_test
