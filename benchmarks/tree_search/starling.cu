// SPDX-License-Identifier: Apache-2.0
#include <starling/resident/interop/cuda_program.cuh>

#include "searchers.hpp"

template struct starling::resident::cuda::instantiate<tree_search::program>;
