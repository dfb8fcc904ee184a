// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace apps::test {

/// Returns the result of `read(argc, argv)` for the words of a command line.
template <class Read>
auto read_words(Read read, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  return read(int(words.size()), argv.data());
}

}  // namespace apps::test
