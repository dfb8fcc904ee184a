// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <starling/core/detail/frame_pool.hpp>

#include "../backend.hpp"

namespace starling::detail {

/// One queued operation of a host stream: a pooled record, freed after it has run.
struct host_operation {
  enum class kind : std::uint8_t { start, parallel, record, wait, mark };

  explicit host_operation(kind k, std::size_t allocated) noexcept
      : what(k), bytes(static_cast<std::uint32_t>(allocated)) {}

  // Null until the next operation is queued. The submitter releases and the strand acquires, so
  // that the operation is complete when the pointer is read.
  std::atomic<host_operation*> next{nullptr};
  kind what;
  std::uint32_t bytes;  // size of the block that holds this record
};

/// Kernels, copies, a fill or sequences: `units` independent units, of which any range may run
/// separately. Trivially copyable except for its link, so that a graph can replay it.
struct parallel_operation : host_operation {
  using run_function = void (*)(const parallel_operation& self, std::int64_t first,
                                std::int64_t last);
  parallel_operation(std::size_t allocated, run_function body, std::int64_t count,
                     std::int64_t least, span_kind traced_as, const char* label) noexcept
      : host_operation(kind::parallel, allocated), run(body), units(count), grain(least),
        trace_kind(traced_as), name(label) {}
  run_function run;
  std::int64_t units;
  std::int64_t grain;                  // number of units that are worth a separate task
  std::atomic<float>* cost = nullptr;  // set if the grain is an estimate: measured ns per unit
  span_kind trace_kind;
  const char* name;
};

struct record_operation : host_operation {
  explicit record_operation(std::shared_ptr<backend_event> p) noexcept
      : host_operation(kind::record, sizeof(record_operation)), point(std::move(p)) {}
  std::shared_ptr<backend_event> point;
};

struct wait_operation : host_operation {
  wait_operation(std::shared_ptr<backend_event> p, dependency purpose) noexcept
      : host_operation(kind::wait, sizeof(wait_operation)), point(std::move(p)), what_for(purpose) {
  }
  std::shared_ptr<backend_event> point;
  dependency what_for;
};

struct mark_operation : host_operation {
  explicit mark_operation(const completion_mark& m) noexcept
      : host_operation(kind::mark, sizeof(mark_operation)), request(m) {}
  completion_mark request;
};

struct start_operation : host_operation {
  start_operation() noexcept : host_operation(kind::start, sizeof(start_operation)) {}
};

template <class Operation, class... Args>
[[nodiscard]] Operation* make_operation(Args&&... args) {
  void* block = pool_allocate(block_kind::state, sizeof(Operation));
  return new (block) Operation(std::forward<Args>(args)...);
}

[[nodiscard]] parallel_operation* make_kernel_operation(const kernel_call& call);
[[nodiscard]] parallel_operation* make_copy_operation(std::span<const transfer> transfers,
                                                      member_observer* observer);
[[nodiscard]] parallel_operation* make_sequences_operation(
    std::span<const operation_list* const> sequences, member_observer& observer);
[[nodiscard]] parallel_operation* make_fill_operation(void* dst, const void* value,
                                                      std::size_t element, std::size_t count);
/// Returns a copy of a kernel, copy or fill operation.
[[nodiscard]] parallel_operation* clone(const parallel_operation& original);
void destroy(host_operation* operation) noexcept;

struct operation_deleter {
  void operator()(host_operation* o) const noexcept { destroy(o); }
};

}  // namespace starling::detail
