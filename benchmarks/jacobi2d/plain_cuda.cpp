// SPDX-License-Identifier: Apache-2.0
//
// Jacobi's method in two dimensions with CUDA alone: one resident kernel on each GPU runs all
// steps. See README.md.
#include "plain_cuda.hpp"

#include <cstdlib>

#include "by_hand.hpp"

namespace {

/// Returns the part of a GPU, as a grid of its own.
by_hand::extent share_of_one(by_hand::extent n, int gpus) { return {n.x, (n.y + gpus - 1) / gpus}; }

int measure_all(const by_hand::settings& chosen, int kernel_rows, by_hand::bench::report& out) {
  const int found = by_hand::device_count();
  if (found == 0) {
    fmt::print(stderr, "plain_cuda: no CUDA device is here; nothing was measured\n");
    return by_hand::bench::exit_no_device;
  }
  if (chosen.run.gpus > found)
    throw std::invalid_argument(
        fmt::format("--gpus {}: there are {}; ask for fewer", chosen.run.gpus, found));
  out.config("kernel_rows", kernel_rows);
  out.print_heading();
  by_hand::measure_step(chosen, out, [&](const jacobi2d::problem& start, bool spoilt) {
    return by_hand::steps_of_all(chosen.run, start, spoilt);
  });
  by_hand::measure(chosen, "kernel", share_of_one(chosen.cells(), chosen.run.gpus), out,
                   [&](const jacobi2d::problem& start, bool spoilt) {
                     return by_hand::kernel_alone(chosen.run, kernel_rows, start, spoilt);
                   });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // With lazy loading, a kernel's first launch may wait for a running kernel that waits for it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  by_hand::settings chosen;
  int kernel_rows = 32;
  CLI::App app("Jacobi's method by hand: a kernel that stays on each GPU, and the update alone");
  by_hand::add_options(app, chosen);
  app.add_option("--kernel-rows", kernel_rows, "kernel alone: rows for a block")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  return by_hand::main_of(argc, argv, "plain_cuda", app, chosen, {"step", "kernel"},
                          [&](auto& out) { return measure_all(chosen, kernel_rows, out); });
}
