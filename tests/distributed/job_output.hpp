// SPDX-License-Identifier: Apache-2.0
// What jobs print that were started again.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "command.hpp"

namespace distributed {

/// Returns how often `text` contains `part`.
inline int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

/// Returns how often the launcher has started the ranks again.
inline int restarts_of(const outcome& job) { return count(job.errors, "starting the ranks again"); }

/// Expects the digest and nothing else. A rank may be killed after the digest has been printed;
/// then it is printed again.
inline void expect_digest(const outcome& end, const std::string& digest) {
  EXPECT_EQ(end.code, 0) << end.errors;
  std::string digests = end.output;
  while (digests.size() > digest.size() && digests.starts_with(digest))
    digests.erase(0, digest.size());
  EXPECT_EQ(digests, digest) << end.output << end.errors;
}

}  // namespace distributed
