// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling_test {

/// Runs the tests of this program as its arguments choose them: what `main` returns. A failure in
/// chaos mode tells how to repeat it, and a skip that nothing on this machine excuses is a failure
/// (expected_skips.hpp).
int run_all(int argc, char** argv);

}  // namespace starling_test
