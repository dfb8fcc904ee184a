// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/migration_trace.hpp>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/location.hpp>

namespace starling::detail {
namespace {

std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Returns the number of the arrow of one migration: the same on both ranks.
std::uint64_t arrow_of(const element_number& n, const location& next) noexcept {
  return mixed(mixed(mixed(n.array) + n.element) + next.version);
}

std::string reason_of(const chare_core::state& s) {
  switch (s.cause) {
    case departure_cause::balancing:
      return "load_balance(): " + std::string(balance::name_of(s.reason));
    case departure_cause::chaos:
      return "chaos mode";
    case departure_cause::request:
      break;
  }
  return "migrate_to";
}

/// Adds the number of a worker, counted over all ranks, and of its rank.
void add_place(detailed_span& to, const char* name, object_space& space, std::uint32_t worker) {
  to.details.emplace_back(std::string(name) + " worker", double(worker));
  if (const job* j = space.current_job())
    to.details.emplace_back(std::string(name) + " rank", double(j->location_of(worker).rank));
}

}  // namespace

void migration_trace::add(detailed_span recorded) noexcept {
  const unsigned worker = worker::current()->index();
  auto& track = m_tracks[worker];
  try {
    if (!track) track = m_tracer.open_track("migrations", "worker " + std::to_string(worker));
    m_tracer.span(*track, std::move(recorded));
  } catch (const std::bad_alloc&) {
  }
}

traced_departure::traced_departure(chare_core& leaving, const location& next) {
  migration_trace& to = leaving.element_state().local->array->space().trace();
  if (!to.is_on()) return;
  m_to = &to;
  begin(leaving, next);
}

void traced_departure::begin(chare_core& leaving, const location& next) {
  const chare_core::state& s = leaving.element_state();
  array_base& array = *s.local->array;
  m_exceptions = std::uncaught_exceptions();
  m_span = std::make_unique<detailed_span>();
  m_span->kind = span_kind::migration;
  m_span->name = array.name_of(leaving);
  m_span->total = "departures of " + array.type();
  m_span->begin_ns = tracer::now();
  add_place(*m_span, "from", array.space(), array.worker_number(*s.local->home));
  add_place(*m_span, "to", array.space(), next.worker);
  m_span->details.emplace_back("reason", reason_of(s));
  if (s.cause == departure_cause::balancing)
    m_span->details.emplace_back("balancer", s.local->balancer);
  m_span->end = detailed_span::arrow_end::tail;
  m_span->arrow = arrow_of(array.number_of(leaving), next);
}

traced_departure::~traced_departure() {
  if (m_to == nullptr || std::uncaught_exceptions() > m_exceptions) return;
  m_span->end_ns = tracer::now();
  m_to->add(std::move(*m_span));
}

void trace_arrival(chare_core& arrived, const location& now) noexcept {
  const chare_core::state& s = arrived.element_state();
  array_base& array = *s.local->array;
  try {
    detailed_span span;
    span.kind = span_kind::migration;
    span.name = array.name_of(arrived);
    span.total = "arrivals of " + array.type();
    span.begin_ns = span.end_ns = tracer::now();
    add_place(span, "at", array.space(), now.worker);
    span.details.emplace_back("migrations", double(now.version));
    span.end = detailed_span::arrow_end::head;
    span.arrow = arrow_of(array.number_of(arrived), now);
    array.space().trace().add(std::move(span));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace starling::detail
