// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/balance/diffusion.hpp>

#include <algorithm>
#include <bit>
#include <numeric>

#include "balancers.hpp"
#include "load_state.hpp"

namespace starling::balance {
namespace diffusion {

std::array<std::uint32_t, 2> partners(std::uint32_t worker, std::uint32_t workers,
                                      unsigned round) noexcept {
  if (workers < 2) return {worker, worker};
  const unsigned distances = unsigned(std::bit_width(workers - 1));
  const std::uint64_t distance = std::uint64_t(1) << (distances - 1 - round % distances);
  return {std::uint32_t((worker + distance) % workers),
          std::uint32_t((worker + workers - distance) % workers)};
}

load_pair flow(const load_pair& mine, const load_pair& partners_load) noexcept {
  return {std::max(0.0, (mine.host - partners_load.host) / 4),
          std::max(0.0, (mine.device - partners_load.device) / 4)};
}

std::vector<std::uint32_t> choose(std::span<const load_pair> candidates, load_pair wanted,
                                  std::vector<bool>& is_taken) {
  std::vector<std::uint32_t> chosen;
  if (wanted.host <= 0 && wanted.device <= 0) return chosen;
  std::vector<std::uint32_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto size = [&](std::uint32_t i) { return candidates[i].host + candidates[i].device; };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return size(a) > size(b); });
  for (const std::uint32_t i : order) {
    if (is_taken[i] || size(i) == 0) continue;
    const double host = wanted.host - candidates[i].host;
    const double device = wanted.device - candidates[i].device;
    const bool is_nearer =
        host * host + device * device < wanted.host * wanted.host + wanted.device * wanted.device;
    if (!is_nearer) continue;
    wanted = {host, device};
    is_taken[i] = true;
    chosen.push_back(i);
  }
  return chosen;
}

}  // namespace diffusion

namespace {

using diffusion::load_pair;

/// All workers' parts of diffusive balancing, run in turn.
class simulation {
 public:
  explicit simulation(load_state& state)
      : m_state(state), m_members(state.loads().workers.size()),
        m_loads(state.loads().workers.size()) {
    const auto& elements = state.loads().elements;
    for (std::uint32_t e = 0; e < elements.size(); ++e)
      if (!elements[e].is_anchored) m_members[state.worker_of()[e]].push_back(e);
  }

  /// One round of all workers.
  void run(unsigned round) {
    const auto count = std::uint32_t(m_loads.size());
    for (std::uint32_t w = 0; w < count; ++w) m_loads[w] = {m_state.host(w), m_state.device(w)};
    m_arrived.assign(count, {});
    for (std::uint32_t w = 0; w < count; ++w) run_worker(w, round);
    for (std::uint32_t w = 0; w < count; ++w)
      m_members[w].insert(m_members[w].end(), m_arrived[w].begin(), m_arrived[w].end());
  }

  [[nodiscard]] double largest() const {
    double level = 0;
    for (std::uint32_t w = 0; w < m_loads.size(); ++w) level = std::max(level, m_state.level(w));
    return level;
  }

 private:
  void run_worker(std::uint32_t worker, unsigned round) {
    const auto to = diffusion::partners(worker, std::uint32_t(m_loads.size()), round);
    const bool is_one = to[0] == to[1];
    send(worker, to[0], is_one ? 2 : 1);
    if (!is_one) send(worker, to[1], 1);
  }

  /// Work for the partner in seconds of speed 1, for which loads are seconds of each place.
  [[nodiscard]] load_pair wanted(std::uint32_t from, std::uint32_t to, double factor) const {
    const auto& workers = m_state.loads().workers;
    load_pair flow = diffusion::flow(m_loads[from], m_loads[to]);
    flow.host *= factor * std::min(workers[from].speed, workers[to].speed);
    const std::uint32_t here = workers[from].device, there = workers[to].device;
    if (here == no_device || there == no_device || here == there) {
      flow.device = 0;
      return flow;
    }
    // A device's load is shared by its workers, each of which sends its part.
    const auto speed = [&](std::uint32_t d) {
      return m_state.loads().devices[d].speed / double(m_state.sharing(d).size());
    };
    flow.device *= factor * std::min(speed(here), speed(there));
    return flow;
  }

  void send(std::uint32_t from, std::uint32_t to, double factor) {
    const load_pair amount = wanted(from, to, factor);
    if (amount.host <= 0 && amount.device <= 0) return;
    const auto& all = m_state.loads().elements;
    std::vector<std::uint32_t> fitting;
    std::vector<load_pair> candidates;
    for (const std::uint32_t e : m_members[from]) {
      if (!m_state.fits(e, to)) continue;
      fitting.push_back(e);
      const bool is_shared =
          m_state.loads().workers[from].device == m_state.loads().workers[to].device;
      candidates.push_back({all[e].host_seconds, is_shared ? 0 : all[e].device_seconds});
    }
    std::vector<bool> is_taken(fitting.size());
    for (const std::uint32_t i : diffusion::choose(candidates, amount, is_taken)) {
      if (!m_state.fits(fitting[i], to)) continue;  // earlier ones have filled the memory
      m_state.move(fitting[i], to);
      m_arrived[to].push_back(fitting[i]);
    }
    std::erase_if(m_members[from], [&](auto e) { return m_state.worker_of()[e] != from; });
  }

  load_state& m_state;
  std::vector<std::vector<std::uint32_t>> m_members;  // movable elements, by worker
  std::vector<std::vector<std::uint32_t>> m_arrived;  // in this round
  std::vector<load_pair> m_loads;                     // at the beginning of the round
};

class diffusion_balancer final : public balancer {
 public:
  using balancer::balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "diffusion"; }

 protected:
  void assign(const snapshot& loads, std::vector<std::uint32_t>& worker_of) const override {
    const double limit = estimate_step(loads, worker_of).ideal_seconds * (1 + options().tolerance);
    load_state state(loads, worker_of);
    relieve_memory(state);
    worker_of = diffuse(state, limit, options().rounds);
  }
};

}  // namespace

std::vector<std::uint32_t> diffuse(load_state& state, double limit, unsigned rounds) {
  simulation all(state);
  double least = all.largest();
  std::vector<std::uint32_t> best = state.worker_of();
  for (unsigned round = 0; round < rounds && least > limit; ++round) {
    all.run(round);
    const double level = all.largest();
    if (level >= least) continue;
    least = level;
    best = state.worker_of();
  }
  return best;
}

std::unique_ptr<balancer> make_diffusion(const balancer_options& chosen) {
  return std::make_unique<diffusion_balancer>(chosen);
}

}  // namespace starling::balance
