// SPDX-License-Identifier: Apache-2.0
// Measured loads of elements: docs/design/0042-load-measurement.md.
#include <new>
#include <utility>

#include <starling/core/task.hpp>
#include <starling/device/detail/device_load.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/entry_callback.hpp>
#include <starling/objects/detail/load_record.hpp>

namespace starling::detail {

chare_core* owner_of(promise_base& root) noexcept {
  if (root.of_chare) return &awaited_object<chare_core>(root);
  callback* const ended = root.of_entry ? callback_of(root) : nullptr;
  return ended == nullptr ? nullptr : static_cast<entry_callback*>(ended)->owner;
}

namespace {

time_account* find_account(promise_base& root) noexcept {
  chare_core* const c = owner_of(root);
  if (c == nullptr || !c->element_state().local->is_measured) return nullptr;
  return record_of(*c);
}

std::uint64_t hash_of(const element_number& n) noexcept {
  const std::uint64_t mixed = (n.element ^ (n.array << 32) ^ n.array) * 0x9E3779B97F4A7C15;
  return mixed ^ (mixed >> 32);
}

}  // namespace

// --- traffic

sent_traffic& traffic_table::slot_of(const element_number& to) const noexcept {
  std::size_t at = hash_of(to) & (m_size - 1);
  while (m_slots[at].messages != 0 && m_slots[at].to != to) at = (at + 1) & (m_size - 1);
  return m_slots[at];
}

/// Makes room for one more destination: at most three quarters of the slots are in use.
bool traffic_table::grow() noexcept {
  if (4 * (m_used + 1) <= 3 * m_size) return true;
  const std::size_t size = m_size == 0 ? 4 : 2 * m_size;
  std::unique_ptr<sent_traffic[]> before(new (std::nothrow) sent_traffic[size]);
  if (before == nullptr) return false;
  m_slots.swap(before);
  const std::size_t old_size = std::exchange(m_size, size);
  for (const sent_traffic& t : std::span(before.get(), old_size))
    if (t.messages != 0) slot_of(t.to) = t;
  return true;
}

void traffic_table::add(const element_number& to, std::uint64_t bytes) noexcept {
  ++m_messages;
  m_bytes += bytes;
  sent_traffic* t = m_size == 0 ? nullptr : &slot_of(to);
  if (t == nullptr || t->messages == 0) {
    if (!grow()) return;
    ++m_used;
    t = &slot_of(to);
    t->to = to;
  }
  ++t->messages;
  t->bytes += bytes;
}

void traffic_table::clear() noexcept {
  for (sent_traffic& t : slots()) t = {};
  m_used = 0;
  m_messages = m_bytes = 0;
}

void count_sent(const element_number& to, std::size_t bytes) noexcept {
  const worker* const here = worker::current();
  if (here == nullptr || here->meter() == nullptr) return;
  if (time_account* const from = here->meter()->current())
    static_cast<load_record*>(from)->sent.add(to, bytes);
}

// --- the record of an element

load_record::~load_record() {
  const worker* const here = worker::current();
  if (here != nullptr && here->meter() != nullptr) here->meter()->forget(*this);
}

void load_record::reset() noexcept {
  ticks = 0;
  messages = 0;
  if (on_devices != nullptr) {
    on_devices->share_ns.exchange(0, std::memory_order_relaxed);
    on_devices->elapsed_ns.exchange(0, std::memory_order_relaxed);
  }
  sent.clear();
}

load_record* record_of(chare_core& c) noexcept {
  auto& record = c.element_state().load;
  if (record != nullptr) return record.get();
  record.reset(new (std::nothrow) load_record);
  if (record != nullptr)
    record->has_device_time = c.element_state().local->array->measures_device_time();
  return record.get();
}

measured_delivery::measured_delivery(const local_elements& here, chare_core& target) noexcept
    : measured_delivery(here.home->meter(), here.is_measured ? record_of(target) : nullptr) {}

measured_delivery::measured_delivery(load_meter* meter, load_record* to) noexcept
    : m_time(to == nullptr ? nullptr : meter, to) {
  if (to != nullptr) ++to->messages;
}

// --- the elements of one worker

template <class Visitor>
void array_base::for_each_element(local_elements& local, Visitor visit) {
  for (chare_core* c : local.elements) visit(*c);
  for (chare_core* c : tracked_on(local)) visit(*c);
}

void array_base::begin_measuring(local_elements& local) {
  if (local.is_measured) return;
  local.home->begin_metering(&find_account);
  local.is_measured = true;
  local.special.fetch_or(local_elements::counts, std::memory_order_relaxed);
  m_status.fetch_add(one_measured, std::memory_order_relaxed);
}

void array_base::end_measuring(local_elements& local) {
  if (!local.is_measured) return;
  for_each_element(local, [](chare_core& c) { c.element_state().load.reset(); });
  local.is_measured = false;
  local.special.fetch_and(std::uint8_t(~local_elements::counts), std::memory_order_relaxed);
  m_status.fetch_sub(one_measured, std::memory_order_relaxed);
  local.home->end_metering();
}

load_measurement array_base::load_of(chare_core& c) {
  load_measurement m;
  if (const load_record* const r = c.element_state().load.get()) {
    if (load_meter* const meter = c.element_state().local->home->meter()) meter->settle();
    m.host_seconds = load_meter::seconds(r->ticks);
    m.messages = r->messages;
    m.sent_messages = r->sent.messages();
    m.sent_bytes = r->sent.bytes();
    if (device_account* const device = r->on_devices.get()) {
      // Acquire pairs with the release after the last addition.
      if (device->outstanding.load(std::memory_order_acquire) != 0)
        settle_device_times(m_space.owner());
      m.device_seconds = double(device->share_ns.load(std::memory_order_relaxed)) * 1e-9;
      m.device_elapsed_seconds = double(device->elapsed_ns.load(std::memory_order_relaxed)) * 1e-9;
    }
  }
  describe_load(c, m);
  return m;
}

void array_base::for_each_load(local_elements& local, const load_visitor& visit) {
  for_each_element(local, [&](chare_core& c) { visit(c, load_of(c)); });
}

void array_base::for_each_destination(chare_core& c,
                                      const std::function<void(const sent_traffic&)>& visit) {
  if (const load_record* const r = c.element_state().load.get()) r->sent.for_each(visit);
}

void array_base::reset_loads(local_elements& local) {
  if (local.home->meter() != nullptr) local.home->meter()->settle();
  if (measures_device_time()) settle_device_times(m_space.owner());
  for_each_element(local, [](chare_core& c) {
    if (load_record* const r = c.element_state().load.get()) r->reset();
  });
}

}  // namespace starling::detail
