// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/plan.hpp>

#include <cstdio>

namespace starling::balance {
namespace {

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string seconds_text(double seconds) { return number_text(seconds) + " s"; }

std::string place_text(const snapshot& loads, std::uint32_t worker) {
  return "worker " + std::to_string(worker) + " (rank " +
         std::to_string(loads.workers[worker].rank) + ")";
}

}  // namespace

std::string_view name_of(reason why) noexcept {
  switch (why) {
    case reason::device_memory:
      return "device memory";
    case reason::device_load:
      return "device load";
    case reason::host_load:
      return "host load";
    case reason::communication:
      return "communication";
    case reason::rearrangement:
      break;
  }
  return "rearrangement";
}

std::string_view name_of(verdict decision) noexcept {
  switch (decision) {
    case verdict::migrate:
      return "migrate";
    case verdict::balanced:
      return "balanced";
    case verdict::nothing_better:
      return "nothing better";
    case verdict::does_not_pay:
      break;
  }
  return "does not pay";
}

std::string describe(const snapshot& loads, const migration& move) {
  return describe(loads, move,
                  "element " + std::to_string(move.id) + " of array " +
                      std::to_string(loads.elements[move.element].array));
}

std::string describe(const snapshot& loads, const migration& move, std::string_view element) {
  const element_load& e = loads.elements[move.element];
  return std::string(element) + " migrates from " + place_text(loads, move.from) + " to " +
         place_text(loads, move.to) + " because of " + std::string(name_of(move.why)) + ": host " +
         seconds_text(e.host_seconds) + ", device " + seconds_text(e.device_seconds) + ", " +
         std::to_string(bytes_sent(loads, move.element, move.to)) + " bytes";
}

std::string describe(const snapshot& loads, const plan& result) {
  const std::string before = seconds_text(result.before.step_seconds);
  switch (result.decision) {
    case verdict::balanced:
      return "no migrations: a step of " + before + " is within the tolerance of the ideal, " +
             seconds_text(result.before.ideal_seconds);
    case verdict::nothing_better:
      return "no migrations: no assignment was found that shortens a step of " + before + " enough";
    case verdict::does_not_pay:
      return "no migrations: they would take " + seconds_text(result.cost_seconds) +
             ", more than they gain in " + number_text(loads.steps) + " steps";
    case verdict::migrate:
      break;
  }
  return std::to_string(result.migrations.size()) + " migrations with " +
         std::to_string(result.bytes) + " bytes take " + seconds_text(result.cost_seconds) +
         " and shorten a step from " + before + " to " + seconds_text(result.after.step_seconds);
}

std::uint64_t bytes_sent(const snapshot& loads, std::uint32_t element, std::uint32_t to) noexcept {
  const element_load& e = loads.elements[element];
  const worker_info &source = loads.workers[e.worker], &destination = loads.workers[to];
  const std::uint64_t state = source.rank == destination.rank ? 0 : e.state_bytes;
  const bool keeps_memory = source.rank == destination.rank && source.device == destination.device;
  return state + (keeps_memory ? 0 : e.device_bytes);
}

}  // namespace starling::balance
