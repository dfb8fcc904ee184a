// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace apps::test {

/// What `read(argc, argv)` makes of a command line's words.
template <class Read>
auto read_words(Read read, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  return read(int(words.size()), argv.data());
}

}  // namespace apps::test
