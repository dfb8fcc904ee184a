// SPDX-License-Identifier: Apache-2.0
#include <starling/net/transport.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include <starling/core/detail/module_options.hpp>
#include <starling/net/loopback.hpp>

#include "ucx/make_ucx.hpp"

namespace starling {
namespace {

constexpr const char* heartbeat_default = "1";
constexpr detail::option_entry entries[] = {
    {"heartbeat", "net", "SECONDS", heartbeat_default,
     "time between heartbeats of a rank; 0: no heartbeats"}};
[[gnu::init_priority(101)]] detail::module_options registered(entries);

}  // namespace

transport::options transport::options::read(const runtime_options& chosen) {
  const std::string text = chosen.get("heartbeat", heartbeat_default);
  double seconds = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (status != std::errc() || end != text.data() + text.size() || !(seconds >= 0) || seconds > 1e6)
    throw option_error("--starling-heartbeat (or STARLING_HEARTBEAT): '" + text +
                       "' is not a number of seconds from 0 to 1000000");
  options result;
  result.heartbeat =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  return result;
}

void transport::set_handler(unsigned number, handler h, void* context) {
  check_address(0, number);
  m_handlers[number] = {h, context};
}

void transport::set_failure_handler(failure_handler h, void* context) {
  m_on_failure = h;
  m_failure_context = context;
}

void transport::tell_failure(const rank_failure& what) const noexcept {
  m_on_failure(m_failure_context, what);
}

void transport::check_address(int to, unsigned number) const {
  if (to < 0 || to >= size())
    throw usage_error(fmt::format("rank {} does not exist: there are {}", to, size()));
  if (number >= handler_limit)
    throw usage_error(fmt::format("message handler {} does not exist: numbers are less than {}",
                                  number, handler_limit));
}

void transport::check(const transfer& t) const {
  check_address(t.peer, 0);
  if (t.tag >= transfer::tag_limit)
    throw usage_error(fmt::format("tag {} is too large: less than 2^40 is allowed", t.tag));
}

void transport::no_handler(void*, int from, message) noexcept {
  std::fprintf(stderr, "starling: a message of rank %d is for a handler that is not set\n", from);
}

void transport::end_program(void*, const rank_failure& what) noexcept {
  std::fprintf(stderr, "starling: %s\n", what.what());
  std::_Exit(EXIT_FAILURE);
}

std::exception_ptr transport::wrong_size(const transfer& t, std::size_t sent) {
  return std::make_exception_ptr(usage_error(
      fmt::format("transfer {} from rank {}: {} bytes were sent where {} are to be received", t.tag,
                  t.peer, sent, t.bytes)));
}

std::unique_ptr<transport> make_transport(bootstrap& ranks, transport_kind kind,
                                          const transport::options& options) {
  if (kind == transport_kind::loopback && ranks.size() > 1)
    throw bootstrap_error(fmt::format(
        "the loopback transport is for one rank, and there are {}; use ucx", ranks.size()));
  if (kind == transport_kind::ucx || ranks.size() > 1)
    return detail::make_ucx_transport(ranks, options);
  return loopback_network(1, options).connect(0);
}

}  // namespace starling
