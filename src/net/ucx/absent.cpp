// SPDX-License-Identifier: Apache-2.0
#include "make_ucx.hpp"

namespace starling::detail {

std::unique_ptr<transport> make_ucx_transport(bootstrap&, const transport::options&) {
  throw backend_unavailable(
      "this Starling knows one rank only: it was built without UCX; install libucx-dev "
      "(`make deps`) and configure with -DSTARLING_UCX=ON");
}

}  // namespace starling::detail
