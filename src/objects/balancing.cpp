// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/balancing.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/error.hpp>
#include <starling/objects/detail/bond.hpp>

#include "number_option.hpp"
#include "rank_balancing.hpp"

namespace starling::detail {
namespace {

constexpr option_entry entries[] = {
    {"balancer", "objects", "NAME", "refine",
     "balancer of load_balance(): none, greedy, refine, curve, bisection, communication, ..."},
    {"balance-every", "objects", "CALLS", "auto",
     "balance at each CALLS-th call of load_balance(); auto: when the imbalance costs more"},
    {"device-times", "objects", "yes|no", "yes",
     "measure the device time of elements while their loads are measured"}};
[[gnu::init_priority(101)]] module_options registered(entries);

/// Costs of migrations until they are measured, in which case they are multiplied by the measured
/// share.
constexpr balance::cost_model assumed_costs{.seconds_per_migration = 10e-6,
                                            .seconds_per_byte = 0.5e-9};
/// Imbalance from which the first balancing does not wait until it has cost as much as a step,
/// which is what the schedule assumes as the cost of the first one. Less may be noise of one step.
constexpr double large_imbalance = 1.1;
/// Largest number of calls in a row that return at once.
constexpr std::uint64_t longest_skip = 1024;

/// Handler of the orders of one worker.
struct remote_orders {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    array_base& array = a.space().array(ar.read<object_id>());
    const auto orders = ar.read<balancing_orders>();
    require_end(ar);
    a.require(a.from() == 0, "orders of a balancing come from rank 0");
    for (const auto& m : orders.moves)
      a.require(m.to < a.space().worker_total(), "an order to a worker that does not exist");
    follow_orders(array.local(a.worker_index()), orders);
  }
};

std::uint64_t interval_of(const runtime_options& options) {
  if (options.get("balance-every", "auto") == "auto") return 0;
  return number_option<std::uint64_t>(options, "balance-every", "auto", 1,
                                      std::numeric_limits<std::uint64_t>::max(),
                                      "is neither auto nor a number of calls from 1 on");
}

std::unique_ptr<balance::balancer> balancer_of(const runtime_options& options) {
  try {
    return balance::make_balancer(options.get("balancer", "refine"));
  } catch (const option_error& e) {
    throw option_error(std::string("--starling-balancer (or STARLING_BALANCER): ") + e.what());
  }
}

/// Adds the messages between the reported elements, of one step.
void add_traffic(balance::snapshot& s, const std::vector<element_report>& reports, double steps) {
  std::unordered_map<std::uint64_t, std::uint32_t> place_of;
  for (std::uint32_t i = 0; i < reports.size(); ++i) place_of.emplace(reports[i].number.element, i);
  for (std::uint32_t i = 0; i < reports.size(); ++i)
    for (const sent_traffic& t : reports[i].sent)
      if (const auto to = place_of.find(t.to.element); to != place_of.end() && to->second != i)
        s.edges.push_back({.from = i,
                           .to = to->second,
                           .bytes = double(t.bytes) / steps,
                           .messages = double(t.messages) / steps});
}

}  // namespace

// --- decisions, on worker 0 of rank 0

balancing_lead::balancing_lead(array_base& of) : m_array(of) {
  const runtime_options& options = of.space().owner().options();
  use(balancer_of(options), interval_of(options));
}

balancing_lead::~balancing_lead() = default;

void balancing_lead::use(std::unique_ptr<const balance::balancer> chosen, std::uint64_t interval) {
  m_balancer = std::move(chosen);
  m_interval = interval;
  m_schedule = balance::schedule(interval, m_balancer->options().tolerance);
}

balance::cost_model balancing_lead::costs() const {
  balance::cost_model now = assumed_costs;
  now.seconds_per_migration *= m_costs.share();
  now.seconds_per_byte *= m_costs.share();
  return now;
}

double balancing_lead::steps_ahead() const {
  return m_interval != 0 ? double(m_interval) : 2 * double(m_skipped + 1);
}

double balancing_lead::steps_to_pay() const {
  if (m_interval != 0) return steps_ahead();
  // Imbalance is expected to last as long again as it has lasted.
  return std::max(steps_ahead(), std::min(m_schedule.uneven_steps(), 2.0 * longest_skip));
}

balance::snapshot balancing_lead::snapshot_of(const std::vector<element_report>& reports) const {
  balance::snapshot s;
  s.costs = costs();
  const job* j = m_array.space().current_job();
  for (std::size_t w = 0; w < m_array.space().worker_total(); ++w)
    s.workers.push_back({.rank = j == nullptr ? 0u : std::uint32_t(j->location_of(w).rank)});
  const double steps = double(m_skipped + 1);  // that the measured times contain
  s.steps = steps_ahead();
  // The numbers of a sparse array are hashes, which may be equal.
  const bool has_ids = std::ranges::adjacent_find(reports, {}, [](const element_report& r) {
                         return r.number.element;
                       }) == reports.end();
  for (const element_report& r : reports)
    s.elements.push_back(
        {.id = has_ids ? r.number.element : s.elements.size(),
         .worker = r.worker,
         .host_seconds = r.load.host_seconds / (r.load.is_modelled ? 1 : steps),
         .device_seconds = r.load.device_seconds / (r.load.is_device_modelled ? 1 : steps),
         .state_bytes = r.load.state_bytes,
         .device_bytes = r.load.device_bytes,
         .position = r.load.position,
         .has_position = r.load.has_position,
         .is_anchored = r.is_anchored,
         .is_bound_to_rank = r.is_bound_to_rank});
  add_devices(s);
  add_traffic(s, reports, steps);
  return s;
}

void balancing_lead::note_devices(std::size_t first_worker,
                                  const std::vector<worker_device>& devices) {
  m_devices.resize(m_array.space().worker_total());
  for (std::size_t w = 0; w < devices.size() && first_worker + w < m_devices.size(); ++w)
    m_devices[first_worker + w] = devices[w];
}

void balancing_lead::note_devices(const std::vector<element_report>& reports) {
  const job* const j = m_array.space().current_job();
  for (const element_report& r : reports) {
    // A worker that does not exist is refused with the snapshot.
    if (r.devices.empty() || r.worker >= m_array.space().worker_total()) continue;
    const std::size_t on_rank =
        j == nullptr ? r.worker : std::size_t(j->location_of(r.worker).worker);
    note_devices(r.worker - on_rank, r.devices);  // the rank's workers have successive numbers
  }
}

/// Without elements that use devices, the snapshot has none. The device of a worker is not known if
/// its rank has not opened its devices, or has had no elements: then it gets no element that uses a
/// device, and the device loads of the elements that it has are left out.
void balancing_lead::add_devices(balance::snapshot& s) const {
  const auto uses_device = [](const balance::element_load& e) {
    return e.device_seconds > 0 || e.device_bytes > 0;
  };
  if (std::ranges::none_of(s.elements, uses_device)) return;
  std::unordered_map<std::uint64_t, std::uint32_t> place_of;
  for (std::size_t w = 0; w < m_devices.size(); ++w) {
    if (m_devices[w].key == 0) continue;
    const auto [at, is_new] = place_of.emplace(m_devices[w].key, std::uint32_t(s.devices.size()));
    if (is_new) s.devices.push_back({.memory_bytes = m_devices[w].memory_bytes});
    s.workers[w].device = at->second;
  }
  for (balance::element_load& e : s.elements)
    if (e.worker < s.workers.size() && s.workers[e.worker].device == balance::no_device)
      e.device_seconds = e.device_bytes = 0;
}

std::uint64_t balancing_lead::skip_after(bool has_moved) {
  if (m_array.has_insertions()) return 0;  // new elements could not know the calls to skip
  if (m_interval != 0) return m_interval - 1;
  if (has_moved) return 0;  // the next step shows what the migrations have gained
  const std::uint64_t most = std::min(2 * m_skipped + 1, longest_skip);
  // Half of the prediction: the growth of the imbalance may become faster.
  return std::min(most,
                  std::uint64_t(m_schedule.steps_until_due().value_or(2.0 * double(most)) / 2));
}

bool balancing_lead::is_due(const balance::estimate& now) {
  for (std::uint64_t step = 0; step <= m_skipped; ++step)
    m_schedule.record_step(now.step_seconds, now.ideal_seconds);
  const bool is_first = !m_has_balanced && m_interval == 0 && now.imbalance() > large_imbalance;
  return is_first || m_schedule.is_due();
}

void balancing_lead::balance(const balance::snapshot& loads, std::vector<element_report>& reports,
                             std::vector<balancing_orders>& orders) {
  const std::uint64_t begin = tracer::now();
  const balance::plan found = m_balancer->balance(loads);
  for (const balance::migration& m : found.migrations) {
    orders[m.from].moves.push_back({reports[m.element].slot, m.to, m.why});
    orders[m.from].balancer = m_balancer->name();
  }
  record(found, found.migrations.size(), begin);
  note(loads, found, reports);
}

void balancing_lead::record(const balance::plan& found, std::size_t migrations,
                            std::uint64_t begin) {
  m_assumed_cost = migrations == 0 ? 0 : found.cost_seconds / m_costs.share();
  const double cost = double(tracer::now() - begin) * 1e-9 + found.cost_seconds;
  if (found.decision == balance::verdict::does_not_pay)
    m_schedule.postpone(cost);
  else
    m_schedule.record_balancing(cost, found.after.step_seconds - found.after.ideal_seconds);
  m_has_balanced = true;
  trace(found, migrations, begin);
}

void sort_reports(std::vector<element_report>& reports) {
  std::ranges::sort(reports, {}, [](const element_report& r) {
    return std::tuple(r.number.element, r.worker, r.slot);
  });
}

void balancing_lead::decide(balancing_reports gathered) {
  m_round = gathered.round;
  if (m_decided_ns != 0)
    m_costs.record_steps(double(tracer::now() - m_decided_ns) * 1e-9, m_skipped + 1,
                         std::exchange(m_assumed_cost, 0));
  m_calls += m_skipped + 1;
  std::vector<element_report>& reports = gathered.reports;
  if (gathered.has_kept && reports.empty()) return request_loads();
  // The options of the ranks differ, so elements have disagreed: the orders make them agree.
  if (gathered.has_kept) return finish_without_migrations(0);
  sort_reports(reports);
  note_devices(reports);
  balance::snapshot loads = snapshot_of(reports);
  balance::require_valid(loads);  // reports come from other ranks
  std::vector<balancing_orders> orders(loads.workers.size());
  const bool is_measured = std::ranges::any_of(loads.elements, [](const balance::element_load& e) {
    return e.host_seconds > 0 || e.device_seconds > 0;
  });
  if (is_measured && is_due(balance::estimate_step(loads, balance::current_workers(loads)))) {
    loads.steps = steps_to_pay();
    balance(loads, reports, orders);
  }
  const bool has_moved =
      std::ranges::any_of(orders, [](const balancing_orders& o) { return !o.moves.empty(); });
  finish(std::move(orders), is_measured ? skip_after(has_moved) : 0);
}

void balancing_lead::finish(std::vector<balancing_orders> orders, std::uint64_t skip) {
  m_skipped = skip;
  m_decided_ns = tracer::now();
  for (std::size_t w = 0; w < orders.size(); ++w) {
    orders[w].skip = skip;
    orders[w].round = m_round;
    orders[w].keeps_reports = is_spread();
    send(w, std::move(orders[w]));
  }
}

void balancing_lead::finish_without_migrations(std::uint64_t skip) {
  finish(std::vector<balancing_orders>(m_array.space().worker_total()), skip);
}

void balancing_lead::trace(const balance::plan& found, std::size_t migrations,
                           std::uint64_t begin_ns) const {
  object_space& space = m_array.space();
  if (!space.trace().is_on()) return;
  detailed_span span;
  span.kind = span_kind::balancing;
  span.name = span.total = "balancing of " + m_array.type();
  span.begin_ns = begin_ns;
  span.end_ns = tracer::now();
  span.details = {{"balancer", std::string(m_balancer->name())},
                  {"decision", std::string(balance::name_of(found.decision))},
                  {"call", double(m_calls)},
                  {"imbalance before", found.before.imbalance()},
                  {"imbalance after", found.after.imbalance()},
                  {"migrations", double(migrations)}};
  space.trace().add(std::move(span));
}

void balancing_lead::note(const balance::snapshot& loads, const balance::plan& found,
                          std::vector<element_report>& reports) const {
  object_space& space = m_array.space();
  if (!space.report().is_on()) return;
  balancing_record done{
      m_array.type(), m_array.id(), m_balancer->name(), m_calls, loads, found, {}, {}};
  for (element_report& r : reports) {
    done.names.push_back(std::move(r.name));
    done.anchors.push_back(std::move(r.anchor));
  }
  space.report().add(done);
}

void balancing_lead::send(std::size_t worker, balancing_orders orders) const {
  const auto [local, on_rank] = m_array.locate_worker(worker);
  if (local->home != nullptr)
    send_orders(*local, std::move(orders));
  else
    m_array.space().current_job()->send(
        int(local->index),
        make_remote<remote_orders>({on_rank, priority::high}, m_array.id(), orders));
}

void to_balancer::deliver(value&& reports) noexcept {
  or_end_run(*worker::current(), [&] { m_array.balancing().decide(std::move(reports)); });
}

void to_balancer::fail(const std::exception_ptr& error) noexcept {
  end_run_and_close(*worker::current(), error);
}

// --- on the array

balancing_lead& array_base::balancing() {
  if (m_balancing == nullptr) m_balancing = std::make_unique<balancing_lead>(*this);
  return *m_balancing;
}

void array_base::balance_by(std::unique_ptr<const balance::balancer> chosen,
                            std::uint64_t interval) {
  if (m_space.rank() != 0)
    throw usage_error("chare_array::balance_by: call it on rank 0, which decides for all ranks");
  send_call(
      *m_space.workers()[0],
      [this, chosen = std::move(chosen), interval]() mutable {
        balancing().use(std::move(chosen), interval);
      },
      priority::high);
}

std::vector<worker_device> array_base::devices_to_report() {
  std::vector<worker_device> devices;
  if (m_has_reported_devices.load(std::memory_order_relaxed)) return devices;
  devices = devices_of_workers(m_space.owner());
  if (!devices.empty() && m_has_reported_devices.exchange(true, std::memory_order_relaxed))
    devices.clear();
  return devices;
}

}  // namespace starling::detail
