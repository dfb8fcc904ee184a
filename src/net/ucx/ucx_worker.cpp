// SPDX-License-Identifier: Apache-2.0
#include "ucx_worker.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include <ucs/debug/log_def.h>

#include <starling/net/bootstrap.hpp>

namespace starling::detail {
namespace {

/// Interval at which UCX checks that peers are alive, unless UCX_KEEPALIVE_INTERVAL is set.
constexpr const char* keepalive = "1s";

std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> read_configuration(bool uses_posix_memory) {
  ucp_config_t* read = nullptr;
  check_ucx(ucp_config_read(nullptr, nullptr, &read), "ucp_config_read");
  std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> owner(read, &ucp_config_release);
  if (std::getenv("UCX_KEEPALIVE_INTERVAL") == nullptr)
    check_ucx(ucp_config_modify(read, "KEEPALIVE_INTERVAL", keepalive), "ucp_config_modify");
  if (!uses_posix_memory) check_ucx(ucp_config_modify(read, "TLS", "^posix"), "ucp_config_modify");
  return owner;
}

/// Log handler that drops warnings: UCX prints several lines for each request not completed.
ucs_log_func_rc_t drop_warnings(const char*, unsigned, const char*, ucs_log_level_t level,
                                const ucs_log_component_config_t*, const char*, va_list) {
  return level == UCS_LOG_LEVEL_WARN ? UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

/// Log handler that prints on stderr. UCX prints on stdout, where the program's results are, for
/// example when a peer is killed while it is being connected.
ucs_log_func_rc_t print_on_stderr(const char* file, unsigned line, const char*,
                                  ucs_log_level_t level, const ucs_log_component_config_t*,
                                  const char* format, va_list arguments) {
  char message[1024];
  std::vsnprintf(message, sizeof message, format, arguments);
  const std::string_view path(file);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::fprintf(stderr, "UCX %s: %s (%.*s:%u)\n", ucs_log_level_names[level], message,
               int(name.size()), name.data(), line);
  return UCS_LOG_FUNC_RC_STOP;
}

/// Installs `print_on_stderr` for the remainder of the process, unless UCX_LOG_FILE is set.
void redirect_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("UCX_LOG_FILE") == nullptr) ucs_log_push_handler(&print_on_stderr);
  });
}

}  // namespace

void check_ucx(ucs_status_t status, const char* call) {
  if (status != UCS_OK)
    throw bootstrap_error(std::string("UCX: ") + call + ": " + ucs_status_string(status) +
                          "; UCX_LOG_LEVEL=info prints details");
}

ucx_worker::ucx_worker(bool uses_posix_memory) {
  redirect_log();
  const auto config = read_configuration(uses_posix_memory);
  ucp_params_t wanted{};
  wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  wanted.features = UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  wanted.name = "starling";
  check_ucx(ucp_init(&wanted, config.get(), &m_context), "ucp_init");
  ucp_worker_params_t how{};
  how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  how.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(m_context, &how, &m_worker);
  if (status == UCS_OK) {
    status = ucp_worker_get_efd(m_worker, &m_events);
    ucp_worker_attr_t found{};
    found.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
    if (status == UCS_OK) status = ucp_worker_query(m_worker, &found);
    m_largest_header = found.max_am_header;
    if (status == UCS_OK) return;
    ucp_worker_destroy(m_worker);
  }
  ucp_cleanup(m_context);
  check_ucx(status, "ucp_worker_create");
}

ucx_worker::~ucx_worker() {
  const bool is_quiet = m_has_leftovers && std::getenv("UCX_LOG_LEVEL") == nullptr;
  if (is_quiet) ucs_log_push_handler(&drop_warnings);
  ucp_worker_destroy(m_worker);
  ucp_cleanup(m_context);
  if (is_quiet) ucs_log_pop_handler();
}

std::string ucx_worker::address() const {
  ucp_address_t* own = nullptr;
  std::size_t bytes = 0;
  check_ucx(ucp_worker_get_address(m_worker, &own, &bytes), "ucp_worker_get_address");
  const auto release = [&](ucp_address_t* a) { ucp_worker_release_address(m_worker, a); };
  const std::unique_ptr<ucp_address_t, decltype(release)> owner(own, release);
  return {reinterpret_cast<const char*>(own), bytes};
}

void ucx_endpoint::connect(ucp_worker_h worker, const std::string& address, bool is_near,
                           ucp_err_handler_cb_t on_error, void* context) {
  m_is_near = is_near;
  ucp_ep_params_t to{};
  to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                  UCP_EP_PARAM_FIELD_ERR_HANDLER;
  to.address = reinterpret_cast<const ucp_address_t*>(address.data());
  to.err_mode = is_near ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  // Without an error handler UCX ends the program at an error.
  to.err_handler = {on_error, context};
  check_ucx(ucp_ep_create(worker, &to, &m_endpoint), "ucp_ep_create");
}

ucs_status_ptr_t ucx_endpoint::flush() noexcept {
  // A flush of an endpoint to a process of this host could wait for ever if that rank has failed.
  if (m_endpoint == nullptr || m_is_near) return nullptr;
  const ucp_request_param_t how{};
  return ucp_ep_flush_nbx(m_endpoint, &how);
}

ucs_status_ptr_t ucx_endpoint::close(bool at_once) noexcept {
  ucp_ep_h gone = std::exchange(m_endpoint, nullptr);
  // An endpoint to a process of this host cannot be closed by force; it is freed with its worker.
  if (gone == nullptr || (at_once && m_is_near)) return nullptr;
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = at_once ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  return ucp_ep_close_nbx(gone, &how);
}

}  // namespace starling::detail
