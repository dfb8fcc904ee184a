// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling_test {

/// Runs the tests of this program that its arguments select; returns the result of `main`. A
/// failure in chaos mode prints how to repeat it, and a skip without an excuse on this machine is a
/// failure (expected_skips.hpp).
int run_all(int argc, char** argv);

}  // namespace starling_test
