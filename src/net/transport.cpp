// SPDX-License-Identifier: Apache-2.0
#include <starling/net/transport.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>

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
    throw usage_error("rank " + std::to_string(to) + " does not exist: there are " +
                      std::to_string(size()));
  if (number >= handler_limit)
    throw usage_error("message handler " + std::to_string(number) +
                      " does not exist: numbers are "
                      "less than " +
                      std::to_string(handler_limit));
}

void transport::check(const transfer& t) const {
  check_address(t.peer, 0);
  if (t.tag >= transfer::tag_limit)
    throw usage_error("tag " + std::to_string(t.tag) + " is too large: less than 2^40 is allowed");
}

std::array<transport::entry, transport::handler_limit> transport::make_handlers() noexcept {
  std::array<entry, handler_limit> all{};
  all.fill({&no_handler, nullptr});
  return all;
}

void transport::no_handler(void*, int from, message) noexcept {
  std::fprintf(stderr, "starling: a message of rank %d is for a handler that is not set\n", from);
}

void transport::end_program(void*, const rank_failure& what) noexcept {
  std::fprintf(stderr, "starling: %s\n", what.what());
  std::_Exit(EXIT_FAILURE);
}

std::exception_ptr transport::wrong_size(const transfer& t, std::size_t sent) {
  return std::make_exception_ptr(usage_error("transfer " + std::to_string(t.tag) + " from rank " +
                                             std::to_string(t.peer) + ": " + std::to_string(sent) +
                                             " bytes were sent where " + std::to_string(t.bytes) +
                                             " are to be received"));
}

std::unique_ptr<transport> make_transport(bootstrap& ranks, transport_kind kind,
                                          const transport::options& options) {
  if (kind == transport_kind::loopback && ranks.size() > 1)
    throw bootstrap_error("the loopback transport is for one rank, and there are " +
                          std::to_string(ranks.size()) + "; use ucx");
  if (kind == transport_kind::ucx || ranks.size() > 1)
    return detail::make_ucx_transport(ranks, options);
  return loopback_network(1, options).connect(0);
}

}  // namespace starling
