// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <starling/core/detail/load_meter.hpp>
#include <starling/objects/load.hpp>

/// Measured loads of elements: docs/design/0042-load-measurement.md.
namespace starling::detail {

class chare_core;
class array_base;
struct local_elements;

/// Traffic of one sender by destination: a hash table with open addressing, since most elements
/// send to few others.
class traffic_table {
 public:
  /// Without memory for a new destination, the message is counted in the sums only.
  void add(const element_number& to, std::uint64_t bytes) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::uint64_t messages() const noexcept { return m_messages; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return m_bytes; }
  /// Visits the destinations, in no particular order.
  template <class Visitor>
  void for_each(Visitor visit) const {
    for (const sent_traffic& t : slots())
      if (t.messages != 0) visit(t);
  }

 private:
  [[nodiscard]] std::span<sent_traffic> slots() const noexcept { return {m_slots.get(), m_size}; }
  [[nodiscard]] sent_traffic& slot_of(const element_number& to) const noexcept;
  [[nodiscard]] bool grow() noexcept;

  std::unique_ptr<sent_traffic[]> m_slots;  // without messages: unused
  std::size_t m_size = 0;                   // a power of two, or 0
  std::size_t m_used = 0;
  std::uint64_t m_messages = 0;
  std::uint64_t m_bytes = 0;
};

/// The measured load of one element, which moves with it. The only kind of account that the meters
/// of workers have. Accessed by the element's worker only.
struct load_record : time_account {
  load_record() noexcept = default;
  ~load_record();
  load_record(const load_record&) = delete;
  load_record& operator=(const load_record&) = delete;

  void reset() noexcept;

  std::uint64_t messages = 0;  // received
  traffic_table sent;
};

/// Marks the calling coroutine, the root of a task of `spawn`, as one of a chare. Ready at once.
/// The coroutine awaits only child tasks from then on, which leave `on` as it is.
struct belonging_to {
  chare_core* chare;
  bool await_ready() const noexcept { return false; }
  template <runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) const noexcept {
    h.promise().on.store(chare, std::memory_order_relaxed);
    h.promise().of_chare = true;
    return false;
  }
  void await_resume() const noexcept {}
};

/// Returns the chare to which a root coroutine belongs; null for one that belongs to none.
[[nodiscard]] chare_core* owner_of(promise_base& root) noexcept;

/// Returns the record of an element; makes it if it has none, null if there is no memory.
[[nodiscard]] load_record* record_of(chare_core& c) noexcept;

/// Counts a message of `bytes` from the element that the calling worker runs, if its load is
/// measured. Any thread.
void count_sent(const element_number& to, std::size_t bytes) noexcept;

/// Counts a message to `target` and charges the time of this object's scope to it, if the worker
/// measures loads of the array.
class measured_delivery {
 public:
  measured_delivery(const local_elements& here, chare_core& target) noexcept;

 private:
  measured_delivery(load_meter* meter, load_record* to) noexcept;
  charged_time m_time;
};

}  // namespace starling::detail
