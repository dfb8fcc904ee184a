// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "../backend.hpp"
#include "host_event.hpp"
#include "host_stream.hpp"

/// The host backend: the operations of its streams are tasks of the runtime's workers, so that any
/// number of streams shares the processor without threads of their own.
namespace starling::detail {
namespace {

class host_device final : public backend_device {
 public:
  host_device(const host_context& context, device_properties properties)
      : m_context(context), m_properties(std::move(properties)) {}

  [[nodiscard]] const device_properties& properties() const noexcept override {
    return m_properties;
  }
  [[nodiscard]] void* allocate(memory_kind, std::size_t bytes) override {
    return ::operator new(bytes, std::align_val_t(device_alignment), std::nothrow);
  }
  void deallocate(memory_kind, void* memory, std::size_t) noexcept override {
    ::operator delete(memory, std::align_val_t(device_alignment));
  }
  [[nodiscard]] std::unique_ptr<backend_stream> make_stream(const stream_request& r) override {
    return std::make_unique<host_stream>(m_context, r);
  }
  [[nodiscard]] std::shared_ptr<backend_event> make_event() override {
    return std::make_shared<host_event>();
  }
  [[nodiscard]] std::shared_ptr<backend_event> make_timed_event() override {
    return std::make_shared<host_event>(true);
  }
  bool enable_peer_access(backend_device&) override { return true; }
  bool export_memory(const void*, memory_name&) override { return true; }
  void pin(std::span<std::byte>) override {}

 private:
  static constexpr std::size_t device_alignment = 256;
  host_context m_context;
  device_properties m_properties;
};

class host_backend final : public backend {
 public:
  explicit host_backend(const backend_request& request)
      : m_request(request),
        m_count(request.which.empty() ? std::max(request.count, 1)
                                      : static_cast<int>(request.which.size())) {}

  [[nodiscard]] const backend_traits& traits() const noexcept override {
    // One word per cache line, because host threads store the words. Strands notify when they pass
    // a mark, which is sooner and cheaper than polling.
    static constexpr backend_traits host{backend_kind::host, 64, true, true, true};
    return host;
  }
  [[nodiscard]] int device_count() const noexcept override { return m_count; }

  [[nodiscard]] std::unique_ptr<backend_device> open(int index) override {
    const int number =
        m_request.which.empty() ? index : m_request.which[static_cast<std::size_t>(index)];
    const unsigned workers = m_request.owner->worker_count();
    const host_context context{
        m_request.owner, m_request.home, m_request.label, number,
        // With `block`, the thread that waits in place must be able to run all the work itself.
        workers > 1 && m_request.completion != completion_kind::block,
        m_request.owner->options().chaos.has_value()};
    device_properties properties;
    properties.name = "host";
    properties.memory_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    properties.compute_units = static_cast<int>(workers);
    return std::make_unique<host_device>(context, std::move(properties));
  }

 private:
  backend_request m_request;
  int m_count;
};

}  // namespace

std::unique_ptr<backend> make_host_backend(const backend_request& request) {
  return std::make_unique<host_backend>(request);
}

}  // namespace starling::detail
