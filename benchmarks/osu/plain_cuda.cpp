// SPDX-License-Identifier: Apache-2.0
//
// The floor of transfers between devices: copies between two devices of one process. See README.md.
#include "plain_cuda.hpp"

#include <cstdio>
#include <vector>

#include "problems.hpp"

namespace {

using osu::measure, osu::question;

/// Returns whether all bytes of all slots arrive.
bool arrives_whole(osu::peer_copies& copies, const question& q) {
  const bool both = q.what != measure::bandwidth;
  std::vector<std::byte> sent(q.bytes), got(q.bytes);
  osu::fill(sent, 0);
  const auto stamp = [&](int slot, int from) { osu::stamp(sent, std::uint64_t(2 * slot + from)); };
  for (int slot = 0; slot < q.window; ++slot)
    for (int from = 0; from <= int(both); ++from) {
      stamp(slot, from);
      copies.write(from, slot, sent);
    }
  copies.windows(1, both);
  bool is_right = true;
  for (int slot = 0; slot < q.window; ++slot)
    for (int from = 0; from <= int(both); ++from) {
      stamp(slot, from);
      copies.read(1 - from, slot, got);
      is_right = got == sent && is_right;
    }
  return is_right;
}

void ask_all(const osu::options& chosen, osu::bench::report& out) {
  out.print_heading();
  for (const auto& [name, q] : osu::questions(chosen)) {
    osu::peer_copies copies(q.bytes, q.window);
    const bool is_right = arrives_whole(copies, q) && !chosen.breaks(name);
    osu::bench::sampling runs(chosen, name, q.messages());
    while (runs.wants_more()) {
      runs.begin();
      if (q.what == measure::latency)
        copies.to_and_fro(q.rounds);
      else
        copies.windows(q.rounds, q.what == measure::bidirectional);
      runs.end();
      runs.judge(is_right);
    }
    osu::add(out, q, runs.result());
  }
}

}  // namespace

int main(int argc, char** argv) {
  osu::options chosen;
  CLI::App app("Copies between two devices of one process, or within one where there is no other");
  return osu::main_of("osu_plain_cuda", app, chosen, argc, argv, [&] {
    if (osu::cuda_device_count() == 0) {
      std::fprintf(stderr, "osu_plain_cuda: no CUDA device is here; nothing was measured\n");
      return osu::bench::exit_no_device;
    }
    osu::report out("osu_plain_cuda", chosen);
    out.config("devices", osu::cuda_device_count());
    ask_all(chosen, out);
    out.write(chosen.json);
    return out.exit_code();
  });
}
