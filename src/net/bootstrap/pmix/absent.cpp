// SPDX-License-Identifier: Apache-2.0
#include "../implementations.hpp"

/// Replacement of pmix_bootstrap.cpp in a build without PMIx.
namespace starling::detail {

std::unique_ptr<bootstrap> make_pmix_bootstrap() {
  throw backend_unavailable(
      "this program was started by mpirun, prterun or srun (PMIX_RANK is set), but its Starling "
      "was "
      "built without PMIx: configure with -DSTARLING_PMIX=ON, start the ranks with `starling "
      "launch`, or unset PMIX_RANK to run one rank alone");
}

}  // namespace starling::detail
