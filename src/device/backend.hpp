// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <typeinfo>
#include <vector>

#include <starling/core/detail/promise_base.hpp>
#include <starling/core/runtime.hpp>
#include <starling/device/detail/operation_list.hpp>
#include <starling/device/detail/transfer.hpp>
#include <starling/device/device.hpp>
#include <starling/device/kernel.hpp>
#include <starling/device/types.hpp>

/// What a family of devices must provide. The part above (stream_state, device_set) adds what is
/// common: awaiting, futures, thread safety, pools, recycling of memory and streams, options.
///
/// Which backends a program has is decided by the files it links: each provides a function
/// `make_…_backend` declared at the end. Contract, checked by tests/contract on every backend:
/// - Calls on one stream never overlap in time (the caller holds the stream's lock), calls on
///   different streams do, from any thread. All but the named ones return without waiting for
///   the device.
/// - A refused call throws `device_error` with the backend's error number, naming the call.
/// - Everything made is destroyed before what made it, on any thread, after the work is over.
namespace starling::detail {

/// The sequence number a stream has reached, in pinned memory that device and host both see. All
/// words of a device lie side by side, `backend_traits::word_stride` bytes apart.
///
/// The device (or `completion_listener::reached`) stores ever larger numbers: n means that the work
/// before mark n is over and its writes are visible. Device: a system-scope release. Host: release.
/// Readers acquire.
using completion_word = std::atomic<std::uint64_t>;
static_assert(sizeof(completion_word) == 8 && completion_word::is_always_lock_free);

/// Where a backend reports marks that it learns of by itself. One per stream; outlives the marks.
class completion_listener {
 public:
  /// All marks up to `sequence` have been passed. Any thread, a driver's own too: stores the word
  /// and makes waiters ready, runs no user code.
  virtual void reached(std::uint64_t sequence) noexcept = 0;
  /// An operation before mark `sequence` failed. Called before that mark counts as reached.
  virtual void failed(std::uint64_t sequence, std::exception_ptr error) noexcept = 0;

  /// For `completion_kind::callback`: a driver's host function that is given the listener itself.
  /// Marks of a stream come in order, so each call is the next mark.
  static void on_host_function(void* listener) noexcept;

 protected:
  ~completion_listener() = default;
  /// The next mark in order has been passed.
  virtual void reached_next() noexcept = 0;
};

/// Where a backend that recovers reports failures of single members of a merged submission: kernel
/// i of a call, transfer i of a copy, are member i. A member that has failed is left out of what
/// follows; the others go on, and the batch counts as passed. Outlives the work.
class member_observer {
 public:
  /// `what` of member `which` threw `cause`. Any thread, several at once, a member more than once.
  virtual void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept = 0;
  /// Whether member `which` has failed in an operation before this one. Any thread.
  [[nodiscard]] virtual bool has_failed(std::size_t which) const noexcept = 0;

 protected:
  ~member_observer() = default;
};

/// A point in a stream. Recorded at most once before it is handed out; recycled by its backend when
/// the last reference goes.
class backend_event {
 public:
  virtual ~backend_event() = default;
  [[nodiscard]] virtual backend_kind kind() const noexcept = 0;
  /// Whether the point has been passed. @throws device_error when the device failed before it
  [[nodiscard]] virtual bool is_complete() = 0;

  /// The stream it is a point of; null in a capture. Filled by the caller of `record`.
  const stream_state* origin = nullptr;
};

/// A recording of kernels, copies and fills. Immutable; launched any number of times.
class backend_graph {
 public:
  virtual ~backend_graph() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;  ///< operations in it

  /// Where it was captured and where alone it may be launched; filled by the caller of
  /// `end_capture`.
  const device* origin = nullptr;

  struct operation {
    span_kind kind;
    const char* name;
  };
  /// What the trace counts at each launch; filled by the caller of `end_capture`, and only for
  /// backends that do not write their own spans.
  std::vector<operation> contents;
};

/// A request to tell when everything submitted before it is over.
struct completion_mark {
  completion_kind how;                   // word, event or callback
  std::uint64_t sequence;                // 1, 2, 3 … per stream
  completion_word* word;                 // for word: store `sequence` here, device side
  std::shared_ptr<backend_event> point;  // for event: record this one
  completion_listener* listener;         // for callback, and where the backend notifies by itself
  bool foreign = false;                  // others may have submitted to the batch, by `native()`
};

/// What a wait for an event is for.
enum class dependency {
  data,  ///< the results before the event: if they failed, so does what waits
  order  ///< the time only: memory is used again, whatever became of its last use
};

/// An in-order queue.
///
/// Failure: a backend that can recover (host) skips the rest of the batch, that is, everything up
/// to the next mark, calls `listener->failed` and goes on after it. A backend that cannot (CUDA,
/// SYCL) reports from `query_error`, for all streams of the device, for ever. Exceptions of code
/// that users submitted by `native()` end nothing anywhere: what the vendor's runtime tells of them
/// goes to `listener->failed`, and the rest of the batch runs.
class backend_stream {
 public:
  virtual ~backend_stream() = default;

  /// Copies the objects before it returns. All kernels of a call give the bits of as many calls of
  /// one. Refused after some of them have started, it has noted how many in the call.
  /// @throws usage_error when there is no launcher
  virtual void launch(const kernel_call& call) = 0;
  /// At least one transfer, each between any two places that the device reaches. They run in any
  /// order: no place written is another's source or destination. Copies the list before it
  /// returns. `observer` may be null; it is for kernels that failed earlier, a backend that cannot
  /// recover needs none.
  virtual void copy(std::span<const transfer> transfers, member_observer* observer) = 0;
  /// Two or more sequences of one shape, each in its order, next to each other in none: for a
  /// backend that gains more by staying with one sequence's memory than by large launches. The
  /// lists stay as they are until the work is over. False: nothing was done, launch them position
  /// by position. Not in a capture.
  virtual bool run_sequences(std::span<const operation_list* const> sequences,
                             member_observer& observer) {
    static_cast<void>(sequences);
    static_cast<void>(observer);
    return false;
  }
  /// `count` > 0 elements of `element` (1, 2, 4, 8, 16) bytes, all set to `*value`.
  virtual void fill(void* dst, const void* value, std::size_t element, std::size_t count) = 0;

  virtual void record(const std::shared_ptr<backend_event>& point) = 0;
  /// `point` is of the same backend, recorded already.
  virtual void wait(const std::shared_ptr<backend_event>& point, dependency what) = 0;
  /// A vendor's own event, from interop. Only where `native()` is not null.
  virtual void wait_native(void* event) = 0;

  virtual void mark(const completion_mark& request) = 0;
  /// For `completion_kind::block` and the end of the program: waits on the calling thread until all
  /// work submitted before the call is over; the host backend runs the work itself. May overlap
  /// other calls on the stream. @throws device_error when the device failed for good
  virtual void synchronize() = 0;

  /// Until `end_capture`, launch, copy and fill are kept, not run; nothing else is called.
  virtual void begin_capture() = 0;
  /// @throws device_error; capturing is over in any case
  [[nodiscard]] virtual std::shared_ptr<backend_graph> end_capture() = 0;
  virtual void launch_graph(const std::shared_ptr<backend_graph>& recording) = 0;

  /// Whether all work is over, also what was submitted through `native()`. @throws device_error
  [[nodiscard]] virtual bool is_idle() = 0;
  /// The error that keeps this stream from getting on, or null while all is well. May ask the
  /// driver; called rarely, by the poller, possibly while another thread submits.
  [[nodiscard]] virtual std::exception_ptr query_error() noexcept = 0;
  /// The vendor's handle (cudaStream_t); null where there is none.
  [[nodiscard]] virtual void* native() const noexcept = 0;
};

/// Some of a device's compute units, for kernels of the streams that are made in it. Destroyed
/// after these.
class backend_part {
 public:
  virtual ~backend_part() = default;
  [[nodiscard]] virtual int compute_units() const noexcept = 0;
};
struct backend_parts {
  std::unique_ptr<backend_part> chosen;
  std::unique_ptr<backend_part> rest;
};

/// What a new stream is told.
struct stream_request {
  priority urgency = priority::normal;
  stream_id id;
  completion_listener* listener = nullptr;  // may be null (a stream that nobody awaits)
  const backend_part* part = nullptr;       // of this device; null: all of it
};

class backend_device {
 public:
  virtual ~backend_device() = default;
  [[nodiscard]] virtual const device_properties& properties() const noexcept = 0;

  /// Memory aligned to 256 bytes (device) or 64 (pinned, host); null when refused for lack of it.
  /// Pinned memory is visible to every device of the backend. May be slow.
  [[nodiscard]] virtual void* allocate(memory_kind kind, std::size_t bytes) = 0;
  virtual void deallocate(memory_kind kind, void* memory, std::size_t bytes) noexcept = 0;

  [[nodiscard]] virtual std::unique_ptr<backend_stream> make_stream(const stream_request& r) = 0;
  /// Wraps a vendor's stream made elsewhere, without owning it: only where interop asks for that.
  /// @throws usage_error elsewhere
  [[nodiscard]] virtual std::unique_ptr<backend_stream> adopt_stream(void* native,
                                                                     const stream_request& r);
  [[nodiscard]] virtual std::shared_ptr<backend_event> make_event() = 0;

  /// At least `units` compute units, and all others. @throws usage_error where that cannot be
  [[nodiscard]] virtual backend_parts divide(int units);

  /// Loads the code of all kernels that would be loaded at their first launch. @throws device_error
  virtual void load_kernels() {}

  /// `other` is of the same backend. False when the hardware cannot.
  virtual bool enable_peer_access(backend_device& other) = 0;

  /// Fills what it knows of memory that this device owns: all but the process, the address and the
  /// bus. False: it is no such memory, or nobody else can read it.
  [[nodiscard]] virtual bool export_memory(const void*, memory_name&) { return false; }
  /// Where memory of another process begins for this device; `name.reach` is `host`.
  /// @throws device_error
  [[nodiscard]] virtual void* map_memory(const memory_name& name);

  /// Makes memory of the host visible to every device of the backend. @throws device_error
  virtual void pin(std::span<std::byte> memory);
  virtual void unpin(std::span<std::byte>) noexcept {}
};

/// Constants of a backend.
struct backend_traits {
  backend_kind kind;
  /// Bytes from one completion word to the next: 8 where a device stores and the host polls.
  std::size_t word_stride;
  /// Marks by word call `listener->reached` themselves, so nobody polls for them.
  bool notifies;
  /// Streams write their own kernel and copy spans to the trace; else submissions are counted.
  bool traces;
  /// Work goes on after a failed batch; else the first failure is final for the device.
  bool recovers;
  /// Whose events its streams wait for and whose native streams they are: those of another backend
  /// where one stands on it.
  backend_kind family = kind;
};

/// What a backend is told when it is made. Outlives it.
struct backend_request {
  runtime* owner;
  completion_kind completion;
  worker* home;                // any worker of the runtime: where continuations find the scheduler
  std::vector<int> which;      // devices by the backend's own numbers; empty: the first `count`
  int count = 0;               // 0: all there are (one on the host)
  const char* label = "host";  // what the host backend calls its devices in errors and traces
};

class backend {
 public:
  virtual ~backend() = default;
  [[nodiscard]] virtual const backend_traits& traits() const noexcept = 0;
  /// Devices selected by the request. At least one.
  [[nodiscard]] virtual int device_count() const noexcept = 0;
  /// 0 ≤ index < device_count(), each once.
  [[nodiscard]] virtual std::unique_ptr<backend_device> open(int index) = 0;
};

/// 64-byte aligned pageable memory, for `memory_kind::host` of every backend; null when refused.
[[nodiscard]] void* allocate_host_memory(std::size_t bytes) noexcept;
void deallocate_host_memory(void* memory) noexcept;

/// Message for a kernel without a launcher: names the kernel, the backend and the line to add.
[[nodiscard]] std::string missing_launcher(kernel_entry& entry, backend_kind where);

[[nodiscard]] std::unique_ptr<backend> make_host_backend(const backend_request& request);

/// Devices that CUDA could use here: 0 without a driver, without a device, or where the program was
/// linked without CUDA. Never throws.
[[nodiscard]] int count_cuda_devices() noexcept;
/// Before and after launches that others make on the calling thread without asking whether CUDA
/// took them. Nothing to do where the program was linked without CUDA.
///
/// Forgets what earlier calls left behind. @throws device_error when that was the device's end
void clear_cuda_error();
/// @throws device_error naming `kernel` when a launch since then was refused
void check_cuda_launch(const char* kernel);
/// @throws backend_unavailable naming -DSTARLING_CUDA=ON when linked without it, or the driver's
/// reason when there is no device; option_error when a chosen device does not exist
[[nodiscard]] std::unique_ptr<backend> make_cuda_backend(const backend_request& request);

/// As above for SYCL (-DSTARLING_SYCL=ON) and Kokkos (-DSTARLING_KOKKOS=ON).
[[nodiscard]] std::unique_ptr<backend> make_sycl_backend(const backend_request& request);
[[nodiscard]] std::unique_ptr<backend> make_kokkos_backend(const backend_request& request);

}  // namespace starling::detail
