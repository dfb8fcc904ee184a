// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "driver.hpp"

namespace starling::resident::detail {

/// Returns a resident_error for a program's failure, which names element, cause and remedy.
[[nodiscard]] std::exception_ptr make_error(const failure_record& record,
                                            const program_description& program,
                                            const std::vector<array_info>& arrays);

/// Returns the first waiting elements, a line for each reason. Valid at quiescence or after the
/// end.
[[nodiscard]] std::string describe_waits(const driver& memory, const program_description& program,
                                         const std::vector<array_info>& arrays);

}  // namespace starling::resident::detail
