// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include <starling/core/error.hpp>

#include "balancers.hpp"

namespace starling::balance {
namespace {

struct registry {
  std::mutex mutex;
  std::vector<std::pair<std::string, balancer_factory>> entries{
      {"none", make_none},           {"greedy", make_greedy},
      {"refine", make_refine},       {"curve", make_curve},
      {"bisection", make_bisection}, {"communication", make_communication},
      {"diffusion", make_diffusion}, {"hierarchical", make_hierarchical}};
};

registry& known() {
  static registry all;
  return all;
}

void require_usable(const balancer_options& chosen) {
  if (!std::isfinite(chosen.tolerance) || chosen.tolerance < 0)
    throw option_error("the tolerance of a balancer must be 0 or more");
  if (!std::isfinite(chosen.minimum_gain) || chosen.minimum_gain < 0)
    throw option_error("the minimum gain of a balancer must be 0 or more");
  if (chosen.rounds == 0) throw option_error("the rounds of a balancer must be at least 1");
}

}  // namespace

std::unique_ptr<balancer> make_balancer(std::string_view name, const balancer_options& chosen) {
  require_usable(chosen);
  balancer_factory make;
  {
    const std::lock_guard lock(known().mutex);
    for (const auto& [known_name, factory] : known().entries)
      if (known_name == name) make = factory;
  }
  if (make) return make(chosen);
  std::string message = "no balancer '" + std::string(name) + "'; there are:";
  for (const std::string& each : balancer_names()) message += ' ' + each;
  throw option_error(message);
}

void register_balancer(const std::string& name, balancer_factory make) {
  const std::lock_guard lock(known().mutex);
  for (const auto& entry : known().entries)
    if (entry.first == name) throw usage_error("there is already a balancer '" + name + "'");
  known().entries.emplace_back(name, std::move(make));
}

std::vector<std::string> balancer_names() {
  const std::lock_guard lock(known().mutex);
  std::vector<std::string> names;
  for (const auto& entry : known().entries) names.push_back(entry.first);
  return names;
}

}  // namespace starling::balance
