// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/runtime.hpp>

#include "../backend.hpp"
#include "../strand.hpp"
#include "host_event.hpp"
#include "host_operation.hpp"
#include "host_split.hpp"

namespace starling::detail {

/// What the streams of a host device share.
struct host_context {
  runtime* owner;
  worker* home;
  const char* label;  // of the backend, in errors and traces
  int device;         // number
  bool may_split;     // large operations over several workers
  bool chaos;         // interrupt strands at random
};

class host_graph final : public backend_graph {
 public:
  [[nodiscard]] std::size_t size() const noexcept override { return operations.size(); }
  std::vector<std::unique_ptr<parallel_operation, operation_deleter>> operations;
};

/// An in-order queue that has no thread: while it holds operations, its strand is an ordinary
/// ready task that any worker may run or steal. Submission is one allocation from a pool and one
/// atomic exchange.
class host_stream final : public backend_stream {
 public:
  host_stream(const host_context& context, const stream_request& request);
  ~host_stream() override;
  host_stream(const host_stream&) = delete;
  host_stream& operator=(const host_stream&) = delete;

  void launch(const kernel_call& call) override;
  void copy(std::span<const transfer> transfers, member_observer* observer) override;
  [[nodiscard]] bool run_sequences(std::span<const operation_list* const> sequences,
                                   member_observer& observer) override;
  void fill(void* dst, const void* value, std::size_t element, std::size_t count) override;
  void record(const std::shared_ptr<backend_event>& point) override;
  void wait(const std::shared_ptr<backend_event>& point, dependency what) override;
  void wait_native(void* event) override;
  void mark(const completion_mark& request) override;
  void synchronize() override;
  void begin_capture() override;
  [[nodiscard]] std::shared_ptr<backend_graph> end_capture() override;
  void launch_graph(const std::shared_ptr<backend_graph>& recording) override;
  [[nodiscard]] bool is_idle() override { return is_empty(); }
  [[nodiscard]] std::exception_ptr query_error() noexcept override { return nullptr; }
  [[nodiscard]] void* native() const noexcept override { return nullptr; }

 private:
  /// Why the strand stops running operations.
  enum class stop { empty, event, chunks, turn_over };
  /// Who runs operations: the strand, which may suspend, or a thread that waits in place.
  enum class runner { strand, helper };
  struct park_awaiter;
  struct event_awaiter;
  struct chunks_awaiter;

  strand run();
  void push(host_operation* operation) noexcept;
  void submit(parallel_operation* operation);
  [[nodiscard]] bool is_empty() const noexcept;
  void wait_until_parked() noexcept;

  // Under m_running:
  [[nodiscard]] stop drain(runner who) noexcept;
  [[nodiscard]] std::optional<stop> execute(host_operation& operation, runner who) noexcept;
  [[nodiscard]] std::optional<stop> execute_parallel(parallel_operation& o, runner who) noexcept;
  [[nodiscard]] std::optional<stop> execute_wait(const wait_operation& o, runner who) noexcept;
  void execute_mark(const completion_mark& request) noexcept;
  struct division;
  [[nodiscard]] division divide(const parallel_operation& o);
  [[nodiscard]] bool may_be_costly(const parallel_operation& o) noexcept;
  [[nodiscard]] static division measure(const parallel_operation& o);
  [[nodiscard]] bool begin_split(const parallel_operation& o, const division& d) noexcept;
  void end_split() noexcept;
  void fail(const char* what, const std::exception_ptr& cause) noexcept;
  void retire() noexcept;
  void trace(const parallel_operation& o) noexcept;
  bool help() noexcept;

  const host_context* m_context;
  stream_request m_request;
  executor m_place;
  std::string m_name;
  strand m_strand;

  host_operation* m_tail;  // last queued; the submitter's
  // Whether the strand is scheduled, running or blocked (true) or parked (false). A submitter
  // queues, then exchanges true in; the strand exchanges false in, then looks at the queue again.
  // Whichever exchange is second acquires what the other released: either the strand sees the
  // operation, or the submitter sees it parked.
  std::atomic<bool> m_awake{false};
  std::atomic<std::uint64_t> m_queued{0};   // operations, the submitter's count
  std::atomic<std::uint64_t> m_retired{0};  // release: what they did is visible

  alignas(64) spin_lock m_running;  // who holds it runs operations
  host_operation* m_done;           // the last one retired, kept because its link is the queue
  host_split* m_split = nullptr;    // the operation at the front is out in chunks
  std::exception_ptr m_error;       // of this batch: skip the rest
  std::uint64_t m_begin_ns = 0;
  std::uint32_t m_unmeasured = 0;  // operations whose cost was taken from the ones before
  std::optional<std::uint32_t> m_track;

  std::shared_ptr<host_graph> m_capture;  // the submitter's
};

}  // namespace starling::detail
