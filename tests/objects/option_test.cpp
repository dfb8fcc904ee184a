// SPDX-License-Identifier: Apache-2.0
// Options of the modules below objects, which all register theirs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <string>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace {

using namespace starling;

void print_help() {
  dup2(2, 1);  // the death test reads stderr
  std::string program = "program", help = "--starling-help";
  char* words[] = {program.data(), help.data(), nullptr};
  int count = 2;
  static_cast<void>(runtime_options::parse(count, words));
}

TEST(help, lists_the_options_of_all_modules) {
  EXPECT_EXIT(print_help(), testing::ExitedWithCode(0),
              // CLI11 writes a default as "=0" or, from 2.2 on, as " [0]".
              "Programs that use starling::device.*--starling-backend NAME.*"
              "--starling-streams NUMBER( \\[|=)16.*--starling-device-mapping NAME.*"
              "Programs that use starling::objects.*--starling-peer-memory NAME.*"
              "--starling-chaos-migrate PERCENT( \\[|=)0.*"
              "--starling-send-limit MIB( \\[|=)4096.*"
              "Programs that use starling::net.*--starling-heartbeat SECONDS( \\[|=)1");
}

}  // namespace
