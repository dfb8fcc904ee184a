// SPDX-License-Identifier: Apache-2.0
#include "synthetic.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "loads_file.hpp"

namespace starling::launch {
namespace {

constexpr std::array<std::string_view, 6> patterns = {"uniform",  "random", "hotspot",
                                                      "gradient", "front",  "opposing"};
constexpr double mean_seconds = 1e-4;
constexpr std::uint64_t state_bytes = 8192;

template <class Number>
void read_number(std::string_view name, std::string_view text, Number least, Number most,
                 Number& into) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (fault != std::errc() || end != text.data() + text.size() || into < least || into > most)
    throw balance_error(fmt::format("--synthetic: {}={} is not a whole number from {} to {}", name,
                                    text, least, most));
}

void set(synthetic& into, std::string_view name, std::string_view value) {
  constexpr std::uint32_t most_elements = 100'000'000, most_places = 1'000'000;
  if (name == "elements") {
    read_number(name, value, 1u, most_elements, into.elements);
  } else if (name == "ranks") {
    read_number(name, value, 1u, most_places, into.ranks);
  } else if (name == "workers") {
    read_number(name, value, 1u, 1024u, into.workers);
  } else if (name == "devices") {
    read_number(name, value, 0u, 1024u, into.devices);
  } else if (name == "seed") {
    read_number(name, value, std::uint64_t(0), ~std::uint64_t(0), into.seed);
  } else if (name == "pattern") {
    if (std::ranges::find(patterns, value) == patterns.end())
      throw balance_error(fmt::format("--synthetic: there is no pattern '{}'; there are: {}", value,
                                      fmt::join(patterns, ", ")));
    into.pattern = value;
  } else {
    throw balance_error(
        fmt::format("--synthetic: there is no '{}'; there are: elements, ranks, workers, devices, "
                    "pattern, seed",
                    name));
  }
}

/// Load of an element at a place with coordinates from 0 to 1; about 1 on average.
double shape(std::string_view pattern, const std::array<double, 3>& at, double random) {
  if (pattern == "random") return 2 * random;
  if (pattern == "hotspot") return std::hypot(at[0], at[1], at[2]) < 0.62 ? 4.3 : 0.53;
  if (pattern == "gradient" || pattern == "opposing") return 0.1 + 1.8 * (1 - at[0]);
  if (pattern == "front") return std::abs(at[0] - 0.3) < 0.05 ? 5.5 : 0.5;
  return 1;
}

void add_places(const synthetic& chosen, balance::snapshot& into) {
  for (std::uint32_t r = 0; r < chosen.ranks; ++r)
    for (std::uint32_t w = 0; w < chosen.workers; ++w) {
      const std::uint32_t device = chosen.devices == 0
                                       ? balance::no_device
                                       : r * chosen.devices + w * chosen.devices / chosen.workers;
      into.workers.push_back({r, device});
    }
  into.devices.resize(std::size_t(chosen.ranks) * chosen.devices);
}

}  // namespace

synthetic parse_synthetic(std::string_view text) {
  synthetic result;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t sign = item.find('=');
    if (sign == std::string_view::npos)
      throw balance_error(fmt::format("--synthetic: '{}' is not name=value", item));
    set(result, item.substr(0, sign), item.substr(sign + 1));
  }
  if (result.devices > result.workers)
    throw balance_error(
        fmt::format("--synthetic: {} devices of a rank need as many workers, but it has {}",
                    result.devices, result.workers));
  if (std::uint64_t(result.ranks) * result.workers > 10'000'000)
    throw balance_error("--synthetic: more than 10000000 workers");
  return result;
}

balance::snapshot make_loads(const synthetic& chosen) {
  balance::snapshot loads;
  loads.costs = {5e-6, 1e-10, 1e10, 1e-6};
  add_places(chosen, loads);
  const auto side = std::uint32_t(std::ceil(std::cbrt(double(chosen.elements)) - 1e-9));
  std::mt19937_64 engine(chosen.seed);
  const auto random = [&] { return double(engine() >> 11) * 0x1p-53; };
  loads.elements.resize(chosen.elements);
  const std::uint32_t plane = side * side;
  for (std::uint32_t i = 0; i < chosen.elements; ++i) {
    balance::element_load& e = loads.elements[i];
    const std::array<std::uint32_t, 3> place = {i / plane, i / side % side, i % side};
    std::array<double, 3> at{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      e.position[axis] = place[axis];
      at[axis] = (place[axis] + 0.5) / side;
    }
    e.id = i;
    e.worker = std::uint32_t(std::uint64_t(i) * loads.workers.size() / chosen.elements);
    e.has_position = true;
    e.state_bytes = state_bytes;
    e.host_seconds = mean_seconds * shape(chosen.pattern, at, random());
    if (chosen.devices > 0) {
      e.device_seconds = mean_seconds * shape(chosen.pattern, {1 - at[0], at[1], at[2]}, random()) *
                         chosen.devices / chosen.workers;
      e.device_bytes = 10 * state_bytes;
    }
    const std::array<std::uint32_t, 3> next = {plane, side, 1};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (place[axis] + 1 < side && i + next[axis] < chosen.elements)
        loads.edges.push_back({i, i + next[axis], 1024, 1});
  }
  return loads;
}

}  // namespace starling::launch
