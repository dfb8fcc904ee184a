// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>
#include <starling/device/interop/cuda.hpp>
#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/far_memory.hpp>
#include <starling/resident/detail/host_group.hpp>

#include "driver.hpp"

namespace starling::resident::detail {
namespace {

/// Runs schedulers as a persistent kernel on each device. Memory, streams and errors are those of
/// the device module; only the launch is specific to the backend.
class device_driver final : public driver {
 public:
  /// `far`: null if all memory is mapped.
  device_driver(runtime& rt, program_code::launcher code, far_memory* far, const group_shape& shape,
                std::uint32_t multiprocessors) noexcept
      : m_runtime(&rt), m_code(code), m_far(far), m_shape(shape),
        m_multiprocessors(multiprocessors) {}
  ~device_driver() override {
    join();
    if (!m_pinned.empty()) m_devices[0].dev->unpin(m_pinned);
    if (m_far_slab != nullptr) m_far->give_back(m_far_slab);
  }

  void allocate(const layout& l, device_range own) override {
    m_world.l = l;
    m_own = own;
    take_devices(own.count);
    for (std::uint32_t d = own.first; d < own.end(); ++d) {
      const std::span<std::byte> slab = make_slab(state_of(d), l.bytes);
      state_of(d).copies.fill(slab, std::byte{});
      for (device_state& s : m_devices) s.slabs[d] = slab.data();
      m_seen[d] = slab.data();
    }
    for (const device_state& s : m_devices) settle(s.copies);
    m_world = world_of(m_devices[0]);
  }
  memory_name name_of(std::uint32_t device) override {
    if (m_far != nullptr)
      return {.process = process_number(),
              .allocation = m_far->position(),
              .offset = m_far->offset_of(m_far_slab)};
    const device_state& s = state_of(device);
    if (const auto name = s.dev->export_memory(s.slab.data())) return *name;
    throw usage_error(
        fmt::format("memory of device {} cannot be given to other ranks, which a resident program "
                    "of several needs: options peer-memory=refuse or stage keep it back",
                    device - m_own.first));
  }
  void map(std::uint32_t device, const memory_name& name) override {
    if (m_far != nullptr) return map_far(device, name);
    for (device_state& s : m_devices) {
      const auto found = s.dev->import_memory(name);
      if (!found.is_reached)
        throw usage_error("a resident program's kernels do not reach the memory of device " +
                          std::to_string(device) + " of the program, which another rank has");
      s.slabs[device] = static_cast<std::byte*>(found.data);
    }
    m_seen[device] = m_devices[0].slabs[device];
    m_world = world_of(m_devices[0]);
  }
  void write(std::uint32_t device, std::uint64_t offset, const void* from,
             std::size_t bytes) override {
    const device_state& s = state_of(device);
    s.copies.copy_bytes(s.slabs[device] + offset, from, bytes);
    settle(s.copies);
  }
  bool can_read(std::uint32_t device) const noexcept override { return m_seen[device] != nullptr; }
  void read(std::uint32_t device, std::uint64_t offset, void* to,
            std::size_t bytes) const override {
    const device_state& s = m_own.has(device) ? state_of(device) : m_devices[0];
    s.copies.copy_bytes(to, m_seen[device] + offset, bytes);
    settle(s.copies);
  }
  void start() override {
    for (const device_state& s : m_devices)
      s.dev->load_kernels();  // also for streams of `system::beside`
    for (std::uint32_t d = m_own.first; d < m_own.end(); ++d) {
      const device_state& s = state_of(d);
      group_shape shape = m_shape;
      if (shape.blocks == 0)
        shape.blocks = s.multiprocessors != 0 ? static_cast<int>(s.multiprocessors)
                                              : s.dev->properties().compute_units;
      const launch_result r = m_code(world_of(s), d, shape, s.kernel.native<cuda::native_stream>());
      if (r.error == 0) continue;
      end_own();  // not by scheduler 0, which may not run yet on its rank
      join();
      throw device_error(
          fmt::format("the schedulers of a resident program could not be started on device {} "
                      "(error {}): {}",
                      d - m_own.first, r.error, room_of(shape, s, r.most)),
          r.error);
    }
    if (m_world.l.trace_records != 0) compare_clocks();
  }
  void wake() noexcept override {}
  [[nodiscard]] bool is_ended() noexcept override {
    return m_error != nullptr || driver::is_ended() || has_lost_device();
  }
  [[nodiscard]] std::exception_ptr error() const noexcept override { return m_error; }
  [[nodiscard]] std::int64_t clock_offset(std::uint32_t device) const noexcept override {
    return state_of(device).clock_offset;
  }
  void join() noexcept override {
    for (device_state& s : m_devices)
      while (m_error == nullptr && !is_idle(s.kernel))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  struct device_state {
    device* dev;
    mutable stream copies;
    stream kernel;
    buffer<std::byte> slab;
    std::byte* slabs[max_devices] = {};  // of all devices, as this device maps them
    std::uint32_t multiprocessors = 0;   // of the partition; 0: the whole device
    std::int64_t clock_offset = 0;
  };

  void pin(shared_memory& link) override {
    if (!link.is_own()) return;  // mapped and pinned by another rank of this process
    m_devices[0].dev->pin({link.data(), link.size()});
    m_pinned = {link.data(), link.size()};
  }
  [[nodiscard]] device_state& state_of(std::uint32_t device) noexcept {
    return m_devices[device - m_own.first];
  }
  [[nodiscard]] const device_state& state_of(std::uint32_t device) const noexcept {
    return m_devices[device - m_own.first];
  }
  [[nodiscard]] std::span<std::byte> make_slab(device_state& s, std::uint64_t bytes) {
    if (m_far == nullptr) {
      s.slab = s.dev->allocate<std::byte>(memory_kind::device, bytes, s.copies);
      return s.slab.span();
    }
    m_far_slab = m_far->allocate(bytes);
    return {m_far_slab, bytes};
  }
  /// Maps the slab of another PE: its address is the local symmetric address at the same offset.
  void map_far(std::uint32_t device, const memory_name& name) {
    std::byte* const here = m_far->at(name.offset);
    if (name.process == process_number()) m_seen[device] = here;
    const auto address = reinterpret_cast<std::uint64_t>(here);
    if (address >> 48 != 0)
      throw usage_error(
          "symmetric memory of NVSHMEM lies above 2^48, where resident programs do "
          "not reach it");
    m_devices[0].slabs[device] =
        as_far_pointer<std::byte>({static_cast<std::uint32_t>(name.allocation), address});
    m_world = world_of(m_devices[0]);
  }
  /// Returns the `world` for one of its devices, with the slabs as that device maps them.
  [[nodiscard]] world world_of(const device_state& s) const noexcept {
    world w = m_world;
    std::ranges::copy(s.slabs, w.slabs);
    w.multiprocessors = s.multiprocessors;
    return w;
  }
  /// Returns the error text for schedulers that do not fit onto a device.
  [[nodiscard]] std::string room_of(const group_shape& shape, const device_state& s,
                                    int most) const {
    return fmt::format(
        "{} groups of {}{} threads, and 64 more in each block that serve them, must fit onto {} at "
        "once{}. Take fewer `schedulers`, `threads` or `group_blocks`",
        m_world.l.schedulers, shape.blocks == 1 ? "" : fmt::format("{} blocks of ", shape.blocks),
        shape.threads,
        s.multiprocessors == 0 ? "it" : fmt::format("{} of its multiprocessors", s.multiprocessors),
        most == 0 ? "" : fmt::format("; there is room for {}", most));
  }
  void take_devices(std::uint32_t count) {
    device_set& all = devices(*m_runtime);
    if (count > all.count())
      throw usage_error(fmt::format("a resident program wants {} devices, and the runtime has {}",
                                    count, all.count()));
    for (std::uint32_t d = 0; d < count; ++d) {
      device& one = all.device(d);
      for (const device_state& s : m_devices)
        if (!one.enable_peer_access(*s.dev) || !s.dev->enable_peer_access(one))
          throw usage_error("device " + std::to_string(d) +
                            " and one before it do not reach each other's memory, which a "
                            "resident program needs");
      m_devices.push_back(make_state(one));
    }
  }
  [[nodiscard]] device_state make_state(device& one) const {
    device_partition* const reserved =
        m_multiprocessors == 0 ? nullptr : &divide(one, m_multiprocessors).chosen;
    return {.dev = &one,
            .copies = one.make_stream(priority::high),
            .kernel = reserved == nullptr ? one.make_stream() : reserved->make_stream(),
            .slab = {},
            .multiprocessors =
                static_cast<std::uint32_t>(reserved == nullptr ? 0 : reserved->compute_units())};
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
  /// Returns whether a device is lost. Queries the CUDA driver in one of 4096 calls only.
  [[nodiscard]] bool has_lost_device() noexcept {
    if (++m_looks % looks_between_queries != 0) return false;
    for (const device_state& s : m_devices)
      if (is_idle(s.kernel) && m_error != nullptr) return true;
    return false;
  }
  /// Sets the clock offsets: each device writes its time when it begins, and the host reads its own
  /// clock some microseconds later. Waits for at most two seconds.
  void compare_clocks() noexcept {
    const std::uint64_t limit = tracer::now() + 2'000'000'000;
    for (std::uint32_t d = m_own.first; d < m_own.end(); ++d) {
      std::uint64_t there = 0;
      std::uint64_t here = 0;
      do {
        there = host_group::load_acquire(&m_world.link->begun_at[d]);
        here = tracer::now();
      } while (there == 0 && here < limit);
      state_of(d).clock_offset = there == 0 ? 0 : static_cast<std::int64_t>(here - there);
    }
  }

  static constexpr std::uint32_t looks_between_queries = 4096;

  runtime* m_runtime;
  program_code::launcher m_code;
  far_memory* m_far;
  std::byte* m_far_slab = nullptr;            // allocated from `m_far`
  const std::byte* m_seen[max_devices] = {};  // all slabs, for copies; null: not accessible
  group_shape m_shape;
  std::uint32_t m_multiprocessors;  // requested; 0: no partition
  std::vector<device_state> m_devices;
  std::span<std::byte> m_pinned;
  std::exception_ptr m_error;
  std::uint32_t m_looks = 0;
};

/// Returns the error text for a program that is not compiled for a granularity.
std::string missing_code(granularity of) {
  static constexpr const char* names[granularities] = {"", "cluster", "device"};
  const char* const name = names[static_cast<int>(of)];
  const bool is_block = of == granularity::block;
  return fmt::format(
      "there is no code of this resident program for a device{}: compile it in a .cu file with "
      "`template struct starling::resident::cuda::instantiate<…{}>;`, or let it run on the host",
      is_block ? "" : fmt::format(" whose granularity is {}", name),
      is_block ? "" : fmt::format(", starling::resident::cuda::{}_group", name));
}

}  // namespace

divided_device divide(device& whole, std::uint32_t multiprocessors) {
  constexpr auto most = std::uint32_t(std::numeric_limits<int>::max());
  try {
    return whole.divide(static_cast<int>(std::min(multiprocessors, most)));
  } catch (const usage_error& e) {
    throw option_error("resident option multiprocessors = " + std::to_string(multiprocessors) +
                       " cannot be used: " + e.what());
  }
}

std::string missing_far_code() {
  return "there is no code of this resident program for devices that reach each other by NVSHMEM: "
         "compile it in a .cu file with `template struct "
         "starling::resident::nvshmem::instantiate<…>;`, link NVSHMEM, or leave `reach` as it is";
}

std::unique_ptr<driver> make_device_driver(runtime& rt, const program_description& program,
                                           const group_shape& shape, std::uint32_t multiprocessors,
                                           reach way) {
  const bool is_far = way != reach::mapped;
  const program_code& all = *program.code;
  const auto code = (is_far ? all.launch_far : all.launch[static_cast<int>(shape.of)])
                        .load(std::memory_order_relaxed);
  if (code == nullptr) throw usage_error(is_far ? missing_far_code() : missing_code(shape.of));
  if (devices(rt).backend() != backend_kind::cuda)
    throw usage_error(
        "resident programs run on CUDA devices or on the host: the runtime's devices are of "
        "backend `" +
        std::string(to_string(devices(rt).backend())) + "`");
  far_memory* const memory =
      is_far ? far_memory::of_process.load(std::memory_order_relaxed) : nullptr;
  return std::make_unique<device_driver>(rt, code, memory, shape, multiprocessors);
}

}  // namespace starling::resident::detail
