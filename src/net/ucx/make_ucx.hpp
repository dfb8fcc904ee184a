// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/net/transport.hpp>

namespace starling::detail {

/// Makes the UCX transport. Collective. @throws bootstrap_error; backend_unavailable where UCX is
/// not linked
[[nodiscard]] std::unique_ptr<transport> make_ucx_transport(bootstrap& ranks,
                                                            const transport::options& options);

}  // namespace starling::detail
