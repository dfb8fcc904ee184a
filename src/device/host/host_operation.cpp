// SPDX-License-Identifier: Apache-2.0
#include "host_operation.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace starling::detail {
namespace {

constexpr std::int64_t bytes_per_unit = 1024 * 1024;  // of copies and fills: a task each

struct kernel_operation : parallel_operation {
  kernel_operation(std::size_t allocated, const kernel_call& c) noexcept
      : parallel_operation(allocated, &run_kernel, c.units, c.grain, span_kind::kernel,
                           c.entry->name()),
        call(c) {
    std::memcpy(storage(), c.object, c.bytes);
  }
  /// The kernel object, right behind this one.
  [[nodiscard]] void* storage() noexcept { return this + 1; }
  [[nodiscard]] const void* storage() const noexcept { return this + 1; }

  static void run_kernel(const parallel_operation& self, std::int64_t first, std::int64_t last) {
    const auto& o = static_cast<const kernel_operation&>(self);
    kernel_call here = o.call;
    here.object = o.storage();
    here.host(here, first, last);
  }
  alignas(16) kernel_call call;
};
static_assert(sizeof(kernel_operation) % 16 == 0);

struct copy_operation : parallel_operation {
  copy_operation(std::size_t allocated, void* to, const void* from, std::size_t n) noexcept
      : parallel_operation(allocated, &run_copy,
                           (static_cast<std::int64_t>(n) + bytes_per_unit - 1) / bytes_per_unit, 1,
                           span_kind::copy, "copy"),
        dst(static_cast<std::byte*>(to)), src(static_cast<const std::byte*>(from)), size(n) {}

  static void run_copy(const parallel_operation& self, std::int64_t first, std::int64_t last) {
    const auto& o = static_cast<const copy_operation&>(self);
    const auto begin = static_cast<std::size_t>(first * bytes_per_unit);
    const std::size_t end = std::min(static_cast<std::size_t>(last * bytes_per_unit), o.size);
    std::memcpy(o.dst + begin, o.src + begin, end - begin);
  }
  std::byte* dst;
  const std::byte* src;
  std::size_t size;
};

struct fill_operation : parallel_operation {
  fill_operation(std::size_t allocated, void* to, const void* v, std::size_t element_bytes,
                 std::size_t n) noexcept
      : parallel_operation(
            allocated, &run_fill,
            (static_cast<std::int64_t>(n * element_bytes) + bytes_per_unit - 1) / bytes_per_unit, 1,
            span_kind::copy, "fill"),
        dst(static_cast<std::byte*>(to)), element(element_bytes), size(n * element_bytes) {
    // Sixteen bytes of the repeated value: every element size divides them.
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
  return make_sized<kernel_operation>(sizeof(kernel_operation) + call.bytes, call);
}

parallel_operation* make_copy_operation(void* dst, const void* src, std::size_t bytes) {
  return make_sized<copy_operation>(sizeof(copy_operation), dst, src, bytes);
}

parallel_operation* make_fill_operation(void* dst, const void* value, std::size_t element,
                                        std::size_t count) {
  return make_sized<fill_operation>(sizeof(fill_operation), dst, value, element, count);
}

parallel_operation* clone(const parallel_operation& original) {
  void* block = pool_allocate(block_kind::state, original.bytes);
  if (original.run == &copy_operation::run_copy)
    return new (block)
        copy_operation(original.bytes, static_cast<const copy_operation&>(original).dst,
                       static_cast<const copy_operation&>(original).src,
                       static_cast<const copy_operation&>(original).size);
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
