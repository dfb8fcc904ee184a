// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <starling/device/detail/device_load.hpp>
#include <starling/objects/balance/balancer.hpp>
#include <starling/objects/balance/cost_meter.hpp>
#include <starling/objects/balance/schedule.hpp>
#include <starling/objects/detail/bond.hpp>
#include <starling/objects/detail/collective_point.hpp>
#include <starling/objects/load.hpp>

/// Collective load balancing of an array: docs/design/0043-collective-balancing.md.
namespace starling::detail {

struct rank_summary;
struct rank_outcome;

/// The load of one element, as it is sent to worker 0.
struct element_report {
  std::uint32_t worker = 0;  // among all ranks
  std::uint32_t slot = 0;    // position among the elements that wait on that worker
  std::uint32_t round = 0;   // as in point_wait
  bool is_anchored = false;
  bool is_bound_to_rank = false;
  load_measurement load;  // since the last report
  element_number number;
  std::vector<sent_traffic> sent;      // to elements of the same array
  std::vector<worker_device> devices;  // of the rank's workers, in one report of each rank
  // Only if there is a report of balancings:
  std::string name;
  std::string anchor;  // why the element is anchored

  template <class Archive>
  void serialize(Archive& ar) {
    ar(worker, slot, round, is_anchored, is_bound_to_rank, load, number, sent, devices, name,
       anchor);
  }
};

/// The reports of a reduction.
struct balancing_reports {
  std::uint32_t round = 0;
  bool has_kept = false;  // there are more, which have stayed on their ranks
  std::vector<element_report> reports;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, has_kept, reports);
  }
};

struct join_reports {
  balancing_reports operator()(balancing_reports a, balancing_reports b) const {
    a.has_kept |= b.has_kept;
    a.reports = reduction::concatenate()(std::move(a.reports), std::move(b.reports));
    return a;
  }
};

/// What a worker does with the elements that wait on it.
struct balancing_orders {
  struct move {
    std::uint32_t slot;
    std::uint32_t to;  // worker, among all ranks
    balance::reason why;
  };
  std::vector<move> moves;
  std::uint32_t round = 0;     // an element may wait in the next round already
  std::uint64_t skip = 0;      // number of calls of load_balance() that return at once
  bool keeps_reports = false;  // the next reports stay on the rank
  std::string balancer;        // name of the balancer that has chosen the moves

  template <class Archive>
  void serialize(Archive& ar) {
    ar(moves, round, skip, keeps_reports, balancer);
  }
};

/// The collective balancing of one array. Accessed by worker 0 of rank 0.
class balancing_lead {
 public:
  explicit balancing_lead(array_base& of);
  ~balancing_lead();

  void use(std::unique_ptr<const balance::balancer> chosen, std::uint64_t interval);
  /// Decides about the migrations and sends each worker its orders. The order of the reports has no
  /// influence. @throws the exceptions of the balancer
  void decide(balancing_reports gathered);

  // Balancing without a central rank: the messages of rank `from`. @throws archive_error
  void receive(int from, rank_summary&& m);
  void receive(int from, rank_outcome&& m);

 private:
  [[nodiscard]] balance::snapshot snapshot_of(const std::vector<element_report>& reports) const;
  /// Stores the devices of the workers whose ranks have reported them.
  void note_devices(const std::vector<element_report>& reports);
  /// Stores the devices of the workers of one rank, of which this is the first.
  void note_devices(std::size_t first_worker, const std::vector<worker_device>& devices);
  void add_devices(balance::snapshot& s) const;
  [[nodiscard]] std::uint64_t skip_after(bool has_moved);
  /// Whether the balancer is to be called, after a step of this estimate.
  [[nodiscard]] bool is_due(const balance::estimate& now);
  /// Number of steps until the next balancing, as far as it is known.
  [[nodiscard]] double steps_ahead() const;
  /// Number of steps in which migrations must pay.
  [[nodiscard]] double steps_to_pay() const;
  /// Calls the balancer and notes its migrations in `orders`, which are by worker.
  void balance(const balance::snapshot& loads, std::vector<element_report>& reports,
               std::vector<balancing_orders>& orders);
  /// Notes the cost of a balancing that began at `begin_ns`.
  void record(const balance::plan& found, std::size_t migrations, std::uint64_t begin_ns);
  [[nodiscard]] balance::cost_model costs() const;
  /// Sends the workers their orders, and this number of calls to skip.
  void finish(std::vector<balancing_orders> orders, std::uint64_t skip);
  void finish_without_migrations(std::uint64_t skip);
  /// Whether the next balancing has no central rank.
  [[nodiscard]] bool is_spread() const;

  // --- without a central rank: balancing_ranks.cpp
  void request_loads();
  void start_exchange();
  /// Requires that the message is expected, and stores it. Returns whether all ranks have sent one.
  template <class M>
  [[nodiscard]] bool complete(std::vector<M>& all, int from, M&& m);
  /// Adds the balancing to the report, for which the ranks have sent their reports.
  void note_outcomes(balance::plan found);
  /// Adds the balancing to the report, if there is one.
  void note(const balance::snapshot& loads, const balance::plan& found,
            std::vector<element_report>& reports) const;
  /// Adds the balancing to the timeline.
  void trace(const balance::plan& found, std::size_t migrations, std::uint64_t begin_ns) const;
  void send(std::size_t worker, balancing_orders orders) const;

  array_base& m_array;
  std::unique_ptr<const balance::balancer> m_balancer;
  std::uint64_t m_interval = 0;  // 0: chosen by the schedule
  balance::schedule m_schedule;
  balance::cost_meter m_costs;
  double m_assumed_cost = 0;       // of the migrations since the last call, before measurement
  std::uint64_t m_decided_ns = 0;  // when the last call was decided; 0: none yet
  std::uint64_t m_calls = 0;       // of load_balance() by each element
  std::uint64_t m_skipped = 0;     // calls between the last collective one and this one
  bool m_has_balanced = false;
  std::vector<worker_device> m_devices;  // by worker, of all ranks; key 0: not known
  std::uint32_t m_round = 0;             // of the reduction
  // Without a central rank:
  std::vector<rank_summary> m_summaries;  // by rank
  balance::estimate m_before;             // by the summaries
  std::vector<rank_outcome> m_outcomes;   // by rank
  std::vector<bool> m_awaited;            // by rank: its next message has not come
  bool m_awaits_outcomes = false;         // not summaries
  std::uint64_t m_begin_ns = 0;
  bool m_is_balanced = false;
};

/// Processes the orders of a worker for the elements that wait there. On that worker.
void follow_orders(local_elements& local, const balancing_orders& orders);
/// Sends orders to a worker of this rank.
void send_orders(local_elements& local, balancing_orders orders);
/// Sorts reports so that the order in which they arrived has no influence.
void sort_reports(std::vector<element_report>& reports);

/// Returns why an element is anchored, with the source lines of the waits that anchor it: those of
/// its other coroutines, or its own in load_balance(). `leaves_rank`: there are several ranks,
/// where an element that cannot leave its rank is anchored. On its worker, while one of its
/// coroutines is in load_balance().
[[nodiscard]] std::string anchor_of(chare_core& c, bool leaves_rank);

/// Returns the report of an element that is about to wait, or stores it on its rank; begins a new
/// measurement.
[[nodiscard]] balancing_reports report_of(chare_core& c, point_wait& w);

/// The target of the reduction of all reports.
class to_balancer final : public starling::callback<balancing_reports>::target {
 public:
  using value = balancing_reports;
  using result = value;
  explicit to_balancer(array_base& array) noexcept : m_array(array) {}
  void deliver(value&& reports) noexcept override;
  void fail(const std::exception_ptr& error) noexcept override;
  std::vector<std::byte> pack() override { return pack_made<to_balancer>(m_array.id()); }
  static constexpr auto made = remote_function::kind::target;
  static counted_owner make(input_archive& ar) {
    return counted_owner(new to_balancer(receiving_space().array(ar.read<object_id>())));
  }

 private:
  array_base& m_array;
};

/// Awaiter of `load_balance()`.
template <class T>
class balance_awaiter : public collective_point<T> {
 public:
  explicit balance_awaiter(const next_reduction& next)
      : collective_point<T>(next, "load_balance()") {
    require_no_follower(this->contributor(), "load_balance");
  }

  bool await_ready() noexcept {
    auto& s = this->contributor().element_state();
    if (s.balance_skip == 0) return false;
    --s.balance_skip;
    this->wait().is_released = s.departs();  // by migrate_to: waits as migration_point() does
    this->wait().is_over = !s.departs();
    return this->wait().is_over;
  }
  template <runtime_promise Promise>
  void await_suspend(std::coroutine_handle<Promise> h, const call_location& at = {}) {
    if (this->wait().is_released) return this->depart(h, at);
    const starling::callback<balancing_reports> to(counted_ptr(new to_balancer(this->array())));
    this->come(
        h, at, [this] { return report_of(this->contributor(), this->wait()); }, join_reports(), to);
  }
};

}  // namespace starling::detail
