// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <fmt/format.h>

#include "common/iterative_command_line.hpp"

namespace jacobi3d {
namespace {

class command_line : public apps::iterative_command_line {
 public:
  explicit command_line(settings& s)
      : iterative_command_line(
            "Jacobi's method in three dimensions: blocks are chares, their halos are exchanged "
            "on the device.",
            s) {
    begin_group("Problem");
    add_grid({&s.grid.x, &s.grid.y, &s.grid.z}, "cells along x, y and z");
    add_problem();
    begin_group("Blocks");
    add_chares("block");
    add_extents("--blocks", {&s.blocks.x, &s.blocks.y, &s.blocks.z},
                "blocks along x, y and z, for any number of workers")
        ->excludes("--odf");
    add_ways(s);
    add_checkpoints();
    add_run();
  }

 private:
  void add_ways(settings& s) {
    using apps::by_name;
    add_choice(
        "--fusion", s.fusion,
        by_name({fusion_kind::none, fusion_kind::a, fusion_kind::b, fusion_kind::c}),
        "direct: fused kernels: none; A: packing; B: packing, unpacking; C: these and the update");
    add_choice("--wait", s.wait,
               by_name({wait_kind::synchronous, wait_kind::polling, wait_kind::work_request,
                        wait_kind::asynchronous}),
               "staged: how a block waits for the copies of its faces to the host");
    add_flag("--overlap", s.overlap, "update a block's interior while its faces are on their way");
    add_choice("--streams-of", s.streams, by_name({stream_owner::block, stream_owner::device}),
               "streams belong to each block or to each device");
  }
};

}  // namespace

void complete_settings(settings& s) {
  apps::require_fitting_exchange(s);
  if (s.exchange == exchange_kind::staged && s.fusion != fusion_kind::none)
    throw starling::option_error(
        fmt::format("--exchange staged with --fusion {}: an iteration's transfers lie between its "
                    "kernels; choose --exchange direct",
                    name_of(s.fusion)));
  if (s.exchange == exchange_kind::direct && s.wait != wait_kind::asynchronous)
    throw starling::option_error(
        fmt::format("--wait {} with --exchange direct, where no block waits for its faces on the "
                    "host; choose --exchange staged",
                    name_of(s.wait)));
  if (s.overlap && s.in_one_stream())
    throw starling::option_error(fmt::format(
        "--overlap with {}: there the whole block follows its faces; leave one of them out",
        s.graphs ? "--graphs" : "--fusion C"));
  // With this completion a worker blocks until the stream is complete.
  const bool synchronous = s.wait == wait_kind::synchronous;
  const std::string completion = s.runtime.get("completion", synchronous ? "block" : "");
  if (s.exchange == exchange_kind::staged && synchronous != (completion == "block"))
    throw starling::option_error(
        fmt::format("--wait {} with --completion {}: a synchronous wait means completion by block, "
                    "and the other waits exclude it; leave one of them out",
                    name_of(s.wait), completion));
  if (synchronous) s.runtime.extra["completion"] = completion;
}

settings read_settings(int argc, char** argv) {
  settings s;
  s.runtime = starling::runtime_options::parse(argc, argv);
  command_line(s).parse(argc, argv);
  complete_settings(s);
  return s;
}

}  // namespace jacobi3d
