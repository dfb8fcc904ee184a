// SPDX-License-Identifier: Apache-2.0
#include "common/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <nlohmann/json.hpp>

#include "common/files.hpp"

namespace apps {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string machine() {
  utsname system{};
  uname(&system);
  return fmt::format("{}, {} {}", processor(), system.sysname, system.release);
}

std::string commit() {
  const char* given = std::getenv("STARLING_COMMIT");
  return given != nullptr ? given : "unknown";
}

}  // namespace

void report::config(const std::string& name, setting v) { m_config[name] = std::move(v); }

void report::metric(const std::string& name, double value) { m_metrics.push_back({name, value}); }

void report::check(const std::string& name, bool holds, double value, double limit) {
  m_checks.push_back({name, holds, value, limit});
}

bool report::all_hold() const noexcept {
  return std::all_of(m_checks.begin(), m_checks.end(), [](const auto& c) { return c.holds; });
}

std::string report::table() const {
  std::string text;
  for (const row& m : m_metrics) text += fmt::format("  {:<28} {:>14.6g}\n", m.name, m.value);
  for (const checked_row& c : m_checks)
    text += fmt::format("  {:<28} {:>14.3e}  limit {:.1e}  {}\n", c.name, c.value, c.limit,
                        c.holds ? "ok" : "FAILED");
  return text;
}

void report::write_json(const std::string& file) const {
  nlohmann::json out;
  out["name"] = m_name;
  out["config"] = nlohmann::json::object();
  out["metrics"] = nlohmann::json::object();
  out["checks"] = nlohmann::json::object();
  for (const auto& [name, value] : m_config)
    std::visit([&, &key = name](const auto& v) { out["config"][key] = v; }, value);
  for (const row& m : m_metrics) out["metrics"][m.name] = m.value;
  for (const checked_row& c : m_checks) out["checks"][c.name] = c.holds;
  out["commit"] = commit();
  out["machine"] = machine();
  write_whole(file, out.dump(2) + '\n');
}

}  // namespace apps
