// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "report.hpp"

namespace starling::bench {

/// Changes nothing in the options of the runtime.
struct as_parsed {
  void operator()(runtime_options&) const {}
};

/// The main function of a benchmark that runs as a job, alone or under a launcher: parses the
/// options of the runtime and those of `app`, which set `chosen`, and runs the task that
/// `lead(report&)` returns on rank 0. `prepare(options)` may change the runtime's options after
/// both have been parsed. Returns the exit code; prints errors with the program's name.
template <class Lead, class Prepare = as_parsed>
[[nodiscard]] int run_job(const char* name, int argc, char** argv, CLI::App& app, options& chosen,
                          const std::vector<std::string>& questions, Lead lead,
                          Prepare prepare = {}) {
  runtime_options from_user;
  try {
    from_user = runtime_options::parse(argc, argv);
  } catch (const option_error& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return exit_bad_usage;
  }
  return exit_code_of(name, app, [&] {
    app.parse(argc, argv);
    require_known(chosen, questions);
    require_writable(chosen.json);
    from_user.workers = unsigned(chosen.workers);
    prepare(from_user);
    report out(name, chosen);
    runtime rt(from_user);
    return starling::run(rt, lead(out));
  });
}

}  // namespace starling::bench
