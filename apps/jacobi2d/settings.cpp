// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <string>

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
    add("--strips", s.strips, "strips for any number of workers; 0: by --odf")
        ->check(CLI::Range(0, apps::most_pieces))
        ->excludes("--odf");
    begin_group("Resident strips");
    add_choice(
        "--resident", s.resident,
        apps::by_name(
            {resident_kind::none, resident_kind::synchronous, resident_kind::asynchronous}),
        "strips run without the host: asynchronous, each as soon as its neighbours' rows are "
        "there, or synchronous, with a barrier of all; --odf is for each scheduler");
    add("--schedulers", s.schedulers,
        "schedulers of a device; 0: one for each multiprocessor, on the host for each worker")
        ->check(CLI::Range(0, 65535));
    add("--scheduler-threads", s.scheduler_threads,
        "threads of a scheduler; 0: on a device as many as its registers allow, 704 for one "
        "scheduler on a multiprocessor; on the host one")
        ->check(CLI::Range(0, 1024));
    add_checkpoints();
    add_run();
  }
};

void require_fitting_residence(const settings& s) {
  if (s.resident == resident_kind::none) return;
  if (s.exchange == exchange_kind::staged || s.graphs)
    throw starling::option_error(
        std::string(s.graphs ? "--graphs" : "--exchange staged") +
        " with --resident: resident strips send rows to each other by themselves");
  if (s.strips != 0)
    throw starling::option_error("--strips with --resident: there --odf is for each scheduler");
  const bool restarts = s.runtime.get("restart", "none") != "none";
  if (s.checkpoint_every > 0 || restarts)
    throw starling::option_error(
        std::string(restarts ? "--starling-restart" : "--checkpoint-every") +
        " with --resident: checkpoints have strips of the host only; leave one of them out");
}

}  // namespace

settings read_settings(int argc, char** argv) {
  settings s;
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  apps::require_fitting_exchange(s);
  require_fitting_residence(s);
  return s;
}

}  // namespace jacobi2d
