// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <starling/core/error.hpp>

#include "sycl_error.hpp"
#include "sycl_shape.hpp"
#include "sycl_stream.hpp"

/// Kernel launches: work-group shapes, and the arguments declared in interop/sycl/kernel_forms.hpp.
namespace starling::detail {

namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;
using starling::sycl::detail::kernel_source;

constexpr std::size_t largest_argument = 960;  // as in kernel_forms.hpp
constexpr std::size_t most_items = std::numeric_limits<int>::max();

/// Checks the number of work-items: DPC++ compiles kernels for ids that fit an int and does not
/// detect larger ids. @throws usage_error
void require_items(const kernel_call& call, const ::sycl::range<3>& items) {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(items[0], items[1], &all) &&
      !__builtin_mul_overflow(all, items[2], &all) && all <= most_items)
    return;
  throw usage_error(std::string("stream::submit: kernel ") + call.entry->name() +
                    " takes more than 2147483647 work-items, the most of a launch of the SYCL "
                    "backend; submit parts of the range");
}

struct alignas(64) scratch_line {
  unsigned char bytes[64];
};

}  // namespace

/// A call prepared for any number of submissions.
struct sycl_stream::launch_shape {
  const compiled_kernel* kernel;
  bool per_group;
  range extent;
  std::size_t bytes;  // of one object
  std::size_t count;  // of objects
  std::size_t scratch_bytes;
  ::sycl::range<3> group{1, 1, 1};
  std::size_t depth;  // work-groups in z for each object

  [[nodiscard]] bool travels_in_launch() const noexcept {
    return count == 1 && bytes <= largest_argument;
  }
  [[nodiscard]] ::sycl::nd_range<3> items() const {
    const std::size_t y = pieces(static_cast<std::size_t>(extent.ny), group[1]);
    const std::size_t x = pieces(static_cast<std::size_t>(extent.nx), group[2]);
    if (per_group)
      return {::sycl::range<3>(depth * count, static_cast<std::size_t>(extent.ny),
                               static_cast<std::size_t>(extent.nx) * group[2]),
              group};
    return {::sycl::range<3>(depth * count * group[0], y * group[1], x * group[2]), group};
  }
};

void sycl_stream::start(const kernel_source& source, const kernel_call& call) {
  const compiled_kernel& kernel = m_shared->compiler.find(source);
  launch_shape shape{
      &kernel,    source.per_group,         call.extent, call.bytes,
      call.count, call.shape.scratch_bytes, {1, 1, 1},   static_cast<std::size_t>(call.extent.nz)};
  if (source.per_group) {
    shape.group[2] = static_cast<std::size_t>(call.shape.threads);
  } else {
    const int most = std::clamp(source.block_size, 1, kernel.most_threads);
    shape.group = group_for(call.extent, static_cast<std::size_t>(most), m_shared->most_items);
    shape.depth = pieces(shape.depth, shape.group[0]);
  }
  require_items(call, shape.items().get_global_range());
  if (!m_capture) return submit(shape, call.object);
  const auto* const first = static_cast<const std::byte*>(call.object);
  m_capture->operations.push_back(
      [shape, objects = std::vector<std::byte>(first, first + shape.bytes * shape.count)](
          sycl_stream& s) { s.submit(shape, objects.data()); });
}

void sycl_stream::submit(const launch_shape& shape, const void* objects) {
  guarded("launch of a kernel", [&] {
    const bool inside = shape.travels_in_launch();
    const char none = 0;
    const bool fits = shape.bytes <= largest_argument;
    const void* const many =
        inside ? nullptr : m_arguments.keep(objects, shape.bytes * shape.count);
    experimental::submit(m_queue, [&](::sycl::handler& h) {
      // If the objects are passed in memory, argument 0 is unused and holds the first object.
      h.set_arg(0, fits ? experimental::raw_kernel_arg(objects, shape.bytes)
                        : experimental::raw_kernel_arg(&none, sizeof none));
      h.set_arg(1, many);
      if (shape.per_group) {
        const std::size_t lines = pieces(shape.scratch_bytes, sizeof(scratch_line));
        experimental::work_group_memory<scratch_line[]> scratch(std::max<std::size_t>(lines, 1), h);
        h.set_arg(2, shape.depth);
        h.set_arg(3, shape.scratch_bytes);
        h.set_arg(4, scratch);
      } else {
        h.set_arg(2, shape.extent);
        h.set_arg(3, shape.depth);
      }
      h.parallel_for(shape.items(), shape.kernel->code);
    });
  });
}

}  // namespace starling::detail

namespace starling::sycl::detail {

int start(const kernel_source& source, const starling::detail::kernel_call& call, void* stream) {
  static_cast<starling::detail::sycl_stream*>(stream)->start(source, call);
  return 0;
}

}  // namespace starling::sycl::detail
