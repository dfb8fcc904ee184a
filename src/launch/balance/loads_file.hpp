// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include <starling/objects/balance/snapshot.hpp>

namespace starling::launch {

/// Input or output of `starling balance` that cannot be used. The message names the file or the
/// word, the place in it, and the expected value.
class balance_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads recorded loads: a JSON object whose tables have one array for each column, as
/// docs/guide/balancing.md describes, or a history that `--starling-balance-report` has written.
/// `balancing`: number of the balancing in a history whose loads are read, from 1; 0: the last one.
/// @throws balance_error
[[nodiscard]] balance::snapshot read_loads(const std::string& path, std::size_t balancing = 0);

/// Writes the same format. @throws balance_error if the file cannot be written completely
void write_loads(const balance::snapshot& loads, const std::string& path);

}  // namespace starling::launch
