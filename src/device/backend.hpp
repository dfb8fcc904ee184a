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

/// The interface that each backend implements. The layer above (stream_state, device_set) adds the
/// common functions: waiting, futures, thread safety, pools, recycling of memory and streams,
/// options.
///
/// The linked files decide which backends a program has: each file provides a `make_…_backend`
/// function declared at the end. Contract, checked by tests/contract on every backend:
/// - Calls on one stream never overlap in time (the caller holds the stream's lock). Calls on
///   different streams may overlap, from any thread. A call returns without waiting for the
///   device unless its comment says otherwise.
/// - A refused call throws `device_error` with the backend's error number, naming the call.
/// - An object is destroyed before the object that made it, on any thread; streams and devices
///   are destroyed after their work is over.
namespace starling::detail {

/// The number of the last mark that a stream has passed, in pinned memory visible to device and
/// host. The words of a device are stored `backend_traits::word_stride` bytes apart.
///
/// The device (or `completion_listener::reached`) stores increasing numbers: n means that the work
/// before mark n is over and its writes are visible. The device stores with a system-scope release,
/// the host with release; readers acquire.
using completion_word = std::atomic<std::uint64_t>;
static_assert(sizeof(completion_word) == 8 && completion_word::is_always_lock_free);

/// Receiver of a backend's own notifications of passed marks and failures. There is one listener
/// for each stream; it outlives the marks.
class completion_listener {
 public:
  /// Records that all marks up to `sequence` are passed: stores the word and makes waiters ready.
  /// Runs no user code. Any thread, also a driver's own.
  virtual void reached(std::uint64_t sequence) noexcept = 0;
  /// Records that an operation before mark `sequence` failed. Called before that mark is passed.
  virtual void failed(std::uint64_t sequence, std::exception_ptr error) noexcept = 0;

  /// Host function of the driver for `completion_kind::callback`; its argument is the listener.
  /// A stream passes its marks in order, so each call stands for the next mark.
  static void on_host_function(void* listener) noexcept;

 protected:
  ~completion_listener() = default;
  /// Records that the next mark in order is passed.
  virtual void reached_next() noexcept = 0;
};

/// Receives from a backend that recovers the failures of single members of a merged submission.
/// Member i is kernel i of a call, or transfer i of a copy. Later operations skip a failed member;
/// the remaining members continue, and the batch counts as passed. Outlives the work.
class member_observer {
 public:
  /// Records that kernel `what` of member `which` threw `cause`. Any thread, concurrently, also
  /// several times for one member.
  virtual void failed(std::size_t which, const char* what, std::exception_ptr cause) noexcept = 0;
  /// Returns whether member `which` has failed in an earlier operation. Any thread.
  [[nodiscard]] virtual bool has_failed(std::size_t which) const noexcept = 0;

 protected:
  ~member_observer() = default;
};

/// A point in a stream. Recorded at most once, before it is handed out; recycled by its backend
/// when the last reference is released.
class backend_event {
 public:
  virtual ~backend_event() = default;
  [[nodiscard]] virtual backend_kind kind() const noexcept = 0;
  /// Returns whether the point has been passed.
  /// @throws device_error when the device failed before it
  [[nodiscard]] virtual bool is_complete() = 0;

  /// Returns the nanoseconds from when `earlier` was passed to when this point was passed, negative
  /// in the other order. Both are points of `make_timed_event` of one device that have been passed.
  /// @throws device_error
  [[nodiscard]] virtual double nanoseconds_since(backend_event& earlier) {
    static_cast<void>(earlier);
    return 0;
  }

  /// The stream that recorded the event, set by `stream_state::record`; null for events of marks
  /// and barriers.
  const stream_state* origin = nullptr;
};

/// A recording of kernels, copies and fills. Immutable; launched any number of times.
class backend_graph {
 public:
  virtual ~backend_graph() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;  ///< operations in it

  /// The device of the capture, the only one that may launch the graph. Set by the caller of
  /// `end_capture`.
  const device* origin = nullptr;

  struct operation {
    span_kind kind;
    const char* name;
  };
  /// Operations that the trace counts at each launch. Set by the caller of `end_capture`; empty
  /// for backends that write their own spans.
  std::vector<operation> contents;
};

/// A request to report the completion of all operations submitted before it.
struct completion_mark {
  completion_kind how;                   // word, event or callback
  std::uint64_t sequence;                // 1, 2, 3 … per stream
  completion_word* word;                 // for word: store `sequence` here, device side
  std::shared_ptr<backend_event> point;  // for event: the event to record
  completion_listener* listener;         // for callback, and where the backend notifies by itself
  bool foreign = false;  // other code may have submitted work to the stretch, by `native()`
};

/// The purpose of a wait for an event.
enum class dependency {
  data,  ///< the results before the event: if that work failed, the waiting work fails too
  order  ///< the order only: memory is reused, whether or not its last use failed
};

/// An in-order queue.
///
/// Failure: a backend that can recover (host) skips the remaining operations of the stretch, up to
/// the next mark, calls `listener->failed` and continues after the mark. A backend that cannot
/// (CUDA, SYCL) returns the error from `query_error`, for all streams of the device, permanently.
/// Exceptions of code that users submitted by `native()` never stop a stream: if the vendor's
/// runtime reports them, `listener->failed` is called and the remainder of the stretch runs.
class backend_stream {
 public:
  virtual ~backend_stream() = default;

  /// Queues the kernels of a call and copies their objects before it returns. Results are bitwise
  /// equal to those of a separate call for each kernel. If the call is refused after some kernels
  /// have started, their number is stored by `kernel_call::note_started`. @throws usage_error when
  /// there is no launcher
  virtual void launch(const kernel_call& call) = 0;
  /// Queues one or more transfers, each between any two addresses that the device reaches. They run
  /// in any order: no destination overlaps the source or destination of another transfer. Copies
  /// the list before it returns. `observer` may be null; it reports members whose kernels failed
  /// earlier, and backends that cannot recover ignore it.
  virtual void copy(std::span<const transfer> transfers, member_observer* observer) = 0;
  /// Queues two or more sequences of one shape, each run in its order, without an order between
  /// sequences. For a backend on which running one sequence after the other, while its memory is in
  /// a cache, is faster than large launches. The lists must not change until the work is over.
  /// Returns false when nothing was queued: the caller then merges the operations of all sequences
  /// position by position. Not called in a capture.
  virtual bool run_sequences(std::span<const operation_list* const> sequences,
                             member_observer& observer) {
    static_cast<void>(sequences);
    static_cast<void>(observer);
    return false;
  }
  /// Sets `count` > 0 elements of `element` (1, 2, 4, 8, 16) bytes to `*value`.
  virtual void fill(void* dst, const void* value, std::size_t element, std::size_t count) = 0;

  virtual void record(const std::shared_ptr<backend_event>& point) = 0;
  /// Makes later work wait for `point`, which is of the same backend and already recorded.
  virtual void wait(const std::shared_ptr<backend_event>& point, dependency what) = 0;
  /// Makes later work wait for a vendor's own event, from interop. Only if `native()` is not null.
  virtual void wait_native(void* event) = 0;

  virtual void mark(const completion_mark& request) = 0;
  /// Waits on the calling thread until all work submitted before the call is over; the host backend
  /// runs that work on the calling thread. For `completion_kind::block` and the end of the program.
  /// May overlap other calls on the stream. @throws device_error when the device failed permanently
  virtual void synchronize() = 0;

  /// Begins a capture: until `end_capture`, launch, copy and fill are recorded instead of run, and
  /// no other function is called.
  virtual void begin_capture() = 0;
  /// Ends the capture, also when it throws. @throws device_error
  [[nodiscard]] virtual std::shared_ptr<backend_graph> end_capture() = 0;
  virtual void launch_graph(const std::shared_ptr<backend_graph>& recording) = 0;

  /// Returns whether all work is over, including work submitted through `native()`.
  /// @throws device_error
  [[nodiscard]] virtual bool is_idle() = 0;
  /// Returns the error that stops this stream, or null without one. May query the driver; called
  /// rarely, possibly while another thread submits.
  [[nodiscard]] virtual std::exception_ptr query_error() noexcept = 0;
  /// The native handle (cudaStream_t); null if the backend has none.
  [[nodiscard]] virtual void* native() const noexcept = 0;
};

/// A multiprocessor partition: some of a device's compute units, for kernels of the streams that
/// are made in it. Destroyed after these streams.
class backend_partition {
 public:
  virtual ~backend_partition() = default;
  [[nodiscard]] virtual int compute_units() const noexcept = 0;
};
struct backend_partitions {
  std::unique_ptr<backend_partition> chosen;
  std::unique_ptr<backend_partition> remainder;
};

/// Parameters of a new stream.
struct stream_request {
  starling::priority priority = starling::priority::normal;
  stream_id id;
  completion_listener* listener = nullptr;       // null: the stream's completion is never awaited
  const backend_partition* partition = nullptr;  // of this device; null: the whole device
};

class backend_device {
 public:
  virtual ~backend_device() = default;
  [[nodiscard]] virtual const device_properties& properties() const noexcept = 0;

  /// Returns memory aligned to 256 bytes (device) or 64 (pinned, host); null when there is too
  /// little. Pinned memory is visible to every device of the backend. May be slow.
  [[nodiscard]] virtual void* allocate(memory_kind kind, std::size_t bytes) = 0;
  virtual void deallocate(memory_kind kind, void* memory, std::size_t bytes) noexcept = 0;

  [[nodiscard]] virtual std::unique_ptr<backend_stream> make_stream(const stream_request& r) = 0;
  /// Wraps a vendor's stream without owning it. For backends whose interop adopts streams.
  /// @throws usage_error on any other backend
  [[nodiscard]] virtual std::unique_ptr<backend_stream> adopt_stream(void* native,
                                                                     const stream_request& r);
  [[nodiscard]] virtual std::shared_ptr<backend_event> make_event() = 0;
  /// Returns an event whose time can be read; null on a backend without such events.
  [[nodiscard]] virtual std::shared_ptr<backend_event> make_timed_event() { return nullptr; }

  /// Splits the compute units into a partition of at least `units` and the remainder.
  /// @throws usage_error when the device cannot be split so
  [[nodiscard]] virtual backend_partitions divide(int units);

  /// Loads the code of all kernels that would otherwise be loaded at their first launch.
  /// @throws device_error
  virtual void load_kernels() {}

  /// Lets kernels of this device access the memory of `other`, a device of the same backend.
  /// Returns false when the hardware cannot.
  virtual bool enable_peer_access(backend_device& other) = 0;

  /// Describes memory of this device for other processes and runtimes: fills the name except
  /// process, address and bus. Returns false when the device does not own the memory or cannot
  /// share it.
  [[nodiscard]] virtual bool export_memory(const void*, memory_name&) { return false; }
  /// Maps an allocation of another process and returns its first address for this device;
  /// `name.reach` is `host`. @throws device_error
  [[nodiscard]] virtual void* map_memory(const memory_name& name);

  /// Makes host memory visible to every device of the backend. @throws device_error
  virtual void pin(std::span<std::byte> memory);
  virtual void unpin(std::span<std::byte>) noexcept {}
};

/// Constants of a backend.
struct backend_traits {
  backend_kind kind;
  /// Bytes from one completion word to the next: 8 where a device stores and the host polls.
  std::size_t word_stride;
  /// The backend calls `listener->reached` for word marks, so they need no polling.
  bool notifies;
  /// The backend writes kernel and copy spans to the trace; else the runtime counts submissions.
  bool traces;
  /// Streams continue after a failed stretch; else the first failure is final for the device.
  bool recovers;
  /// The backend whose events and native streams it uses: itself, or the backend on which it is
  /// built (Kokkos).
  backend_kind family = kind;
};

/// Parameters of a new backend. The objects pointed to outlive the backend.
struct backend_request {
  runtime* owner;
  completion_kind completion;
  worker* home;                // any worker of the runtime: gives waiters the scheduler
  std::vector<int> which;      // devices by the backend's own numbers; empty: the first `count`
  int count = 0;               // 0: all present devices (one on the host)
  const char* label = "host";  // name of the host backend's devices in errors and traces
};

class backend {
 public:
  virtual ~backend() = default;
  [[nodiscard]] virtual const backend_traits& traits() const noexcept = 0;
  /// Returns the number of devices selected by the request. At least one.
  [[nodiscard]] virtual int device_count() const noexcept = 0;
  /// Opens a device, 0 ≤ index < device_count(). Called once for each index.
  [[nodiscard]] virtual std::unique_ptr<backend_device> open(int index) = 0;
};

/// Returns 64-byte aligned pageable memory, for `memory_kind::host` of every backend; null when
/// refused.
[[nodiscard]] void* allocate_host_memory(std::size_t bytes) noexcept;
void deallocate_host_memory(void* memory) noexcept;

/// Returns the error message for a kernel without a launcher: it names the kernel, the backend and
/// the line to add.
[[nodiscard]] std::string missing_launcher(kernel_entry& entry, backend_kind backend);

[[nodiscard]] std::unique_ptr<backend> make_host_backend(const backend_request& request);

/// Returns the number of CUDA devices: 0 without a driver, without a device, or in a program linked
/// without CUDA.
[[nodiscard]] int count_cuda_devices() noexcept;
/// Clears the calling thread's last CUDA error. Called before launches by code that does not check
/// CUDA's result (Kokkos). Does nothing in a program linked without CUDA.
/// @throws device_error when that error ended the device's context
void clear_cuda_error();
/// Called after such launches of `kernel`. @throws device_error naming it when CUDA refused one
void check_cuda_launch(const char* kernel);
/// Makes the CUDA backend. @throws backend_unavailable naming -DSTARLING_CUDA=ON in a program
/// linked without CUDA, or the driver's reason when there is no device; option_error when a chosen
/// device does not exist
[[nodiscard]] std::unique_ptr<backend> make_cuda_backend(const backend_request& request);

/// As make_cuda_backend, for SYCL (-DSTARLING_SYCL=ON) and Kokkos (-DSTARLING_KOKKOS=ON).
[[nodiscard]] std::unique_ptr<backend> make_sycl_backend(const backend_request& request);
[[nodiscard]] std::unique_ptr<backend> make_kokkos_backend(const backend_request& request);

}  // namespace starling::detail
