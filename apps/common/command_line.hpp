// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <starling/core/error.hpp>
#include <starling/core/options.hpp>

namespace apps {

/// Upper limit of the options that take a number of cells, blocks, or iterations between checks.
inline constexpr int most_pieces = 1 << 20;

/// Returns a map from the name (`name_of`) of each kind to the kind.
template <class Kind>
std::map<std::string, Kind> by_name(std::initializer_list<Kind> kinds) {
  std::map<std::string, Kind> names;
  for (const Kind kind : kinds) names[name_of(kind)] = kind;
  return names;
}

/// The options of a program, in groups. Added variables must outlive `parse`.
class command_line {
 public:
  explicit command_line(const std::string& about) : m_app(about) {}

  /// Sets the group of the options added after this call.
  void begin_group(const std::string& name) { m_group = name; }

  template <class Value>
  CLI::Option* add(const char* name, Value& value, const std::string& help) {
    return m_app.add_option(name, value, help)->capture_default_str()->group(m_group);
  }
  template <class Kind>
  void add_choice(const char* name, Kind& value, const std::map<std::string, Kind>& names,
                  const std::string& help) {
    m_app.add_option(name, value, fmt::format("{} [{}]", help, name_of(value)))
        ->transform(CLI::CheckedTransformer(names).description(""))
        ->group(m_group);
  }
  /// Adds `--grid`: the number of cells along each axis.
  void add_grid(const std::vector<int*>& cells, const std::string& help) {
    std::string now;
    for (const int* n : cells) now += (now.empty() ? "" : " ") + std::to_string(*n);
    add_extents("--grid", cells, help)->default_str(now);
  }
  /// Adds an option of one number for each axis, each from 1 to `most_pieces`.
  CLI::Option* add_extents(const char* name, const std::vector<int*>& extents,
                           const std::string& help) {
    const auto store = [extents](const std::vector<int>& words) {
      for (std::size_t i = 0; i < extents.size(); ++i) *extents[i] = words[i];
    };
    return m_app.add_option_function<std::vector<int>>(name, store, help)
        ->expected(int(extents.size()))
        ->check(CLI::Range(1, most_pieces))
        ->group(m_group);
  }
  CLI::Option* add_flag(const char* name, bool& value, const std::string& help) {
    return m_app.add_flag(name, value, help)->group(m_group);
  }
  /// Adds short forms of the runtime's own options.
  void add_runtime(starling::runtime_options& options) {
    m_runtime = &options;
    begin_group("Runtime (short forms of --starling-…)");
    add("--workers", options.workers, "worker threads; 0: one for each core")
        ->check(CLI::Range(0, 4096));
    for (const char* name : {"backend", "completion", "devices", "device-mapping"})
      m_app.add_option(std::string("--") + name, m_extra[name], "see --starling-help")
          ->group(m_group);
    add("--trace", options.trace_file, "timeline for ui.perfetto.dev");
  }

  /// Reads the command line. Prints the help and exits on --help.
  /// @throws starling::option_error that names the option, its value and the accepted values
  void parse(int argc, char** argv) {
    try {
      m_app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
      std::exit(m_app.exit(e));
    } catch (const CLI::ParseError& e) {
      throw starling::option_error(fmt::format("{} (see --help)", e.what()));
    }
    for (const auto& [name, value] : m_extra)
      if (!value.empty()) m_runtime->extra[name] = value;
  }

 private:
  CLI::App m_app;
  std::string m_group;
  starling::runtime_options* m_runtime = nullptr;
  std::map<std::string, std::string> m_extra;
};

}  // namespace apps
