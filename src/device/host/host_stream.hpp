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

/// State shared by the streams of a host device.
struct host_context {
  runtime* owner;
  worker* home;
  const char* label;  // name of the backend in errors and traces
  int device;         // number of the device
  bool may_split;     // large operations may be split over several workers
  bool chaos;         // chaos mode: strands yield at random
};

class host_graph final : public backend_graph {
 public:
  [[nodiscard]] std::size_t size() const noexcept override { return operations.size(); }
  std::vector<std::unique_ptr<parallel_operation, operation_deleter>> operations;
};

/// An in-order queue without a thread: while it holds operations, its strand is an ordinary ready
/// task that any worker may run or steal. A submission costs one allocation from a pool and one
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
  /// The reason why the strand stops running operations.
  enum class stop { empty, event, chunks, turn_over };
  /// The thread of control that runs operations: the strand, which may suspend, or a helper: a
  /// thread that waits for the stream and runs its operations meanwhile.
  enum class runner { strand, helper };
  struct park_awaiter;
  struct event_awaiter;
  struct chunks_awaiter;

  strand run();
  void push(host_operation* operation) noexcept;
  void submit(parallel_operation* operation);
  [[nodiscard]] bool is_empty() const noexcept;
  void wait_until_parked() noexcept;

  // Called under m_running:
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
  executor m_executor;
  std::string m_name;
  strand m_strand;

  host_operation* m_tail;  // last queued; accessed by the submitter only
  // True while the strand is scheduled, running or blocked; false while it is parked. A submitter
  // queues an operation, then exchanges true; the strand exchanges false, then reads the queue
  // again. The second of the two exchanges acquires the first: either the strand finds the
  // operation, or the submitter finds the strand parked.
  std::atomic<bool> m_awake{false};
  std::atomic<std::uint64_t> m_queued{0};   // operations queued; written by the submitter
  std::atomic<std::uint64_t> m_retired{0};  // operations done; release: their writes are visible

  alignas(64) spin_lock m_running;  // held while operations run; guards the members down to m_track
  host_operation* m_done;           // last retired operation, kept for its link to the queue
  host_split* m_split = nullptr;    // chunks of the front operation; null: it is not split
  std::exception_ptr m_error;  // error of this stretch, whose remaining operations are then skipped
  std::uint64_t m_begin_ns = 0;
  std::uint32_t m_unmeasured = 0;  // cheap operations, of which a few are measured
  std::optional<std::uint32_t> m_track;

  std::shared_ptr<host_graph> m_capture;  // accessed by the submitter only
};

}  // namespace starling::detail
