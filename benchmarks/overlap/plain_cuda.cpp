// SPDX-License-Identifier: Apache-2.0
//
// Jacobi's method with CUDA and threads alone, bulk-synchronous. See README.md.
#include "plain_cuda.hpp"

#include <cstdlib>

#include "bulk_synchronous.hpp"

int main(int argc, char** argv) {
  overlap::settings chosen;
  overlap::cuda_run how;
  CLI::App app("Jacobi's method by hand: a block and a thread for each GPU, bulk-synchronous");
  overlap::add_options(app, chosen);
  app.add_option("--gpus", how.gpus, "GPUs")->check(CLI::Range(1, 1024))->capture_default_str();
  std::string exchange = "direct";
  app.add_option("--exchange", exchange, "How faces travel: direct or staged")
      ->check(CLI::IsMember({"direct", "staged"}))
      ->capture_default_str();
  app.add_flag("--overlap", how.overlap, "Compute the interior while faces are on their way");
  return overlap::main_of(argc, argv, "plain_cuda", app, chosen, {"step"}, [&](auto& out) {
    const int found = overlap::device_count();
    if (found == 0) {
      fmt::print(stderr, "plain_cuda: no CUDA device is here; nothing was measured\n");
      std::exit(overlap::bench::exit_no_device);
    }
    if (how.gpus > found)
      throw std::invalid_argument(
          fmt::format("--gpus {}: there are {}; ask for fewer", how.gpus, found));
    how.staged = exchange == "staged";
    how.warmup = chosen.warmup;
    how.steps = chosen.steps();
    out.config("gpus", how.gpus);
    out.config("exchange", exchange);
    out.config("overlap", how.overlap);
    overlap::measure(chosen, "step", out, [&](const jacobi3d::problem& start) {
      return overlap::solve_on_devices(how, start);
    });
  });
}
