// SPDX-License-Identifier: Apache-2.0
#include "channel_set.hpp"

#include <algorithm>
#include <string>

#include <starling/core/error.hpp>

namespace starling::detail {

channel_set& channels_of(chare_core& c) {
  if (c.element_state().channels == nullptr)
    c.element_state().channels = std::make_shared<channel_set>(c);
  return *c.element_state().channels;
}

const std::shared_ptr<open_transfers>& transfers_of(chare_core& c) { return channels_of(c).open; }

void open_transfers::note_none() noexcept {
  const chare_core::state& s = m_owner->element_state();
  if (s.is_doomed || worker::current() == nullptr) return;
  s.local->array->request_departure(*m_owner);
}

void throw_left_rank(const std::string& chare) {
  throw usage_error("channel: " + chare +
                    " has migrated to another rank, and channels cannot follow it there yet");
}

void require_near_home(chare_core& c) {
  const chare_core::state& s = c.element_state();
  if (s.tracked == nullptr) return;
  array_base& array = *s.local->array;
  if (array.locate_worker(s.tracked->home).local->home == nullptr)
    throw_left_rank(array.name_of(c));
}

void take_offer(chare_core& target, channel_offer offer) {
  channel_set& set = channels_of(target);
  for (channel_end* e : set.ends)
    if (e->is_from(offer.from)) return e->take(std::move(offer));
  offer.keep();
  set.unclaimed.push_back(std::move(offer));
}

void refuse_offers(chare_core& c, const std::exception_ptr& why) {
  if (c.element_state().channels == nullptr) return;
  for (channel_offer& offer : std::exchange(c.element_state().channels->unclaimed, {}))
    offer.answer(nullptr, why);
}

void cancel_channels(chare_core& c) noexcept {
  if (c.element_state().channels == nullptr) return;
  // Searches from the beginning each time, because a resumed waiter may make or destroy channel
  // ends.
  const auto& ends = c.element_state().channels->ends;
  const auto receives = [](const channel_end* e) { return e->receives(); };
  for (auto e = std::ranges::find_if(ends, receives); e != ends.end();
       e = std::ranges::find_if(ends, receives))
    (*e)->cancel();
}

bool has_open_transfers(chare_core& c) noexcept {
  return count_left_over_offers(c) != 0 ||
         (c.element_state().channels != nullptr &&
          std::ranges::any_of(c.element_state().channels->ends, &channel_end::receives));
}

bool has_bound_transfers(chare_core& c) noexcept {
  const channel_set* const set = c.element_state().channels.get();
  if (set == nullptr) return false;
  std::size_t requests = 0;
  for (const channel_end* e : set->ends) requests += e->requests();
  return set->open->count() != requests;
}

std::size_t count_left_over_offers(chare_core& c) noexcept {
  if (c.element_state().channels == nullptr) return 0;
  std::size_t n = c.element_state().channels->unclaimed.size();
  for (const channel_end* e : c.element_state().channels->ends) n += e->offers();
  return n;
}

}  // namespace starling::detail
