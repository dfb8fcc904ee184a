// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/files.hpp"
#include "common/output_error.hpp"

namespace stars {

using apps::check_writable;
using apps::output_error;
using apps::output_file;
using apps::positioned_file;
using apps::staged_output;
using apps::throw_system_error;
using apps::write_whole;

}  // namespace stars
