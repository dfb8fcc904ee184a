// SPDX-License-Identifier: Apache-2.0
#include <starling/device/device.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <starling/core/error.hpp>

#include "device_impl.hpp"

namespace starling {

namespace {

/// Returns the bit of a device in `peers`; 0 beyond the 64th device, which only copies reach.
std::uint64_t bit_of(const device& d) {
  return d.id().value < 64 ? std::uint64_t(1) << d.id().value : 0;
}

}  // namespace

device::impl::impl(device_set::impl& owner_set, device_id number,
                   std::unique_ptr<detail::backend_device> opened, detail::worker& home)
    : set(owner_set), id(number), backend(std::move(opened)),
      times("device " + std::to_string(number.value) + " (" + backend->properties().name + ")",
            [this] { return backend->make_timed_event(); }),
      context{nullptr,
              &owner_set.poller,
              &home,
              &owner_set.owner.tracer(),
              owner_set.backend->traits(),
              owner_set.completion,
              backend->properties().group_scratch_bytes,
              &times} {
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    allocators[kind] = std::make_unique<recycling_allocator>(
        *backend, static_cast<memory_kind>(kind),
        "device " + std::to_string(id.value) + " (" + backend->properties().name + ")");
}

device::impl::~impl() {
  pool.reset();
  collectors.clear();
  streams.clear();  // waits for running work
  for (auto& a : allocators) a.reset();
  for (void* slab : word_slabs)
    backend->deallocate(memory_kind::pinned, slab, words_per_slab * context.traits.word_stride);
}

detail::completion_word& device::impl::new_word() {
  const std::size_t stride = context.traits.word_stride;
  const std::size_t slot = streams.size() % words_per_slab;
  if (slot == 0 && streams.size() / words_per_slab == word_slabs.size()) {
    word_slabs.reserve(word_slabs.size() + 1);
    void* slab = backend->allocate(memory_kind::pinned, words_per_slab * stride);
    if (slab == nullptr) throw out_of_memory("no pinned memory for completion words");
    word_slabs.push_back(slab);
  }
  std::byte* at = static_cast<std::byte*>(word_slabs.back()) + slot * stride;
  return *new (at) detail::completion_word(0);
}

detail::stream_state& device::impl::add_stream(starling::priority priority,
                                               const detail::backend_partition* partition) {
  streams.reserve(streams.size() + 1);
  spare.reserve(streams.size() + 1);  // so that recycle() cannot fail
  const stream_id number{static_cast<std::uint32_t>(streams.size())};
  streams.push_back(
      std::make_unique<detail::stream_state>(context, number, priority, new_word(), partition));
  return *streams.back();
}

detail::stream_state& device::impl::make_stream(starling::priority priority,
                                                const detail::backend_partition* partition) {
  std::lock_guard lock(mutex);
  const auto found = std::ranges::find_if(spare, [=](detail::stream_state* s) {
    return s->priority() == priority && s->partition() == partition && s->position() == 0;
  });
  if (found != spare.end()) {
    detail::stream_state* const s = *found;
    spare.erase(found);
    return *s;
  }
  detail::stream_state& s = add_stream(priority, partition);
  try {
    s.open(backend->make_stream({priority, s.id(), &s, partition}), false);
  } catch (...) {
    streams.pop_back();
    throw;
  }
  return s;
}

detail::stream_state& device::impl::adopt(void* native) {
  std::lock_guard lock(mutex);
  if (const auto known = adopted.find(native); known != adopted.end()) return *known->second;
  detail::stream_state& s = add_stream(priority::normal);
  try {
    // Before `open`: the poller then refers to the stream, which can no longer be removed.
    adopted[native] = &s;
    s.open(backend->adopt_stream(native, {priority::normal, s.id(), &s}), true);
    s.borrow();  // never recycled: the native stream has another owner
  } catch (...) {
    adopted.erase(native);
    streams.pop_back();
    throw;
  }
  return s;
}

void device::impl::recycle(detail::stream_state& s) noexcept {
  std::lock_guard lock(mutex);
  spare.push_back(&s);
}

void device::impl::finish_streams() noexcept {
  std::lock_guard lock(mutex);
  for (const auto& s : streams) s->synchronize();
}

detail::collector& device::impl::add_collector(const aggregation& how, starling::priority priority,
                                               std::atomic<detail::collector*>& slot) {
  std::lock_guard lock(collecting);
  if (detail::collector* made = slot.load(std::memory_order_acquire)) return *made;
  std::erase_if(collectors, [](const auto& c) { return c->is_abandoned(); });
  collectors.push_back(std::make_unique<detail::collector>(*context.owner, how, priority));
  slot.store(collectors.back().get(), std::memory_order_release);
  return *collectors.back();
}

device::device(std::unique_ptr<impl> internals) noexcept : m_impl(std::move(internals)) {}
device::~device() = default;

device_id device::id() const noexcept { return m_impl->id; }
backend_kind device::backend() const noexcept { return m_impl->context.traits.kind; }
const device_properties& device::properties() const noexcept {
  return m_impl->backend->properties();
}
runtime& device::owner() const noexcept { return m_impl->set.owner; }

stream device::make_stream(starling::priority priority) {
  return stream(m_impl->make_stream(priority));
}

void device::load_kernels() { m_impl->backend->load_kernels(); }

stream_pool& device::pool() noexcept { return *m_impl->pool; }

std::size_t device::stream_count() const noexcept {
  std::lock_guard lock(m_impl->mutex);
  return m_impl->streams.size();
}

recycling_allocator& device::allocator(memory_kind kind) noexcept {
  return *m_impl->allocators[static_cast<std::size_t>(kind)];
}

bool device::enable_peer_access(device& other) {
  if (&other == this) return true;
  if (other.backend() != backend())
    throw usage_error("enable_peer_access between devices of different backends");
  if (reaches(other)) return true;
  if ((m_impl->unreachable.load(std::memory_order_relaxed) & bit_of(other)) != 0) return false;
  const bool possible = m_impl->backend->enable_peer_access(*other.m_impl->backend);
  auto& known = possible ? m_impl->peers : m_impl->unreachable;
  known.fetch_or(bit_of(other), std::memory_order_relaxed);
  return possible;
}

std::optional<memory_name> device::export_memory(const void* memory) {
  memory_name name{process_number(),
                   0,
                   reinterpret_cast<std::uintptr_t>(memory),
                   0,
                   memory_reach::process,
                   {},
                   {}};
  if (!m_impl->exports || !m_impl->backend->export_memory(memory, name)) return std::nullopt;
  const std::string& bus = properties().bus_id;
  std::ranges::copy_n(bus.begin(), std::ptrdiff_t(std::min(bus.size(), name.bus_id.size())),
                      name.bus_id.begin());
  return name;
}

device::mapped_memory device::import_memory(const memory_name& name) {
  const std::string_view bus(name.bus_id.data(), ::strnlen(name.bus_id.data(), name.bus_id.size()));
  const bool is_here = bus == properties().bus_id;
  if (!m_impl->imports)
    throw device_error(
        "memory of other processes is not mapped: --starling-peer-memory is refuse or stage");
  if (bus.empty() != properties().bus_id.empty())
    throw device_error("memory of another backend's device");
  if (name.process == process_number())
    return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(name.address)), is_here, is_here};
  if (name.reach != memory_reach::host)
    throw device_error("memory of another process that cannot be mapped");
  auto* begin = static_cast<std::byte*>(m_impl->backend->map_memory(name));
  return {begin + name.offset, is_here, true};
}

void device::pin(std::span<std::byte> memory) { m_impl->backend->pin(memory); }
void device::unpin(std::span<std::byte> memory) noexcept { m_impl->backend->unpin(memory); }

std::uint64_t process_number() noexcept {
  // One number for each process, also after a fork: the process id is mixed in.
  static const std::uint64_t drawn = [] {
    std::random_device source;
    return (std::uint64_t(source()) << 32) | source();
  }();
  return drawn ^ (std::uint64_t(::getpid()) * 0x9e3779b97f4a7c15u);
}

bool device::reaches(const device& other) const noexcept {
  if (other.backend() != backend()) return false;
  if (&other == this || backend() == backend_kind::host) return true;
  return (m_impl->peers.load(std::memory_order_relaxed) & bit_of(other)) != 0;
}

}  // namespace starling
