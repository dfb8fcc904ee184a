// SPDX-License-Identifier: Apache-2.0
// Snapshots for tests of the balancers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <starling/objects/balance.hpp>

namespace starling_test {

/// Uniform numbers from 0 to 1 that are the same with every standard library.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : m_engine(seed) {}
  double operator()() { return double(m_engine() >> 11) * 0x1p-53; }
  std::uint32_t below(std::uint32_t limit) { return std::uint32_t((*this)() * limit); }

 private:
  std::mt19937_64 m_engine;
};

/// Elements on a square grid with side² places, in rows over the workers; without load.
inline starling::balance::snapshot grid_of(std::uint32_t side, std::uint32_t workers) {
  starling::balance::snapshot s;
  for (std::uint32_t w = 0; w < workers; ++w) s.workers.push_back({w});
  for (std::uint32_t i = 0; i < side * side; ++i) {
    starling::balance::element_load e;
    e.id = i;
    e.worker = std::uint32_t(std::uint64_t(i) * workers / (side * side));
    e.position = {double(i % side), double(i / side), 0};
    e.has_position = true;
    e.state_bytes = 1000;
    s.elements.push_back(e);
    if (i % side + 1 < side) s.edges.push_back({i, i + 1, 100, 1});
    if (i / side + 1 < side) s.edges.push_back({i, i + side, 100, 1});
  }
  return s;
}

/// The same with uneven host loads: the first quarter of the elements is five times as heavy.
inline starling::balance::snapshot uneven_grid(std::uint32_t side, std::uint32_t workers,
                                               std::uint64_t seed) {
  starling::balance::snapshot s = grid_of(side, workers);
  numbers random(seed);
  for (std::uint32_t i = 0; i < s.elements.size(); ++i)
    s.elements[i].host_seconds = (i < s.elements.size() / 4 ? 5 : 1) * (0.5 + random());
  return s;
}

/// `each` elements for each worker of a rank of its own: with ten times the load in the first tenth
/// of the elements ("hotspot"), growing loads ("gradient"), or in random places ("random").
inline starling::balance::snapshot patterned(const std::string& pattern, std::uint32_t workers,
                                             std::uint32_t each, std::uint64_t seed) {
  starling::balance::snapshot s;
  numbers random(seed);
  for (std::uint32_t w = 0; w < workers; ++w) s.workers.push_back({w});
  for (std::uint32_t i = 0; i < each * workers; ++i) {
    starling::balance::element_load e;
    e.id = i;
    e.worker = pattern == "random" ? random.below(workers) : i / each;
    const double place = double(i) / (each * workers);
    e.host_seconds = 0.5 + random();
    if (pattern == "hotspot" && place < 0.1) e.host_seconds *= 10;
    if (pattern == "gradient") e.host_seconds *= 0.1 + 2 * place;
    s.elements.push_back(e);
  }
  return s;
}

/// Adds devices, each shared by `sharing` workers, device loads in the last quarter, and memory.
inline void add_devices(starling::balance::snapshot& s, std::uint32_t sharing, std::uint64_t seed) {
  numbers random(seed);
  s.devices.resize((s.workers.size() + sharing - 1) / sharing);
  for (std::uint32_t w = 0; w < s.workers.size(); ++w) s.workers[w].device = w / sharing;
  for (std::uint32_t i = 0; i < s.elements.size(); ++i) {
    auto& e = s.elements[i];
    e.device_seconds =
        (i >= s.elements.size() / 4 * 3 ? 6 : 1) * (0.5 + random()) / double(sharing);
    e.device_bytes = 1000 + random.below(1000);
  }
}

/// Workers after the migrations of a plan.
inline std::vector<std::uint32_t> after(const starling::balance::snapshot& s,
                                        const starling::balance::plan& p) {
  std::vector<std::uint32_t> worker_of = starling::balance::current_workers(s);
  for (const auto& m : p.migrations) worker_of.at(m.element) = m.to;
  return worker_of;
}

}  // namespace starling_test
