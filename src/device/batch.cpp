// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/error.hpp>

#include "collector.hpp"
#include "stream_state.hpp"

namespace starling::detail {
namespace {

using list = operation_list;

/// Keeps the first error of a member; later errors are its consequences. Relaxed: the error is read
/// after the batch's completion.
void note_failure(batch_member& m, std::exception_ptr error) noexcept {
  if (!m.failed.exchange(true, std::memory_order_relaxed)) m.error = std::move(error);
}

std::exception_ptr describe(const char* what, const std::string& collector_name,
                            std::exception_ptr cause) noexcept {
  try {
    return std::make_exception_ptr(device_error(std::string("'") + what + "' failed on " +
                                                collector_name + ": " + error_text(cause)));
  } catch (...) {
    return cause;  // no memory for the message
  }
}

kernel_call call_at(const operation_list& l, std::size_t offset) noexcept {
  const auto& k = static_cast<const list::kernel_record&>(l.at(offset));
  kernel_call call = k.call;
  call.object = k.object();
  return call;
}

const transfer& transfer_at(const operation_list& l, std::size_t offset) noexcept {
  return static_cast<const list::transfer_record&>(l.at(offset)).piece;
}

void submit_one(batch_place& place, std::size_t offset, stream_state& queue) {
  charged_accounts account;
  if (place.member->account != nullptr) account.push_back(place.member->account);
  const operation_list& l = place.member->operations;
  if (l.at(offset).what == list::kind::transfer)
    return queue.copy({&transfer_at(l, offset), 1}, &place, &account);
  kernel_call call = call_at(l, offset);
  call.observer = &place;
  queue.launch(call, &account);
}

}  // namespace

void batch_place::failed(std::size_t, const char* what, std::exception_ptr cause) noexcept {
  note_failure(*member, describe(what, owner->name(), std::move(cause)));
}

bool batch_place::has_failed(std::size_t) const noexcept {
  return member->failed.load(std::memory_order_relaxed);
}

batch::batch(collector& home, std::size_t most) : owner(&home) {
  places.reserve(most);  // so that adding a member cannot fail
  notify = [](device_waiter& w) noexcept {
    auto& self = static_cast<batch&>(w);
    self.owner->finish(self);
  };
}

void batch::failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept {
  places[which].failed(0, what, std::move(cause));
}

bool batch::has_failed(std::size_t which) const noexcept { return places[which].has_failed(0); }

bool batch::submit(stream_state& queue) noexcept {
  const operation_list& l = shape();
  const bool alone = places.size() == 1;
  std::size_t offset = 0;
  std::size_t started = 0;
  try {
    if (!alone) charge_members();
    if (!alone && run_sequences(queue)) return true;
    for (; offset < l.size() && !alone; offset += l.at(offset).bytes, started = 0)
      submit_merged(offset, queue, started);
  } catch (...) {
    // Not reported to the members: each of them may be accepted when it is submitted alone.
    submit_each(offset, started, queue);
    return false;
  }
  if (alone) submit_each(0, 0, queue);
  return true;
}

void batch::charge_members() {
  m_accounts.clear();
  const auto is_measured = [](const batch_place& p) { return p.member->account != nullptr; };
  if (std::ranges::none_of(places, is_measured)) return;
  for (const batch_place& p : places) m_accounts.push_back(p.member->account);
}

bool batch::run_sequences(stream_state& queue) {
  m_lists.clear();
  for (const batch_place& p : places) m_lists.push_back(&p.member->operations);
  return queue.run_sequences(m_lists, *this, m_accounts);
}

/// Submits the operation at `offset` for all members. A refused copy may be repeated as a whole, a
/// kernel must not be: `started` is set to the number of members whose kernel has started.
void batch::submit_merged(std::size_t offset, stream_state& queue, std::size_t& started) {
  if (shape().at(offset).what == list::kind::kernel) {
    kernel_call call = call_at(shape(), offset);
    call.object = gather_objects(offset, call.bytes);
    call.count = places.size();
    call.observer = this;
    call.started = &started;
    return queue.launch(call, &m_accounts);
  }
  m_transfers.clear();
  for (const batch_place& p : places)
    m_transfers.push_back(transfer_at(p.member->operations, offset));
  queue.copy(m_transfers, this, &m_accounts);
}

const void* batch::gather_objects(std::size_t offset, std::size_t bytes) {
  if (places.size() * bytes > m_capacity) {
    const std::size_t capacity = std::bit_ceil(places.size() * bytes);
    m_objects = std::make_unique_for_overwrite<std::byte[]>(capacity);
    m_capacity = capacity;
  }
  std::byte* to = m_objects.get();
  for (const batch_place& p : places) {
    const list::record& r = p.member->operations.at(offset);
    std::memcpy(to, static_cast<const list::kernel_record&>(r).object(), bytes);
    to += bytes;
  }
  return m_objects.get();
}

void batch::submit_each(std::size_t offset, std::size_t started, stream_state& queue) noexcept {
  for (std::size_t i = 0; i < places.size(); ++i) try {
      const operation_list& l = places[i].member->operations;
      std::size_t at = i < started ? offset + l.at(offset).bytes : offset;
      for (; at < l.size(); at += l.at(at).bytes) submit_one(places[i], at, queue);
    } catch (...) {
      note_failure(*places[i].member, std::current_exception());
    }
}

void batch::tell_members() noexcept {
  for (const batch_place& p : places) {
    if (error) note_failure(*p.member, error);
    p.member->end_wait(wait_status::over);
  }
  places.clear();
}

}  // namespace starling::detail
