// SPDX-License-Identifier: Apache-2.0
#include "channel_set.hpp"

#include <algorithm>
#include <string>

#include <starling/core/error.hpp>
#include <starling/objects/error.hpp>

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

std::optional<offer_line> channel_set::take_line(std::uint64_t line) {
  const auto found = std::ranges::find(begun, line, &offer_line::line);
  if (found == begun.end()) return {};
  const offer_line taken = *found;
  begun.erase(found);
  return taken;
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

bool has_rank_bound_transfers(chare_core& c) noexcept {
  const chare_core::state& s = c.element_state();
  if (s.tracked != nullptr && s.tracked->order.holds_one_that_stays()) return true;
  if (s.channels == nullptr) return false;
  const auto keeps = [](const channel_end* e) {
    return e->requests() != 0 || e->offers() != 0 || e->lends();
  };
  return s.channels->open->count() != 0 || !s.channels->unclaimed.empty() ||
         std::ranges::any_of(s.channels->ends, keeps);
}

// --- what a chare has posted, before it leaves its rank

namespace {

struct question {
  std::uint64_t line;
  std::uint64_t number;
  future<bool> answer;
};

task<bool> answer_to(future<bool> asked) {
  try {
    co_return co_await std::move(asked);
  } catch (const no_such_element&) {  // nobody will read it
    co_return true;
  } catch (...) {
    co_return false;
  }
}

/// Notes the answers. `of`: the chare may be destroyed meanwhile.
task<> note_answers(std::weak_ptr<channel_set> of, std::shared_ptr<open_transfers> open,
                    std::vector<question> asked) {
  for (question& q : asked) {
    task<bool> wait = answer_to(std::move(q.answer));
    const bool is_read = co_await std::move(wait);
    const auto set = of.lock();
    if (set == nullptr) co_return;
    if (!is_read) set->is_refused = true;
    for (channel_end* e : set->ends)
      if (is_read && e->line() == q.line) e->confirm(q.number);
  }
  if (const auto set = of.lock()) set->is_asking = false;
  open->end();
}

}  // namespace

confirmation confirm_posts(chare_core& c) {
  const std::shared_ptr<channel_set>& set = c.element_state().channels;
  if (set == nullptr) return confirmation::given;
  if (set->is_asking) return confirmation::asked;
  if (std::exchange(set->is_refused, false)) return confirmation::refused;
  if (!c.can_leave_rank_alone()) return confirmation::refused;
  std::vector<question> asked;
  for (const channel_end* e : set->ends)
    if (e->unconfirmed() != 0) asked.push_back({e->line(), e->unconfirmed(), e->ask()});
  if (asked.empty()) return confirmation::given;
  start_here(note_answers(set, set->open, std::move(asked)));
  set->is_asking = true;
  set->open->begin();
  return confirmation::asked;
}

task<bool> chare_core::has_read(std::uint64_t line, std::uint64_t number) {
  channel_set* const set = m_state.channels.get();
  if (set == nullptr) co_return false;
  const auto has_it = [&](const offer_order& order) {
    const offer_line* const known = order.find(line);
    return known != nullptr && known->next > number;
  };
  const auto reads = [&](const channel_end* e) { return has_it(e->order()); };
  const auto end = std::ranges::find_if(set->ends, reads);
  if (end == set->ends.end()) {  // former ends and those of another rank have left nothing unread
    const auto is_past = [&](const offer_line& l) { return l.line == line && l.next > number; };
    co_return std::ranges::any_of(set->former, has_it, &channel_set::former_end::order) ||
        std::ranges::any_of(set->begun, is_past);
  }
  if ((*end)->has_unread(line)) co_return false;
  std::vector<stream> readers = (*end)->take_readers();
  for (const stream& at : readers) {
    future<void> done = at.get_future();
    try {
      co_await std::move(done);
    } catch (const device_error&) {  // a lost device does not read any more
    }
  }
  co_return true;
}

}  // namespace starling::detail
