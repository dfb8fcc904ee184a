// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "../implementations.hpp"
#include "local_session.hpp"

namespace starling::detail {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw bootstrap_error(
        fmt::format("{} is not set, but other STARLING_LAUNCH_… variables are: start the program "
                    "with `starling launch`, or unset all of them",
                    name));
  }
  return value;
}

int number(const char* name, int least, int most) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw bootstrap_error(fmt::format(
        "{} is '{}', not a number from {} to {}: leave it to `starling launch` to set it", name,
        text, least, most));
  }
  return value;
}

/// Reads the settings. @throws bootstrap_error naming the variable that is missing or wrong;
/// option_error for a bad STARLING_BOOTSTRAP_TIMEOUT
local_settings settings_of_environment() {
  local_settings found;
  found.socket = variable("STARLING_LAUNCH_SOCKET");
  found.size = number("STARLING_LAUNCH_SIZE", 1, wire::rank_limit);
  found.rank = number("STARLING_LAUNCH_RANK", 0, found.size - 1);
  const auto secret = wire::from_hex(variable("STARLING_LAUNCH_SECRET"));
  if (!secret) {
    throw bootstrap_error(
        "STARLING_LAUNCH_SECRET is not 32 hexadecimal digits: leave it to `starling launch` to set "
        "it");
  }
  found.secret = *secret;
  found.timeout = bootstrap_timeout();
  return found;
}

}  // namespace

std::unique_ptr<bootstrap> make_local_bootstrap() {
  static local_session of_process(settings_of_environment());
  return lend(of_process);
}

}  // namespace starling::detail
