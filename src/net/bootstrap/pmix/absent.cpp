// SPDX-License-Identifier: Apache-2.0
#include "../implementations.hpp"

/// Stands in for PMIx in a build without it.
namespace starling::detail {

std::unique_ptr<bootstrap> make_pmix_bootstrap() {
  throw backend_unavailable(
      "this program was started by mpirun, prterun or srun (PMIX_RANK is set), but its Starling "
      "was "
      "built without PMIx: configure with -DSTARLING_PMIX=ON, start the ranks with `starling "
      "launch`, "
      "or unset PMIX_RANK to run one rank alone");
}

}  // namespace starling::detail
