// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <starling/objects/detail/balancing.hpp>

#include "objects/balance/diffusing_rank.hpp"

/// Collective balancing without a central rank: docs/design/0043-collective-balancing.md.
namespace starling::detail {

// The messages, in the order in which they are sent. `round`: number of the reduction by which the
// elements came together.

/// Rank 0 to each rank: all elements wait.
struct load_request {
  std::uint32_t round = 0;
  std::uint64_t steps = 1;  // that the measured loads contain

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, steps);
  }
};

/// Each rank to rank 0: its loads.
struct rank_summary {
  std::uint32_t round = 0;
  balance::rank_loads loads;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, loads);
  }
};

/// Rank 0 to each rank: the ranks are to exchange elements.
struct exchange_order {
  std::uint32_t round = 0;
  std::uint32_t exchanges = 0;                // number of rounds of diffusion
  std::vector<balance::device_share> shares;  // of the devices in the summary
  double seconds_per_migration = 0;
  double seconds_per_byte = 0;
  double ideal_seconds = 0;  // of a step of all ranks
  double tolerance = 0;      // for loads above it

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, exchanges, shares, seconds_per_migration, seconds_per_byte, ideal_seconds, tolerance);
  }
};

/// A rank to its partners in a round of diffusion.
struct partner_load {
  std::uint32_t round = 0;
  std::uint32_t exchange = 0;
  balance::diffusing_load load;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, exchange, load);
  }
};

/// Then: the elements for the partner. Only their descriptions; the elements wait where they are.
struct partner_elements {
  std::uint32_t round = 0;
  std::uint32_t exchange = 0;
  std::vector<balance::diffusing_element> elements;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, exchange, elements);
  }
};

/// After all rounds, a rank to the rank where these elements wait.
struct found_destinations {
  std::uint32_t round = 0;
  std::vector<balance::diffusing_rank::destination> elements;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, elements);
  }
};

/// Each rank to rank 0: what the migrations would change.
struct rank_outcome {
  std::uint32_t round = 0;
  balance::rank_loads loads;
  double cost_seconds = 0;
  std::uint64_t migrations = 0;
  std::uint64_t bytes = 0;
  // Only if there is a report of balancings:
  std::vector<element_report> reports;
  std::vector<balance::diffusing_rank::destination> moves;
  std::vector<worker_device> devices;  // of the rank's workers

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, loads, cost_seconds, migrations, bytes, reports, moves, devices);
  }
};

/// Rank 0 to each rank: the elements migrate. If they do not, rank 0 sends each worker its orders.
struct exchange_end {
  std::uint32_t round = 0;
  std::uint64_t skip = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, skip);
  }
};

/// The part of one rank in the balancing of one array. On worker 0 of the rank, except `keep` and
/// `drop`.
class rank_balancing {
 public:
  /// The name of the balancer.
  static constexpr std::string_view balancer = "diffusion";

  explicit rank_balancing(array_base& of);

  /// Stores the report of an element that waits on the calling worker. `worker`: its number on the
  /// rank.
  void keep(std::uint32_t worker, element_report report) {
    m_kept[worker].push_back(std::move(report));
  }
  /// Drops the reports of the calling worker.
  void drop(std::uint32_t worker) noexcept { m_kept[worker].clear(); }

  // Messages from rank `from`. @throws archive_error when they cannot be right
  void receive(int from, load_request&& m);
  void receive(int from, exchange_order&& m);
  void receive(int from, partner_load&& m);
  void receive(int from, partner_elements&& m);
  void receive(int from, found_destinations&& m);
  void receive(int from, exchange_end&& m);

 private:
  enum class phase : std::uint8_t {
    idle,       // no balancing, or rank 0 has been sent the outcome
    collects,   // the workers are asked for the reports
    summed_up,  // rank 0 has been sent the summary
    loads,      // in a round: the partners' loads are awaited
    elements,   // then their elements
    awaits      // the destinations of elements that are on other ranks
  };
  /// Asks the workers of the rank for the reports of elements that wait there.
  void collect();
  void add(std::vector<element_report> reports);
  void send_summary();
  [[nodiscard]] std::vector<balance::worker_place> places() const;
  /// @throws usage_error for an impossible load
  [[nodiscard]] std::vector<balance::diffusing_element> elements() const;

  /// The partners of this round of diffusion, each once; and how often the flow to them counts.
  [[nodiscard]] std::pair<std::vector<int>, double> partners() const;
  /// Whether messages of partners may come: they may be ahead of the order of rank 0.
  [[nodiscard]] bool is_exchanging() const noexcept {
    return m_phase == phase::summed_up || m_phase == phase::loads || m_phase == phase::elements;
  }
  void begin_exchange();
  /// Does all that the received messages allow.
  void advance();
  void end_exchanges();
  void send_outcome_if_complete();

  void require(bool is_right, const char* what) const;
  /// Requires that these are elements that wait on workers of the job, with possible loads.
  void require_elements(const std::vector<balance::diffusing_element>& elements) const;

  array_base& m_array;
  std::vector<std::vector<element_report>> m_kept;  // by worker; each accessed by that worker
  phase m_phase = phase::idle;
  std::uint32_t m_round = 0;
  std::uint64_t m_steps = 1;
  std::size_t m_missing = 0;  // workers that have not sent their reports
  std::vector<element_report> m_reports;

  exchange_order m_order;
  std::uint32_t m_exchange = 0;  // number of the current round of diffusion
  std::optional<balance::diffusing_rank> m_rank;
  balance::diffusing_load m_load;                // at the beginning of the round
  using sender = std::pair<std::uint32_t, int>;  // round of diffusion, rank
  std::map<sender, balance::diffusing_load> m_loads;
  std::map<sender, std::vector<balance::diffusing_element>> m_arrived;

  balance::diffusing_rank::result m_result;
  std::vector<balance::diffusing_rank::destination> m_moves;  // of elements of this rank
  std::size_t m_destinations = 0;                             // that other ranks have found
};

}  // namespace starling::detail
