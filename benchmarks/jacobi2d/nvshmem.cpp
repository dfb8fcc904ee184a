// SPDX-License-Identifier: Apache-2.0
//
// Jacobi's method in two dimensions with NVSHMEM: a process for each GPU. See README.md.
#include "nvshmem.hpp"

#include <algorithm>
#include <cstdlib>

#include "by_hand.hpp"
#include "processes.hpp"

namespace {

using namespace by_hand;

constexpr int most_gpus = 64;

/// Memory that all PEs of a run share.
struct blackboard {
  unique_id id;
  meeting all;
  outcome outcomes[most_gpus];
};

/// Runs a PE in its own process. It checks that its GPU exists, as the parent must not use CUDA.
int be_pe(const settings& chosen, int pe, const jacobi2d::problem& start, bool spoilt,
          blackboard& shared) {
  const int found = device_count();
  if (found == 0) return bench::exit_no_device;
  if (pe >= found) {
    fmt::print(stderr, "--gpus {}: there are {}; ask for fewer\n", chosen.run.gpus, found);
    return bench::exit_bad_usage;
  }
  if (pe == 0) make(shared.id);
  const auto meet = [&] { shared.all.of(chosen.run.gpus); };
  meet();
  shared.outcomes[pe] = steps_of_pe({chosen.run, pe, shared.id, meet}, start, spoilt && pe == 0);
  return 0;
}

outcome steps_of_all(const settings& chosen, const jacobi2d::problem& start, bool spoilt) {
  const int gpus = chosen.run.gpus;
  const shared_memory<blackboard> shared;
  in_processes(gpus, [&](int pe) { return be_pe(chosen, pe, start, spoilt, *shared); });
  outcome total;
  for (int pe = 0; pe < gpus; ++pe) {
    total.seconds = std::max(total.seconds, shared->outcomes[pe].seconds);
    total.found.add(shared->outcomes[pe].found);
  }
  return total;
}

int measure_all(const settings& chosen, bench::report& out) {
  if (chosen.run.gpus > most_gpus)
    throw std::invalid_argument(fmt::format("--gpus {}: at most {}", chosen.run.gpus, most_gpus));
  // Called here, so that its error is reported once.
  static_cast<void>(jacobi2d::decompose(chosen.cells(), chosen.run.gpus));
  out.print_heading();
  try {
    measure_step(chosen, out, [&](const jacobi2d::problem& start, bool spoilt) {
      return steps_of_all(chosen, start, spoilt);
    });
  } catch (const process_failed& e) {
    if (e.code != bench::exit_no_device && e.code != bench::exit_bad_usage) throw;
    if (e.code == bench::exit_no_device)
      fmt::print(stderr, "nvshmem: no CUDA device is here; nothing was measured\n");
    return e.code;
  }
  return 0;
}

/// Sets up NVSHMEM for one host, without networks. Variables that the user has set are kept.
void set_environment(extent n, int gpus) {
  setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0);
  setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
  setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
  const jacobi2d::strip_layout largest({n.x, (n.y + gpus - 1) / gpus});
  constexpr long other = 256L << 20, usual = 1L << 30;
  const long needed = 2 * long{largest.size()} * long{sizeof(float)} + other;
  setenv("NVSHMEM_SYMMETRIC_SIZE", std::to_string(std::max(needed, usual)).c_str(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("Jacobi's method by hand: a process for each GPU, rows put by NVSHMEM");
  add_options(app, chosen);
  return main_of(argc, argv, "nvshmem", app, chosen, {"step"}, [&](auto& out) {
    set_environment(chosen.cells(), chosen.run.gpus);
    return measure_all(chosen, out);
  });
}
