// SPDX-License-Identifier: Apache-2.0
//
// The search with CUDA alone, level by level, driven by the host. See README.md.
#include "plain_cuda.hpp"

#include "questions.hpp"

namespace {

using namespace tree_search;

const std::string ahead = "_ahead";

void ask(const bench::options& chosen, const std::string& name, const tree& searched,
         level_search::look when, bench::report& out) {
  if (!chosen.runs(name)) return;
  asked runs(chosen, name, searched);
  level_search search(searched, when);
  while (runs.wants_more()) {
    runs.begin();
    const findings found = search.run();
    runs.end(found);
  }
  runs.add_to(out);
}

int run(const bench::options& chosen) {
  require_possible(chosen, {"", ahead});
  const std::string device = cuda_device_name();
  if (device.empty()) {
    fmt::print(stderr, "tree_search_plain_cuda: no CUDA device is here; nothing was measured\n");
    return bench::exit_no_device;
  }
  bench::report out("tree_search: plain_cuda", chosen);
  out.config("device", device);
  out.print_heading();
  for (const question& q : questions(chosen)) {
    ask(chosen, q.name, q.searched, level_search::look::each_level, out);
    ask(chosen, q.name + ahead, q.searched, level_search::look::some_levels, out);
  }
  out.write(chosen.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  bench::options chosen;
  CLI::App app("Search of an unbalanced tree by kernels that the host launches level by level");
  bench::add_options(app, chosen);
  return bench::exit_code_of("bench_tree_search_plain_cuda", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
