// SPDX-License-Identifier: Apache-2.0
#include "host_operation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

namespace starling::detail {
namespace {

// Unit of copies and fills, large enough for a task.
constexpr std::int64_t bytes_per_unit = 1024 * 1024;

struct kernel_operation : parallel_operation {
  kernel_operation(std::size_t allocated, const kernel_call& c) noexcept
      : parallel_operation(allocated, &run_kernels, c.units * static_cast<std::int64_t>(c.count),
                           c.grain, span_kind::kernel, c.entry->name()),
        call(c) {
    call.started = nullptr;  // the pointee may be destroyed before the operation runs
    if (call.measured) cost = &call.entry->host_cost;
    std::memcpy(storage(), c.object, c.bytes * c.count);
  }
  /// The kernel objects, stored directly after this object.
  [[nodiscard]] std::byte* storage() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* storage() const noexcept {
    return reinterpret_cast<const std::byte*>(this + 1);
  }

  /// Runs a range of units. Units are numbered over all kernels of the call, kernel by kernel.
  static void run_kernels(const parallel_operation& self, std::int64_t first, std::int64_t last) {
    const auto& o = static_cast<const kernel_operation&>(self);
    for (std::int64_t at = first; at < last;) {
      const std::int64_t member = at / o.call.units;
      const std::int64_t begin = member * o.call.units;
      const std::int64_t end = std::min(last, begin + o.call.units);
      o.run_member(static_cast<std::size_t>(member), at - begin, end - begin);
      at = end;
    }
  }
  void run_member(std::size_t which, std::int64_t first, std::int64_t last) const {
    kernel_call here = call;
    here.object = storage() + which * call.bytes;
    if (call.observer == nullptr) return here.host(here, first, last);
    if (call.observer->has_failed(which)) return;
    try {
      here.host(here, first, last);
    } catch (...) {
      call.observer->failed(which, name, std::current_exception());
    }
  }
  alignas(16) kernel_call call;
};
static_assert(sizeof(kernel_operation) % 16 == 0);

/// The transfers are stored directly after this object; units divide their bytes as one long row.
struct copy_operation : parallel_operation {
  copy_operation(std::size_t allocated, std::span<const transfer> list,
                 member_observer* who) noexcept
      : parallel_operation(allocated, &run_copy, units_of(list), 1, span_kind::copy, "copy"),
        count(list.size()), observer(who) {
    std::memcpy(static_cast<void*>(this + 1), list.data(), list.size_bytes());
  }
  [[nodiscard]] std::span<const transfer> transfers() const noexcept {
    return {reinterpret_cast<const transfer*>(this + 1), count};
  }
  [[nodiscard]] static std::int64_t units_of(std::span<const transfer> list) noexcept {
    std::size_t bytes = 0;
    for (const transfer& t : list) bytes += t.bytes;
    return (static_cast<std::int64_t>(bytes) + bytes_per_unit - 1) / bytes_per_unit;
  }

  static void run_copy(const parallel_operation& self, std::int64_t first, std::int64_t last) {
    const auto& o = static_cast<const copy_operation&>(self);
    const auto begin = static_cast<std::size_t>(first * bytes_per_unit);
    const auto end = static_cast<std::size_t>(last * bytes_per_unit);
    std::size_t at = 0;  // position of transfer i in the row
    const auto list = o.transfers();
    for (std::size_t i = 0; i < list.size() && at < end; at += list[i++].bytes) {
      const std::size_t from = std::max(begin, at) - at;
      const std::size_t to = std::min(end - at, list[i].bytes);
      if (from >= to || (o.observer != nullptr && o.observer->has_failed(i))) continue;
      std::memcpy(static_cast<std::byte*>(list[i].dst) + from,
                  static_cast<const std::byte*>(list[i].src) + from, to - from);
    }
  }
  std::size_t count;
  member_observer* observer;
};
static_assert(sizeof(copy_operation) % alignof(transfer) == 0);

/// Whole sequences, one per unit: the operations of a sequence run in a row, while its memory is in
/// a cache. The pointers to the lists are stored directly after this object.
struct sequences_operation : parallel_operation {
  using list = operation_list;
  sequences_operation(std::size_t allocated, std::span<const list* const> all,
                      member_observer& who) noexcept
      : parallel_operation(allocated, &run_sequences, static_cast<std::int64_t>(all.size()),
                           sequences_per_task(*all.front()), span_kind::kernel, "sequences"),
        observer(&who) {
    std::memcpy(static_cast<void*>(this + 1), all.data(), all.size_bytes());
  }

  /// Returns the number of sequences worth a task, from the grain of their operations.
  [[nodiscard]] static std::int64_t sequences_per_task(const list& l) noexcept {
    double tasks = 1e-6;
    for (std::size_t offset = 0; offset < l.size(); offset += l.at(offset).bytes) {
      const list::record& r = l.at(offset);
      if (r.what == list::kind::transfer) {
        const auto bytes = static_cast<const list::transfer_record&>(r).piece.bytes;
        tasks += static_cast<double>(bytes) / bytes_per_unit;
      } else {
        const kernel_call& call = static_cast<const list::kernel_record&>(r).call;
        tasks += static_cast<double>(call.units) / static_cast<double>(call.grain);
      }
    }
    return std::max<std::int64_t>(1, std::llround(1.0 / tasks));
  }

  static void run_sequences(const parallel_operation& self, std::int64_t first, std::int64_t last) {
    const auto& o = static_cast<const sequences_operation&>(self);
    const auto* const all = reinterpret_cast<const list* const*>(&o + 1);
    for (std::int64_t i = first; i < last; ++i) o.run_one(*all[i], static_cast<std::size_t>(i));
  }
  void run_one(const list& l, std::size_t which) const {
    kernel_entry* entry = nullptr;  // of the running kernel; transfers throw nothing
    try {
      for (std::size_t offset = 0; offset < l.size(); offset += l.at(offset).bytes) {
        const list::record& r = l.at(offset);
        if (r.what == list::kind::transfer) {
          const transfer& t = static_cast<const list::transfer_record&>(r).piece;
          std::memcpy(t.dst, t.src, t.bytes);
        } else {
          const auto& k = static_cast<const list::kernel_record&>(r);
          kernel_call call = k.call;
          call.object = k.object();
          entry = call.entry;
          call.host(call, 0, call.units);
        }
      }
    } catch (...) {
      observer->failed(which, entry->name(), std::current_exception());
    }
  }
  member_observer* observer;
};

struct fill_operation : parallel_operation {
  fill_operation(std::size_t allocated, void* to, const void* v, std::size_t element_bytes,
                 std::size_t n) noexcept
      : parallel_operation(
            allocated, &run_fill,
            (static_cast<std::int64_t>(n * element_bytes) + bytes_per_unit - 1) / bytes_per_unit, 1,
            span_kind::copy, "fill"),
        dst(static_cast<std::byte*>(to)), element(element_bytes), size(n * element_bytes) {
    // Sixteen bytes of the repeated value: every element size divides 16.
    for (std::size_t at = 0; at < sizeof pattern; at += element)
      std::memcpy(pattern + at, v, element);
  }

  static void run_fill(const parallel_operation& self, std::int64_t first, std::int64_t last) {
    const auto& o = static_cast<const fill_operation&>(self);
    auto at = static_cast<std::size_t>(first * bytes_per_unit);
    const std::size_t end = std::min(static_cast<std::size_t>(last * bytes_per_unit), o.size);
    for (; at + sizeof o.pattern <= end; at += sizeof o.pattern)
      std::memcpy(o.dst + at, o.pattern, sizeof o.pattern);
    std::memcpy(o.dst + at, o.pattern, end - at);
  }
  std::byte* dst;
  std::size_t element;
  std::size_t size;
  std::byte pattern[16];
};

template <class Operation, class... Args>
parallel_operation* make_sized(std::size_t bytes, Args&&... args) {
  void* block = pool_allocate(block_kind::state, bytes);
  return new (block) Operation(bytes, std::forward<Args>(args)...);
}

}  // namespace

parallel_operation* make_kernel_operation(const kernel_call& call) {
  return make_sized<kernel_operation>(sizeof(kernel_operation) + call.bytes * call.count, call);
}

parallel_operation* make_copy_operation(std::span<const transfer> transfers,
                                        member_observer* observer) {
  return make_sized<copy_operation>(sizeof(copy_operation) + transfers.size_bytes(), transfers,
                                    observer);
}

parallel_operation* make_sequences_operation(std::span<const operation_list* const> sequences,
                                             member_observer& observer) {
  return make_sized<sequences_operation>(sizeof(sequences_operation) + sequences.size_bytes(),
                                         sequences, observer);
}

parallel_operation* make_fill_operation(void* dst, const void* value, std::size_t element,
                                        std::size_t count) {
  return make_sized<fill_operation>(sizeof(fill_operation), dst, value, element, count);
}

parallel_operation* clone(const parallel_operation& original) {
  void* block = pool_allocate(block_kind::state, original.bytes);
  if (original.run == &copy_operation::run_copy) {
    const auto& c = static_cast<const copy_operation&>(original);
    return new (block) copy_operation(c.bytes, c.transfers(), c.observer);
  }
  if (original.run == &fill_operation::run_fill) {
    const auto& f = static_cast<const fill_operation&>(original);
    return new (block) fill_operation(f.bytes, f.dst, f.pattern, f.element, f.size / f.element);
  }
  const auto& k = static_cast<const kernel_operation&>(original);
  kernel_call call = k.call;
  call.object = k.storage();
  return new (block) kernel_operation(k.bytes, call);
}

void destroy(host_operation* operation) noexcept {
  const std::size_t bytes = operation->bytes;
  switch (operation->what) {
    case host_operation::kind::record:
      std::destroy_at(static_cast<record_operation*>(operation));
      break;
    case host_operation::kind::wait:
      std::destroy_at(static_cast<wait_operation*>(operation));
      break;
    case host_operation::kind::mark:
      std::destroy_at(static_cast<mark_operation*>(operation));
      break;
    case host_operation::kind::start:
    case host_operation::kind::parallel:
      break;  // trivial
  }
  pool_deallocate(block_kind::state, operation, bytes);
}

}  // namespace starling::detail
