// SPDX-License-Identifier: Apache-2.0
#include <starling/core/options.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/detail/process_end.hpp>
#include <starling/core/error.hpp>

namespace starling {
namespace {

using detail::module_options;
using detail::option_entry;

constexpr std::string_view prefix = "--starling-";

constinit module_options* g_registered = nullptr;  // filled by static initialisers, then only read

std::string variable_of(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
  return "STARLING_" + name;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const char* accepted) {
  throw option_error(std::string(prefix) + name + " (or " + variable_of(name) + "): '" + value +
                     "' is not " + accepted);
}

/// Returns a number given as decimal, or as hexadecimal after 0x. @throws option_error
std::uint64_t number_of(const std::string& name, const std::string& value, std::uint64_t most,
                        const char* accepted) {
  const bool hex = value.starts_with("0x");
  std::uint64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, status] =
      std::from_chars(value.data() + (hex ? 2 : 0), end, number, hex ? 16 : 10);
  if (status != std::errc() || stop != end || number > most) refuse(name, value, accepted);
  return number;
}

bool truth_of(const std::string& name, const std::string& value) {
  for (const char* yes : {"1", "true", "on", "yes"})
    if (value == yes) return true;
  for (const char* no : {"0", "false", "off", "no"})
    if (value == no) return false;
  refuse(name, value, "one of true, false, on, off, yes, no, 1, 0");
}

binding binding_of(const std::string& value) {
  if (value == "auto") return binding::automatic;
  if (value == "core") return binding::core;
  if (value == "none") return binding::none;
  refuse("bind", value, "one of auto, core, none");
}

/// Reads values from the command line and the environment with CLI11; empty: not given.
class parser {
 public:
  explicit parser(const std::string& program = "") {
    m_app.name(program);
    m_app.set_help_flag("--starling-help", "print this list and exit");
    m_app.allow_extras();
    m_app.get_formatter()->column_width(42);
    add({"workers", "", "NUMBER", "0", "worker threads; 0: one for each usable core"}, m_workers);
    add({"bind", "", "NAME", "auto", "tie workers to cores: auto, core, none"}, m_bind);
    add({"spin", "", "MICROSECONDS", "50", "how long an idle worker looks for work"}, m_spin);
    add({"chaos", "", "SEED", "none", "shuffle order, delays and placement to find races"},
        m_chaos);
    add({"trace", "", "FILE", "none", "write a timeline for ui.perfetto.dev to this file"},
        m_trace);
    add_switch("summary", m_summary, "print a table of tasks, kernels and copies at the end [off]");
    add_switch("hang-diagnosis", m_hang_diagnosis,
               "end a run that hangs, with a list of awaiters [on]");
    for (const module_options* m = g_registered; m != nullptr; m = m->next)
      for (const option_entry& e : m->entries) add(e, m_extra.emplace_back(e.name, "").second);
  }

  /// Parses the arguments, which all belong to the runtime, and returns the options.
  [[nodiscard]] runtime_options parse(std::vector<std::string> arguments) {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // required by CLI11
    try {
      m_app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
      std::fprintf(stdout,
                   "Options of the Starling runtime, which every program has beside its own. Each "
                   "is also read from the variable in brackets; the flag wins.\n%s",
                   m_app.help().c_str());
      std::exit(0);
    } catch (const CLI::ParseError& e) {
      throw option_error(std::string(e.what()) + " (see --starling-help)");
    }
    for (const std::string& argument : m_app.remaining())
      if (argument.starts_with(prefix))
        throw option_error("unknown option " + argument + " (see --starling-help)");
    return options();
  }

 private:
  [[nodiscard]] runtime_options options() const {
    runtime_options o;
    if (!m_workers.empty())
      o.workers = unsigned(number_of("workers", m_workers, 4096, "a number from 0 to 4096"));
    if (!m_bind.empty()) o.bind = binding_of(m_bind);
    if (!m_spin.empty())
      o.spin_us = unsigned(number_of("spin", m_spin, 1000000, "a number from 0 to 1000000"));
    if (!m_chaos.empty()) o.chaos = number_of("chaos", m_chaos, ~0ULL, "a number of 64 bits");
    o.trace_file = m_trace;
    if (!m_summary.empty()) o.summary = truth_of("summary", m_summary);
    if (!m_hang_diagnosis.empty()) o.hang_diagnosis = truth_of("hang-diagnosis", m_hang_diagnosis);
    for (const auto& [name, value] : m_extra)
      if (!value.empty()) o.extra[name] = value;
    return o;
  }

  void add(const option_entry& about, std::string& word) {
    m_app.add_option(std::string(prefix) + about.name, word, about.help)
        ->envname(variable_of(about.name))
        ->type_name(about.type)
        ->default_str(about.fallback)
        ->group(group_of(about.module))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  /// Adds a switch: `--name`, `--name=false`, `--no-name`.
  void add_switch(const std::string& name, std::string& word, const std::string& help) {
    m_app
        .add_flag(std::string(prefix) + name + ",!" + std::string(prefix) + "no-" + name, word,
                  help)
        ->envname(variable_of(name))
        ->group(group_of(""))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  static std::string group_of(const std::string& module) {
    return module.empty() ? "Runtime" : "Programs that use starling::" + module;
  }

  CLI::App m_app;
  std::string m_workers, m_bind, m_spin, m_chaos, m_trace, m_summary, m_hang_diagnosis;
  // Names and values of the modules' options. A deque, because CLI11 keeps their addresses.
  std::deque<std::pair<const char*, std::string>> m_extra;
};

/// Whether the value of an argument of the runtime is the next argument.
bool takes_value(std::string_view argument) {
  if (argument.find('=') != argument.npos) return false;
  const std::string_view name = argument.substr(prefix.size());
  return name != "summary" && name != "no-summary" && name != "hang-diagnosis" &&
         name != "no-hang-diagnosis" && name != "help";
}

}  // namespace

detail::module_options::module_options(std::span<const option_entry> all) noexcept : entries(all) {
  const auto module_of = [](const module_options& m) {
    return std::string_view(m.entries.front().module);
  };
  module_options** at = &g_registered;
  while (*at != nullptr && module_of(**at) <= module_of(*this)) at = &(*at)->next;
  next = std::exchange(*at, this);
}

runtime_options runtime_options::from_environment() {
  detail::prepare_process_end();
  return parser().parse({});
}

runtime_options runtime_options::parse(int& argc, char** argv) {
  detail::prepare_process_end();
  // Only the runtime's arguments are parsed, so that the program's arguments remain unchanged,
  // whatever their form; `--` ends the runtime's arguments.
  std::vector<std::string> ours;
  int kept = 0;
  bool ended = false;
  for (int i = 0; i < argc; ++i) {
    ended = ended || (i > 0 && std::string_view(argv[i]) == "--");
    if (i == 0 || ended || !std::string_view(argv[i]).starts_with(prefix)) {
      argv[kept++] = argv[i];
      continue;
    }
    ours.emplace_back(argv[i]);
    if (takes_value(argv[i]) && i + 1 < argc) ours.emplace_back(argv[++i]);
  }
  const std::string_view path = argc > 0 && argv[0] != nullptr ? argv[0] : "";
  const runtime_options options =
      parser(std::string(path.substr(path.rfind('/') + 1))).parse(std::move(ours));
  if (kept < argc) argv[kept] = nullptr;
  argc = kept;
  return options;
}

}  // namespace starling
