// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ucp/api/ucp.h>

namespace starling::detail {

/// Returns parameters of a UCX operation that calls a callback with `user_data` at completion.
inline ucp_request_param_t request(std::uint32_t more_fields, void* user_data) noexcept {
  ucp_request_param_t p{};
  p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | more_fields;
  p.user_data = user_data;
  return p;
}

}  // namespace starling::detail
