// SPDX-License-Identifier: Apache-2.0
// The programs of the tests of resident programs for devices that reach each other by NVSHMEM.
#include <starling/resident/interop/nvshmem_program.cuh>

#include "resident/programs.hpp"

namespace {

template <class Program>
using code = starling::resident::nvshmem::instantiate<Program>;

[[maybe_unused]] const bool entered =
    starling_test::enter_programs<code>() && code<starling_test::metronome_program>::entered;

}  // namespace
