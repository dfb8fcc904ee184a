// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "../backend.hpp"
#include "kokkos_space.hpp"

/// Streams whose kernels run through Kokkos. Queues, copies, events and memory are those of the
/// backend for Kokkos' execution space: host streams for Serial; CUDA streams for Cuda, each with
/// an instance of the space on it. Only the launch of kernels differs.
namespace starling::detail {
namespace {

class kokkos_stream final : public backend_stream {
 public:
  /// `instance` is null where kernels run on the host.
  kokkos_stream(std::unique_ptr<backend_stream> queue,
                std::shared_ptr<const void> instance) noexcept
      : m_queue(std::move(queue)), m_instance(std::move(instance)) {}

  void launch(const kernel_call& call) override {
    if (call.entry->launcher(backend_kind::kokkos) == nullptr)
      throw usage_error(missing_launcher(*call.entry, backend_kind::kokkos));
    if (m_instance != nullptr) {
      static_cast<void>(m_queue->native());  // makes the stream's device current on this thread
      clear_cuda_error();
      return launch_on_instance(call, m_instance.get(), m_capturing, &check_cuda_launch);
    }
    kernel_call on_host = call;
    on_host.inner = std::exchange(on_host.host, &run_on_host_instance);
    m_queue->launch(on_host);
  }

  void copy(std::span<const transfer> transfers, member_observer* observer) override {
    m_queue->copy(transfers, observer);
  }
  void fill(void* dst, const void* value, std::size_t element, std::size_t count) override {
    m_queue->fill(dst, value, element, count);
  }
  void record(const std::shared_ptr<backend_event>& point) override { m_queue->record(point); }
  void wait(const std::shared_ptr<backend_event>& point, dependency what) override {
    m_queue->wait(point, what);
  }
  void wait_native(void* event) override { m_queue->wait_native(event); }
  void mark(const completion_mark& request) override { m_queue->mark(request); }
  void synchronize() override { m_queue->synchronize(); }
  void begin_capture() override {
    m_queue->begin_capture();
    m_capturing = true;
  }
  [[nodiscard]] std::shared_ptr<backend_graph> end_capture() override {
    m_capturing = false;
    return m_queue->end_capture();
  }
  void launch_graph(const std::shared_ptr<backend_graph>& recording) override {
    m_queue->launch_graph(recording);
  }
  [[nodiscard]] bool is_idle() override { return m_queue->is_idle(); }
  [[nodiscard]] std::exception_ptr query_error() noexcept override {
    return m_queue->query_error();
  }
  [[nodiscard]] void* native() const noexcept override { return m_queue->native(); }

 private:
  std::unique_ptr<backend_stream> m_queue;  // outlives the instance on it
  std::shared_ptr<const void> m_instance;
  bool m_capturing = false;
};

class kokkos_device final : public backend_device {
 public:
  kokkos_device(std::unique_ptr<backend_device> base, const kokkos_facts& facts)
      : m_base(std::move(base)), m_properties(m_base->properties()),
        m_on_host(facts.cuda_device < 0) {
    // No limit: Kokkos takes scratch memory that does not fit level 0 from level 1.
    m_properties.group_scratch_bytes = std::numeric_limits<std::size_t>::max();
    m_properties.name = "Kokkos " + std::string(facts.space) + " on " + m_properties.name;
  }

  [[nodiscard]] const device_properties& properties() const noexcept override {
    return m_properties;
  }
  [[nodiscard]] void* allocate(memory_kind kind, std::size_t bytes) override {
    return m_base->allocate(kind, bytes);
  }
  void deallocate(memory_kind kind, void* memory, std::size_t bytes) noexcept override {
    m_base->deallocate(kind, memory, bytes);
  }
  [[nodiscard]] std::unique_ptr<backend_stream> make_stream(const stream_request& r) override {
    auto queue = m_base->make_stream(r);
    auto instance = m_on_host ? nullptr : make_kokkos_instance(queue->native());
    return std::make_unique<kokkos_stream>(std::move(queue), std::move(instance));
  }
  [[nodiscard]] std::unique_ptr<backend_stream> adopt_stream(void* native,
                                                             const stream_request& r) override {
    return m_base->adopt_stream(native, r);  // used for waits only: no kernels are launched on it
  }
  [[nodiscard]] std::shared_ptr<backend_event> make_event() override {
    return m_base->make_event();
  }
  [[nodiscard]] std::shared_ptr<backend_event> make_timed_event() override {
    return m_base->make_timed_event();
  }
  void load_kernels() override { m_base->load_kernels(); }
  bool enable_peer_access(backend_device& other) override {
    return m_base->enable_peer_access(*static_cast<kokkos_device&>(other).m_base);
  }

 private:
  std::unique_ptr<backend_device> m_base;
  device_properties m_properties;
  bool m_on_host;
};

class kokkos_backend final : public backend {
 public:
  kokkos_backend(std::unique_ptr<backend> base, const kokkos_facts& facts) noexcept
      : m_base(std::move(base)), m_facts(facts), m_traits(m_base->traits()) {
    m_traits.kind = backend_kind::kokkos;
  }

  [[nodiscard]] const backend_traits& traits() const noexcept override { return m_traits; }
  [[nodiscard]] int device_count() const noexcept override { return m_base->device_count(); }
  [[nodiscard]] std::unique_ptr<backend_device> open(int index) override {
    return std::make_unique<kokkos_device>(m_base->open(index), m_facts);
  }

 private:
  std::unique_ptr<backend> m_base;
  kokkos_facts m_facts;
  backend_traits m_traits;
};

/// Returns the request for Kokkos' own GPU: Kokkos uses one GPU per process, chosen when it is
/// initialised. @throws option_error when the request names other devices
backend_request on_device_of_kokkos(const backend_request& request, int device) {
  const bool others = request.count > 1 || request.which.size() > 1 ||
                      (request.which.size() == 1 && request.which.front() != device);
  if (others)
    throw option_error("--starling-devices: Kokkos uses CUDA device " + std::to_string(device) +
                       " only; another one is chosen when Kokkos is initialised "
                       "(KOKKOS_DEVICE_ID, CUDA_VISIBLE_DEVICES)");
  backend_request narrowed = request;
  narrowed.which = {device};
  narrowed.count = 0;
  return narrowed;
}

}  // namespace

std::unique_ptr<backend> make_kokkos_backend(const backend_request& request) {
  if (kokkos_needs_cuda() && count_cuda_devices() == 0)
    throw backend_unavailable(
        "the Kokkos of this program computes on CUDA, and there is no device here; use the host "
        "backend (--starling-backend host)");
  const kokkos_facts facts = open_kokkos();
  backend_request mine = request;
  mine.label = "Kokkos";
  auto base = facts.cuda_device < 0
                  ? make_host_backend(mine)
                  : make_cuda_backend(on_device_of_kokkos(mine, facts.cuda_device));
  return std::make_unique<kokkos_backend>(std::move(base), facts);
}

}  // namespace starling::detail
