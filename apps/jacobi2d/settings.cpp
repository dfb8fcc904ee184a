// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include "common/iterative_command_line.hpp"

namespace jacobi2d {
namespace {

class command_line : public apps::iterative_command_line {
 public:
  explicit command_line(settings& s)
      : iterative_command_line(
            "Jacobi's method in two dimensions: strips of rows are chares, which read their "
            "neighbours' rows in place.",
            s) {
    begin_group("Problem");
    add_grid({&s.grid.x, &s.grid.y}, "cells along x and y");
    add_problem();
    begin_group("Strips");
    add_chares("strip");
    add_run();
  }
};

}  // namespace

settings read_settings(int argc, char** argv) {
  settings s;
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  apps::require_fitting_exchange(s);
  return s;
}

}  // namespace jacobi2d
