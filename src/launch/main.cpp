// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "balance/command.hpp"
#include "launcher.hpp"
#include "options.hpp"

namespace {

/// Opens /dev/null for missing standard descriptors, so that no file opened later takes their
/// place.
void open_standard_files() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) ::close(fd);
}

/// Runs the job, and again while restarts are left and a rank was lost. Returns the exit code.
int run_job(const starling::launch::options& chosen) {
  const auto before = starling::launch::take_over();
  for (int restarts = 0;; ++restarts) {
    starling::launch::launcher launcher(chosen, before, restarts);
    const int code = launcher.run();
    if (restarts == chosen.restarts || !launcher.has_lost_a_rank()) return code;
    fmt::print(stderr,
               "starling launch: starting the ranks again from their latest checkpoint (restart {} "
               "of {})\n",
               restarts + 1, chosen.restarts);
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  if (argc > 1 && std::string_view(argv[1]) == "balance")
    return starling::launch::run_balance(argc - 1, argv + 1);
  const starling::launch::parsed parsed = starling::launch::parse_command_line(argc, argv);
  if (!parsed.launch) return parsed.exit_code;
  try {
    return run_job(*parsed.launch);
  } catch (const std::exception& fault) {
    fmt::print(stderr, "starling launch: {}\n", fault.what());
    return 1;
  }
}
