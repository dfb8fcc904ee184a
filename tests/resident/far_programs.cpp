// SPDX-License-Identifier: Apache-2.0
// The programs of these tests for devices that do not map each other's memory.
#include <starling/resident/interop/host_far.hpp>

#include "programs.hpp"

namespace {

template <class Program>
using code = starling::resident::host::instantiate_far<Program>;

[[maybe_unused]] const bool entered =
    starling_test::enter_programs<code>() && code<starling_test::metronome_program>::entered;

}  // namespace
