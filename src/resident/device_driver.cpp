// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>
#include <starling/resident/detail/host_group.hpp>

#include "driver.hpp"

namespace starling::resident::detail {
namespace {

/// A persistent kernel on each device. Memory, streams and errors are those of the device module;
/// only the launch is a backend's own.
class device_driver final : public driver {
 public:
  device_driver(runtime& rt, program_code::launcher code, int threads) noexcept
      : m_runtime(&rt), m_code(code), m_threads(threads) {}
  ~device_driver() override { join(); }

  world allocate(const layout& l) override {
    m_world.l = l;
    take_devices(l.devices);
    for (std::uint32_t d = 0; d < l.devices; ++d) {
      part& p = m_parts[d];
      p.slab = p.where->allocate<std::byte>(memory_kind::device, l.bytes, p.copies);
      p.copies.fill(p.slab.span(), std::byte{});
      m_world.slabs[d] = p.slab.data();
    }
    for (part& p : m_parts) settle(p.copies);
    m_link = m_parts[0].where->allocate<std::byte>(memory_kind::pinned, sizeof(host_link) + 128);
    void* memory = m_link.data();
    std::size_t room = m_link.size();
    std::memset(memory, 0, room);
    m_world.link = ::new (std::align(128, sizeof(host_link), memory, room)) host_link;
    return m_world;
  }
  void write(std::uint32_t device, std::uint64_t offset, const void* from,
             std::size_t bytes) override {
    m_parts[device].copies.copy_bytes(m_world.slabs[device] + offset, from, bytes);
    settle(m_parts[device].copies);
  }
  void read(std::uint32_t device, std::uint64_t offset, void* to,
            std::size_t bytes) const override {
    m_parts[device].copies.copy_bytes(to, m_world.slabs[device] + offset, bytes);
    settle(m_parts[device].copies);
  }
  void start() override {
    for (std::uint32_t d = 0; d < m_parts.size(); ++d) {
      const int error = m_code(m_world, d, m_threads, m_parts[d].kernel.native<void*>());
      if (error == 0) continue;
      end_those_that_run();
      throw device_error(
          "the schedulers of a resident program could not be started on device " +
              std::to_string(d) + ": " + std::to_string(m_world.l.schedulers) + " groups of " +
              std::to_string(m_threads) +
              " threads, and 64 more each that serve them, must fit onto it at once. Take fewer "
              "`schedulers` or `threads`",
          error);
    }
    m_runs = true;
  }
  void wake() noexcept override {}
  [[nodiscard]] bool is_ended() noexcept override {
    return m_error != nullptr || all_have_ended(m_world) || has_lost_device();
  }
  [[nodiscard]] std::exception_ptr error() const noexcept override { return m_error; }
  void join() noexcept override {
    for (part& p : m_parts)
      while (m_error == nullptr && !is_idle(p.kernel))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  struct part {
    device* where;
    mutable stream copies;
    stream kernel;
    buffer<std::byte> slab;
  };

  void take_devices(std::uint32_t count) {
    device_set& all = devices(*m_runtime);
    if (count > all.count())
      throw usage_error("a resident program wants " + std::to_string(count) +
                        " devices, and the runtime has " + std::to_string(all.count()));
    for (std::uint32_t d = 0; d < count; ++d) {
      device& one = all.device(d);
      for (const part& p : m_parts)
        if (!one.enable_peer_access(*p.where) || !p.where->enable_peer_access(one))
          throw usage_error("device " + std::to_string(d) +
                            " and one before it do not reach each other's memory, which a "
                            "resident program needs");
      m_parts.push_back({&one, one.make_stream(priority::high), one.make_stream(), {}});
    }
  }
  static void settle(const stream& s) {
    while (!s.is_idle()) std::this_thread::yield();
  }
  [[nodiscard]] bool is_idle(const stream& s) noexcept {
    try {
      return s.is_idle();
    } catch (...) {
      m_error = std::current_exception();
      return true;
    }
  }
  /// Asked now and then only: it costs a query of the driver.
  [[nodiscard]] bool has_lost_device() noexcept {
    if (!m_runs || ++m_looks % looks_between_queries != 0) return false;
    for (const part& p : m_parts)
      if (is_idle(p.kernel) && m_error != nullptr) return true;
    return false;
  }
  void end_those_that_run() noexcept {
    host_group::store_release(&m_world.link->stop_wanted, 1u);
    join();
  }

  static constexpr std::uint32_t looks_between_queries = 4096;

  runtime* m_runtime;
  program_code::launcher m_code;
  int m_threads;
  world m_world;
  std::vector<part> m_parts;
  buffer<std::byte> m_link;
  std::exception_ptr m_error;
  std::uint32_t m_looks = 0;
  bool m_runs = false;
};

}  // namespace

std::unique_ptr<driver> make_device_driver(runtime& rt, const program_description& program,
                                           int threads) {
  const auto code = program.code->launch.load(std::memory_order_relaxed);
  if (code == nullptr)
    throw usage_error(
        "there is no code of this resident program for a device: compile it in a .cu file with "
        "`template struct starling::resident::cuda::instantiate<…>;`, or let it run on the host");
  if (devices(rt).backend() != backend_kind::cuda)
    throw usage_error(
        "resident programs run on CUDA devices or on the host: the runtime's devices are of "
        "backend `" +
        std::string(to_string(devices(rt).backend())) + "`");
  return std::make_unique<device_driver>(rt, code, threads);
}

bool all_have_ended(const world& w) noexcept {
  for (std::uint32_t d = 0; d < w.l.devices; ++d)
    if (host_group::load_acquire(&w.link->ended[d * 32]) == 0) return false;
  return true;
}

}  // namespace starling::resident::detail
