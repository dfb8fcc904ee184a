// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>

#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/device/interop/kokkos_bridge.hpp>

#include "device_impl.hpp"

/// Needs no Kokkos headers: work of host spaces comes as pieces to run, work of device spaces is in
/// a native stream.
namespace starling::kokkos::detail {
namespace {

using starling::detail::backend;
using starling::detail::backend_device;
using starling::detail::backend_stream;
using starling::detail::kernel_call;
using starling::detail::kernel_entry;

constinit kernel_entry work_entry{&typeid(host_work), "kokkos::async"};

/// The argument of a kernel call that runs queued work.
struct queued_work {
  host_work* work;
  std::mutex* turn;  // the lock of its instance
};

/// Runs pieces of queued work. Work of one piece runs on the instance itself; another runtime may
/// use the same instance, which may be the only one of the process: hence the lock. Each piece of
/// divided work has a separate instance.
void run_pieces(const kernel_call& call, std::int64_t first, std::int64_t last) {
  const auto& [work, turn] = *static_cast<const queued_work*>(call.object);
  if (work->pieces() != 1) return work->run(first, last);
  const std::lock_guard lock(*turn);
  work->run(first, last);
}

/// Returns the lock of an instance. There is one lock per address in the process, never destroyed:
/// a new instance at the address of a destroyed instance uses its lock.
std::mutex& turn_of(const void* instance) {
  static std::mutex guard;
  static auto& turns = *new std::map<const void*, std::mutex>;  // runtimes may outlive statics
  const std::lock_guard lock(guard);
  return turns[instance];
}

/// Streams of the host backend, one per instance of a host space. They run the work of an instance
/// in order and divide it over the workers.
class host_queues {
 public:
  explicit host_queues(runtime& rt)
      : m_backend(starling::detail::make_host_backend(
            {&rt, completion_kind::callback, &rt.get_executor().home(), {}, 1, "Kokkos"})),
        m_device(m_backend->open(0)) {}

  void submit(const void* instance, host_work& work) {
    queue& q = of(instance);
    const queued_work object{&work, q.turn};
    kernel_call call{&work_entry,   &object,     sizeof object, range{1},
                     group_shape{}, &run_pieces, work.pieces(), 1};
    const std::lock_guard lock(q.submit_lock);
    q.strand->launch(call);
  }

 private:
  struct queue {
    std::mutex submit_lock;  // a backend's stream takes one call at a time
    std::mutex* turn = nullptr;
    std::unique_ptr<backend_stream> strand;
  };

  queue& of(const void* instance) {
    const std::lock_guard lock(m_lock);
    queue& q = m_queues[instance];
    const auto number = static_cast<std::uint32_t>(m_queues.size() - 1);
    if (q.strand == nullptr) {
      q.turn = &turn_of(instance);
      q.strand = m_device->make_stream({priority::normal, {number}, nullptr});
    }
    return q;
  }

  std::unique_ptr<backend> m_backend;
  std::unique_ptr<backend_device> m_device;
  std::mutex m_lock;
  std::map<const void*, queue> m_queues;  // by the address of the instance; reused with the address
};

runtime& runtime_here(const char* call) {
  runtime* rt = runtime::current();
  if (rt == nullptr)
    throw usage_error(std::string("kokkos::") + call + " outside a runtime: call it in a task");
  return *rt;
}

recycling_allocator& allocator_of(device& target, memory_kind kind, backend_kind family) {
  if (family != backend_kind::host && target.internals().context.traits.family != family)
    throw usage_error(std::string("kokkos: a device of the ") + to_string(target.backend()) +
                      " backend has no memory of a Kokkos space of " + to_string(family) +
                      "; run with --starling-backend kokkos");
  return target.allocator(kind);
}

}  // namespace

void submit(const void* instance, host_work& work, const char* call) {
  runtime_here(call).service<host_queues>().submit(instance, work);
}

device& device_here(const char* call) { return devices(runtime_here(call)).here(); }

device& device_at(std::string_view bus_id, const char* call) {
  const device_set& all = devices(runtime_here(call));
  if (all.here().properties().bus_id == bus_id) return all.here();
  for (std::size_t i = 0; i < all.count(); ++i)
    if (all.device(i).properties().bus_id == bus_id) return all.device(i);
  throw usage_error(std::string("kokkos::") + call + ": the instance computes on the device at " +
                    std::string(bus_id) + ", which is none of this runtime's (" +
                    to_string(all.backend()) +
                    " backend): run with --starling-backend kokkos, or choose it with "
                    "--starling-devices");
}

memory_block::memory_block(device& target, memory_kind kind, backend_kind family, std::size_t bytes)
    : m_source(&allocator_of(target, kind, family)), m_data(m_source->allocate(bytes)),
      m_bytes(bytes) {}

memory_block::memory_block(const stream& order, memory_kind kind, backend_kind family,
                           std::size_t bytes)
    : m_source(&allocator_of(order.device(), kind, family)), m_order(&order.state()),
      m_data(m_source->allocate(bytes, m_order)), m_bytes(bytes) {}

}  // namespace starling::kokkos::detail
