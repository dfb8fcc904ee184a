// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <nlohmann/json.hpp>

#include <starling/core/error.hpp>

namespace sedov {
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

void report::write_json(const std::string& file, const settings& s) const {
  nlohmann::json out;
  out["name"] = "sedov";
  out["config"] = {{"problem", s.problem},
                   {"level", s.level},
                   {"steps", s.steps},
                   {"stop_time", s.stop_time},
                   {"residency", s.place == residency::staged ? "staged" : "resident"},
                   {"backend", s.runtime.get("backend", "auto")},
                   {"completion", s.runtime.get("completion", "word")},
                   {"workers", s.runtime.workers}};
  out["metrics"] = nlohmann::json::object();
  out["checks"] = nlohmann::json::object();
  for (const row& m : m_metrics) out["metrics"][m.name] = m.value;
  for (const checked_row& c : m_checks) out["checks"][c.name] = c.holds;
  out["commit"] = commit();
  out["machine"] = machine();
  std::ofstream stream(file);
  stream << out.dump(2) << '\n';
  stream.close();
  if (!stream)
    throw starling::error(fmt::format("{}: cannot write: {}", file, std::strerror(errno)));
}

}  // namespace sedov
