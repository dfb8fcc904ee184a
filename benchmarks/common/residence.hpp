// SPDX-License-Identifier: Apache-2.0
//
// Where the schedulers of a benchmark's resident program run: flags, options, report entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <starling/device.hpp>
#include <starling/objects.hpp>
#include <starling/resident.hpp>

#include "report.hpp"

namespace starling::bench {

/// Adds a flag for a number from 0 to `most`.
inline void add_count(CLI::App& app, const char* flag, int& value, int most, const char* help) {
  app.add_option(flag, value, help)->check(CLI::Range(0, most))->capture_default_str();
}

/// Schedulers of each rank of the job. 0: the default number for the place.
struct residence {
  resident::place place = resident::place::host;
  int devices = 1;
  int schedulers = 0;
  int threads = 0;

  [[nodiscard]] bool on_device() const { return place == resident::place::device; }

  void add_to(CLI::App& app) {
    const std::map<std::string, resident::place> named = {{"host", resident::place::host},
                                                          {"device", resident::place::device}};
    app.add_option("--place", place, "Schedulers run on: host, device")
        ->transform(CLI::CheckedTransformer(named))
        ->default_str("host");
    add_count(app, "--devices", devices, 8,
              "Devices of each rank, or as many groups of schedulers on the host");
    add_count(app, "--schedulers", schedulers, 4096,
              "Schedulers of each; 0: one for each multiprocessor, two on the host");
    add_count(app, "--threads", threads, 960, "Threads of each; 0: 128, on the host one");
  }
  /// Returns the options of the program. Call it on a worker.
  [[nodiscard]] resident::options options(runtime& rt) const {
    resident::options o;
    o.place = place;
    o.ranks = std::uint32_t(rank_count());
    o.devices = std::uint32_t(devices);
    const int units = starling::devices(rt).device(0).properties().compute_units;
    o.schedulers = std::uint32_t(schedulers != 0 ? schedulers : on_device() ? units : 2);
    o.threads = std::uint32_t(threads);
    return o;
  }
};

/// Runs the task `lead(rt)` with the chosen number of workers; ranks other than the first run the
/// work that the task starts there.
template <class Lead>
[[nodiscard]] int run_job(const options& chosen, const Lead& lead) {
  runtime_options ro = runtime_options::from_environment();
  ro.workers = unsigned(chosen.workers);
  runtime rt(ro);
  return run(rt, lead(rt));
}

inline void describe(report& out, const resident::options& o, runtime& rt) {
  out.config("place", o.place == resident::place::device ? "device" : "host");
  out.config("device", devices(rt).device(0).properties().name);
  out.config("ranks", o.ranks);
  out.config("devices", o.devices);
  out.config("schedulers", o.schedulers);
  out.config("threads", o.threads);
}

}  // namespace starling::bench
