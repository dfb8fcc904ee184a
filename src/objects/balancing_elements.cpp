// SPDX-License-Identifier: Apache-2.0
// Collective balancing on the workers of the elements: their reports, and the orders they follow.
#include <utility>
#include <vector>

#include <starling/objects/detail/balancing.hpp>
#include <starling/objects/detail/bond.hpp>

#include "rank_balancing.hpp"

namespace starling::detail {
namespace {

/// Returns the load of one element, adds its traffic to elements with such numbers to `r`, and
/// begins a new measurement.
load_measurement take_load(chare_core& c, element_report& r) {
  auto& s = c.element_state();
  array_base& array = *s.local->array;
  if (!s.local->is_measured) array.begin_measuring(*s.local);
  const load_measurement load = array.load_of(c);
  const object_id mine = array.id();
  array_base::for_each_destination(c, [&](const sent_traffic& t) {
    if (t.to.array == mine) r.sent.push_back(t);
  });
  if (s.load != nullptr) s.load->reset();
  return load;
}

/// Adds what migrates with a leader. A modelled time and a measured one are not of the same unit.
void add_load(load_measurement& sum, const load_measurement& follower) {
  if (sum.is_modelled == follower.is_modelled) sum.host_seconds += follower.host_seconds;
  if (sum.is_device_modelled == follower.is_device_modelled)
    sum.device_seconds += follower.device_seconds;
  sum.state_bytes += follower.state_bytes;
  sum.device_bytes += follower.device_bytes;
}

element_report describe_element(chare_core& c, point_wait& w) {
  auto& s = c.element_state();
  array_base& array = *s.local->array;
  element_report r;
  r.worker = array.worker_number(*s.local->home);
  r.slot = w.slot;
  r.round = w.round;
  w.is_released = true;  // as it will be when the element migrates
  const bool leaves_rank = array.space().rank_count() > 1;
  r.is_anchored = !c.can_depart();
  r.is_bound_to_rank = leaves_rank && !c.can_leave_rank();
  if (array.space().report().is_on()) {
    r.name = array.name_of(c);
    if (r.is_anchored || r.is_bound_to_rank) r.anchor = anchor_of(c, leaves_rank);
  }
  w.is_released = false;
  r.number = array.number_of(c);
  r.load = take_load(c, r);
  if (array.bound() != nullptr)
    if (chare_core* const f = array.bound()->partner(c)) add_load(r.load, take_load(*f, r));
  return r;
}

}  // namespace

balancing_reports report_of(chare_core& c, point_wait& w) {
  auto& s = c.element_state();
  array_base& array = *s.local->array;
  balancing_reports mine{w.round, false, {}};
  element_report r = describe_element(c, w);
  const bool is_kept = s.reports == report_place::as_created ? array.keeps_reports_at_first()
                                                             : s.reports == report_place::own_rank;
  if (is_kept) {
    array.rank_part().keep(s.local->index, std::move(r));
    mine.has_kept = true;
  } else {
    r.devices = array.devices_to_report();
    mine.reports.push_back(std::move(r));
  }
  return mine;
}

void send_orders(local_elements& local, balancing_orders orders) {
  send_call(
      *local.home, [at = &local, orders = std::move(orders)] { follow_orders(*at, orders); },
      priority::high);
}

void follow_orders(local_elements& local, const balancing_orders& orders) {
  if (local.array->is_closed()) return;
  if (!orders.keeps_reports && local.array->space().rank_count() > 1)
    local.array->rank_part().drop(local.index);
  const std::vector<point_wait*> released = release_round(local, orders.round);
  for (point_wait* w : released) {
    if (w == nullptr) continue;
    auto& s = w->chare->element_state();
    s.balance_skip = orders.skip;
    s.reports = orders.keeps_reports ? report_place::own_rank : report_place::rank_0;
  }
  local.balancer = orders.balancer;
  local.searches = 0;
  for (const auto& [slot, to, why] : orders.moves)
    if (slot < released.size() && released[slot] != nullptr)
      if (chare_core& c = *released[slot]->chare; c.can_depart_to(to)) {
        c.element_state().departs_to = to;
        c.element_state().cause = departure_cause::balancing;
        c.element_state().reason = why;
      }
  for (point_wait* w : released)
    if (w != nullptr) local.array->leave_point(*w->chare);
}

}  // namespace starling::detail
