// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/utsname.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "harness.hpp"

namespace starling::bench {

inline constexpr int exit_wrong_answer = 3;
inline constexpr int exit_bad_usage = 2;
inline constexpr int exit_failed = 1;
inline constexpr int exit_no_device = 77;  ///< "skipped" for the tests

/// Adds the common flags to a command line. CLI11 reports bad values with the flag's name.
inline void add_options(CLI::App& app, options& chosen) {
  app.add_option("--workers", chosen.workers, "Threads that may run tasks")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--only", chosen.only, "Run these questions alone, separated by commas")
      ->delimiter(',');
  app.add_option("--scale", chosen.scale, "Multiply every problem size")
      ->check(CLI::Range(1e-6, 1e3))
      ->capture_default_str();
  app.add_option("--repetitions", chosen.repetitions, "Timed runs of each question")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--warmups", chosen.warmups, "Untimed runs before them")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option("--json", chosen.json, "Write the report to this file");
  app.add_option("--commit", chosen.commit, "Commit to name in the report")
      ->envname("STARLING_COMMIT")
      ->capture_default_str();
  app.add_option("--break-answer", chosen.broken, "Spoil the answers of these questions")
      ->delimiter(',')
      ->group("");  // hidden: lets a test show that a check can fail
}

/// Reports names in `chosen` that are no question. @throws CLI::ValidationError
inline void require_known(const options& chosen, const std::vector<std::string>& questions) {
  for (const auto* list : {&chosen.only, &chosen.broken}) {
    for (const std::string& name : *list) {
      if (std::find(questions.begin(), questions.end(), name) != questions.end()) continue;
      std::string message = "no question '" + name + "'; there are:";
      for (const std::string& question : questions) message += ' ' + question;
      throw CLI::ValidationError(message);
    }
  }
}

/// Returns processor, number of logical CPUs, kernel and compiler in one line.
[[nodiscard]] inline std::string machine_description() {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    processor = line.substr(colon + 2);
    break;
  }
  utsname system{};
  const bool named = uname(&system) == 0;
  return fmt::format("{}, {} CPUs, {} {}, compiler {}", processor,
                     std::thread::hardware_concurrency(), named ? system.sysname : "unknown",
                     named ? system.release : "system", __VERSION__);
}

/// Returns the load average of the last minute; negative if the system has none.
[[nodiscard]] inline double load_average() {
  double load = -1.0;
  return getloadavg(&load, 1) == 1 ? load : -1.0;
}

/// Checks before the work that its report can be written. @throws std::runtime_error
inline void require_writable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return;
  throw std::runtime_error(fmt::format("cannot write '{}'", path));
}

/// Report of one run of one competitor: a flat JSON object with `name`, `config`, `metrics` (each
/// name ends in its unit), `checks`, `commit` and `machine`.
class report {
 public:
  report(std::string name, const options& chosen) : m_name(std::move(name)) {
    m_object = {{"name", m_name},
                {"config", nlohmann::ordered_json::object()},
                {"commit", chosen.commit},
                {"machine", machine_description()},
                {"metrics", nlohmann::ordered_json::object()},
                {"checks", nlohmann::ordered_json::object()}};
    config("workers", chosen.workers);
    config("repetitions", chosen.repetitions);
    config("scale", chosen.scale);
    config("load_average", load_average());
  }

  template <class Value>
  void config(const std::string& key, const Value& value) {
    m_object["config"][key] = value;
  }

  void check(const std::string& key, bool passed) {
    m_object["checks"][key] = passed;
    m_passed = m_passed && passed;
  }

  void metric(const std::string& key, double value) { m_object["metrics"][key] = value; }
  /// Returns the value recorded under `key`; 0 if there is none.
  [[nodiscard]] double metric(const std::string& key) const {
    return m_object["metrics"].value(key, 0.0);
  }

  /// Adds the measurement to the report and prints its line of the table.
  void add(const measurement& result) {
    metric(result.question + "_ns", result.median_ns);
    metric(result.question + "_min_ns", result.minimum_ns);
    metric(result.question + "_max_ns", result.maximum_ns);
    metric(result.question + "_cpu_ns", result.cpu_ns);
    check(result.question, result.correct);
    fmt::print("{:<22}{:>10} {:>11.1f} {:>11.1f} {:>11.1f} {:>11.1f}  {}\n", result.question,
               result.items, result.median_ns, result.minimum_ns, result.maximum_ns, result.cpu_ns,
               result.correct ? "ok" : "WRONG ANSWER");
    std::fflush(stdout);
  }

  void print_heading() const {
    fmt::print("{}, ns per item\n{:<22}{:>10}{:>12}{:>12}{:>12}{:>12}  {}\n", m_name, "question",
               "items", "median", "min", "max", "cpu", "answer");
  }

  /// Writes the report. @throws std::runtime_error if the file cannot be written completely
  void write(const std::string& path) const {
    if (path.empty()) return;
    std::ofstream file(path);
    file << m_object.dump(2) << '\n';
    file.close();
    if (!file) throw std::runtime_error(fmt::format("cannot write '{}'", path));
  }

  [[nodiscard]] int exit_code() const { return m_passed ? 0 : exit_wrong_answer; }

 private:
  std::string m_name;
  nlohmann::ordered_json m_object;
  bool m_passed = true;
};

/// Runs `body()`, which parses the command line and runs the benchmark, and returns the exit code.
/// Prints errors of the command line and of the run, with the program's name.
template <class Body>
[[nodiscard]] int exit_code_of(const char* name, CLI::App& app, Body body) {
  try {
    return body();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : exit_bad_usage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return exit_failed;
  }
}

/// Runs `body()` and returns its exit code, or `exit_bad_usage` if it throws std::invalid_argument:
/// for flags that prove wrong only after parsing.
template <class Body>
[[nodiscard]] int or_bad_usage(const char* name, Body body) {
  try {
    return body();
  } catch (const std::invalid_argument& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return exit_bad_usage;
  }
}

}  // namespace starling::bench
