// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "driver.hpp"

namespace starling::resident::detail {

/// What a program's failure is thrown as: a resident_error that says where, what and what to do.
[[nodiscard]] std::exception_ptr make_error(const failure_record& record,
                                            const program_description& program,
                                            const std::vector<array_info>& arrays);

/// A line for each of the first elements that wait for something. At rest, or after the end.
[[nodiscard]] std::string describe_waits(const driver& memory, const world& w,
                                         const program_description& program,
                                         const std::vector<array_info>& arrays);

}  // namespace starling::resident::detail
