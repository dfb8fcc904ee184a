// SPDX-License-Identifier: Apache-2.0
#include "loads_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace starling::balance {
namespace {

/// Returns `"name":[…]` with `text_of(row)` of each row.
template <class Rows, class Text>
std::string column(const char* name, const Rows& rows, Text text_of) {
  std::string text = "\"" + std::string(name) + "\":[";
  bool is_first = true;
  for (const auto& row : rows) {
    if (!is_first) text += ',';
    is_first = false;
    text += text_of(row);
  }
  return text + "]";
}

std::string flag(bool is_set) { return is_set ? "true" : "false"; }

/// `null` for the number that stands for "none" or "not limited".
template <class Number>
std::string number_or_null(Number number) {
  return number == std::numeric_limits<Number>::max() ? "null" : std::to_string(number);
}

std::string elements_text(const std::vector<element_load>& all) {
  using element = element_load;
  const auto axis = [&](const char* name, std::size_t i) {
    return column(name, all, [i](const element& e) {
      return e.has_position ? json_number(e.position[i]) : "null";
    });
  };
  const auto count = [&](const char* name, auto element::*member) {
    return column(name, all, [member](const element& e) { return std::to_string(e.*member); });
  };
  const auto amount = [&](const char* name, double element::*member) {
    return column(name, all, [member](const element& e) { return json_number(e.*member); });
  };
  return count("id", &element::id) + "," + count("array", &element::array) + "," +
         count("worker", &element::worker) + "," + amount("host_seconds", &element::host_seconds) +
         "," + amount("device_seconds", &element::device_seconds) + "," +
         count("state_bytes", &element::state_bytes) + "," +
         count("device_bytes", &element::device_bytes) + "," +
         column("anchored", all, [](const element& e) { return flag(e.is_anchored); }) + "," +
         column("bound_to_rank", all, [](const element& e) { return flag(e.is_bound_to_rank); }) +
         "," + axis("x", 0) + "," + axis("y", 1) + "," + axis("z", 2);
}

std::string places_text(const snapshot& loads) {
  const auto speed = [](const auto& place) { return json_number(place.speed); };
  using worker = worker_info;
  using device = device_info;
  return "\"workers\":{" +
         column("rank", loads.workers, [](const worker& w) { return std::to_string(w.rank); }) +
         "," +
         column("device", loads.workers, [](const worker& w) { return number_or_null(w.device); }) +
         "," + column("speed", loads.workers, speed) + "},\n\"devices\":{" +
         column("memory_bytes", loads.devices,
                [](const device& d) { return number_or_null(d.memory_bytes); }) +
         "," + column("speed", loads.devices, speed) + "}";
}

std::string edges_text(const std::vector<traffic>& edges) {
  return column("from", edges, [](const traffic& t) { return std::to_string(t.from); }) + "," +
         column("to", edges, [](const traffic& t) { return std::to_string(t.to); }) + "," +
         column("bytes", edges, [](const traffic& t) { return json_number(t.bytes); }) + "," +
         column("messages", edges, [](const traffic& t) { return json_number(t.messages); });
}

}  // namespace

place_loads loads_of_places(const snapshot& loads, std::span<const std::uint32_t> worker_of) {
  place_loads sums{std::vector<double>(loads.workers.size()),
                   std::vector<double>(loads.devices.size())};
  for (std::size_t i = 0; i < worker_of.size(); ++i) {
    const worker_info& w = loads.workers[worker_of[i]];
    sums.host_seconds[worker_of[i]] += loads.elements[i].host_seconds / w.speed;
    if (w.device != no_device)
      sums.device_seconds[w.device] +=
          loads.elements[i].device_seconds / loads.devices[w.device].speed;
  }
  return sums;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", unsigned(static_cast<unsigned char>(c)));
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string json_array(std::span<const double> numbers) {
  std::string text = "[";
  for (const double number : numbers) text += (text.size() > 1 ? "," : "") + json_number(number);
  return text + "]";
}

std::string json_text(const place_loads& loads) {
  return "{\"host_seconds\":" + json_array(loads.host_seconds) +
         ",\"device_seconds\":" + json_array(loads.device_seconds) + "}";
}

std::string json_text(const snapshot& loads) {
  const cost_model& costs = loads.costs;
  return "{\"format\":" + json_string(loads_format) +
         ",\"version\":" + std::to_string(loads_version) +
         ",\"steps\":" + json_number(loads.steps) +
         ",\n\"costs\":{\"seconds_per_migration\":" + json_number(costs.seconds_per_migration) +
         ",\"seconds_per_byte\":" + json_number(costs.seconds_per_byte) +
         ",\"bytes_per_second\":" + json_number(costs.bytes_per_second) +
         ",\"latency_seconds\":" + json_number(costs.latency_seconds) + "},\n" +
         places_text(loads) + ",\n\"elements\":{" + elements_text(loads.elements) +
         "},\n\"edges\":{" + edges_text(loads.edges) + "}}";
}

}  // namespace starling::balance
