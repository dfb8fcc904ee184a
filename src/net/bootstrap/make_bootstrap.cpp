// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <fmt/format.h>

#include "implementations.hpp"

namespace starling {
namespace detail {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

std::unique_ptr<bootstrap> choose() {
  // `starling launch` takes precedence, because it may itself run under mpirun or in a batch job.
  for (const char* part : {"SOCKET", "SECRET", "RANK", "SIZE"}) {
    if (is_set(fmt::format("STARLING_LAUNCH_{}", part).c_str())) return make_local_bootstrap();
  }
  if (is_set("PMIX_RANK")) return make_pmix_bootstrap();
  return make_alone_bootstrap();
}

}  // namespace

void check_gather_size(const std::string& mine) {
  if (mine.size() <= gather_limit) return;
  throw usage_error(fmt::format(
      "bootstrap::all_gather of {} bytes: at most {} (1 MiB) from each rank; send larger data over "
      "the transport",
      mine.size(), gather_limit));
}

std::chrono::milliseconds bootstrap_timeout() {
  const char* text = std::getenv("STARLING_BOOTSTRAP_TIMEOUT");
  if (text == nullptr || *text == '\0') return std::chrono::seconds(60);
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0) || seconds > 1e6) {
    throw option_error(
        fmt::format("STARLING_BOOTSTRAP_TIMEOUT is '{}': give a number of seconds, above 0 and at "
                    "most 1000000",
                    text));
  }
  return std::chrono::milliseconds(static_cast<long>(seconds * 1000) + 1);
}

}  // namespace detail

std::unique_ptr<bootstrap> make_bootstrap() {
  std::unique_ptr<bootstrap> made = detail::choose();
  if (made->size() > 1) detail::compare_builds(*made, detail::own_build_id());
  return made;
}

}  // namespace starling
