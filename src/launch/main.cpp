// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "balance/command.hpp"
#include "job.hpp"
#include "options.hpp"
#include "resize_command.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "balance") return starling::launch::run_balance(argc - 1, argv + 1);
  if (command == "resize") return starling::launch::run_resize(argc - 1, argv + 1);
  const starling::launch::parsed parsed = starling::launch::parse_command_line(argc, argv);
  if (!parsed.launch) return parsed.exit_code;
  try {
    return starling::launch::run_job(*parsed.launch);
  } catch (const std::exception& fault) {
    fmt::print(stderr, "starling launch: {}\n", fault.what());
    return 1;
  }
}
