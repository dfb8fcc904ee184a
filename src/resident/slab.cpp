// SPDX-License-Identifier: Apache-2.0
#include "slab.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <starling/core/error.hpp>
#include <starling/resident/detail/host_group.hpp>

namespace starling::resident::detail {
namespace {

template <class Value>
void require(bool fits, const char* option, Value value, const char* accepted) {
  if (!fits)
    throw option_error(fmt::format("resident option {} = {} cannot be used: it must be {}", option,
                                   value, accepted));
}

void check_blocks(const options& o) {
  const std::uint32_t n = o.group_blocks;
  switch (o.granularity) {
    case granularity::block:
      return require(n <= 1, "group_blocks", n, "0 or 1 where `granularity` is block");
    case granularity::cluster:
      require(n == 0 || n == 2 || n == 4 || n == 8 || n == 16, "group_blocks", n,
              "2, 4, 8 or 16 where `granularity` is cluster, or 0 for 2");
      // Partitions consist of groups of eight neighbouring multiprocessors, too few for 16 blocks.
      return require(n <= 8 || o.multiprocessors == 0, "group_blocks", n,
                     "at most 8 where `multiprocessors` sets some apart");
    case granularity::device:
      require(o.schedulers == 1, "schedulers", o.schedulers, "1 where `granularity` is device");
      return require(n <= most_blocks, "group_blocks", n,
                     "at most 2048 where `granularity` is device, or 0 for all multiprocessors");
  }
  require(false, "granularity", std::uint64_t(o.granularity), "block, cluster or device");
}

void check_reach(const options& o) {
  const bool is_far = o.reach == reach::nvshmem;
  require(o.reach == reach::mapped || (is_far && o.granularity == granularity::block), "reach",
          std::uint64_t(o.reach), "mapped, or nvshmem where `granularity` is block");
  require(!is_far || o.place == place::host || o.devices == 1, "devices", o.devices,
          "1 where `reach` is nvshmem; take a rank for each");
  require(!is_far || (o.symmetric_bytes >= 1 << 20 && o.symmetric_bytes <= std::uint64_t(1) << 40),
          "symmetric_bytes", o.symmetric_bytes, "from 2^20 to 2^40");
}

void check_group(const options& o) {
  check_blocks(o);
  check_reach(o);
  if (o.place == place::device)
    return require(o.threads <= 960 && o.threads % 32 == 0, "threads", o.threads,
                   "a multiple of 32 up to 960 on a device");
  require(o.threads <= host_team::most, "threads", o.threads, "at most 64 on the host");
  const group_shape shape = shape_of(o);
  require(shape.blocks <= host_team::most / shape.threads, "group_blocks", shape.blocks,
          "so few on the host that a group has at most 64 threads");
}

template <class T>
void write_table(driver& memory, std::uint32_t device, std::uint64_t offset,
                 const std::vector<T>& table) {
  memory.write(device, offset, table.data(), table.size() * sizeof(T));
}

}  // namespace

group_shape shape_of(const options& o) {
  const bool is_host = o.place == place::host;
  const std::uint32_t threads = o.threads != 0 ? o.threads : is_host ? 1 : 128;
  std::uint32_t blocks = o.group_blocks;
  if (o.granularity == granularity::block) blocks = 1;
  if (blocks == 0 && (is_host || o.granularity == granularity::cluster)) blocks = 2;
  return {o.granularity, static_cast<int>(threads), static_cast<int>(blocks)};
}

void check_options(const options& o) {
  require(o.devices >= 1 && o.devices <= max_devices, "devices", o.devices, "from 1 to 8");
  require(o.ranks >= 1 && std::uint64_t(o.ranks) * o.devices <= max_devices, "ranks", o.ranks,
          "at least 1, with at most 8 devices on all");
  require(o.schedulers >= 1 && std::uint64_t(o.schedulers) * o.devices * o.ranks <= 65535,
          "schedulers", o.schedulers, "at least 1, and at most 65535 on all devices");
  check_group(o);
  require(std::has_single_bit(o.ring_slots) && o.ring_slots <= 65536, "ring_slots", o.ring_slots,
          "a power of two up to 65536");
  require(o.cells >= 64 && o.cells <= 1 << 20, "cells", o.cells, "from 64 to 1048576");
  require(o.blocks <= 64, "blocks", o.blocks, "at most 64");
  require(o.block_bytes % 16 == 0 && o.block_bytes <= 1 << 24, "block_bytes", o.block_bytes,
          "a multiple of 16 up to 16777216");
  require(o.heap_bytes <= std::uint64_t(1) << 40, "heap_bytes", o.heap_bytes, "at most 2^40");
  require(std::has_single_bit(o.trace_records) && o.trace_records <= 1 << 20, "trace_records",
          o.trace_records, "a power of two up to 1048576");
  require(o.stall_seconds > 0 && o.stall_seconds <= 3600, "stall_seconds", o.stall_seconds,
          "from 0 to 3600");
}

slab_plan::slab_plan(const options& chosen, const program_description& program,
                     const std::vector<array_request>& arrays, bool is_traced)
    : m_requests(&arrays) {
  check_options(chosen);
  layout& l = m_layout;
  l.devices = chosen.ranks * chosen.devices;
  l.set_schedulers(chosen.schedulers);
  l.ring_slots = chosen.ring_slots;
  l.cells = chosen.cells;
  l.blocks = chosen.blocks;
  l.block_bytes = chosen.block_bytes;
  l.heap_bytes = whole_lines(chosen.heap_bytes);
  l.stall_ns = static_cast<std::uint64_t>(chosen.stall_seconds * 1e9);
  l.arrays = static_cast<std::uint32_t>(arrays.size());
  const std::uint64_t schedulers = l.schedulers;
  l.ending = reserve(sizeof(std::uint32_t));
  l.failing = reserve(sizeof(std::uint32_t));
  l.ended = reserve(sizeof(std::uint32_t));
  if (chosen.place == place::device && chosen.granularity == granularity::device)
    l.barrier = reserve(sizeof(block_barrier));
  l.infos = reserve(l.arrays * sizeof(array_info));
  l.outgoing = reserve((l.all_schedulers() + 1) * sizeof(outgoing_ring));
  l.lines = reserve(schedulers * sizeof(scheduler_line));
  l.rings = reserve(schedulers * l.devices * l.ring_slots * sizeof(slot));
  l.private_rings =
      reserve(schedulers * most_private_rings * l.private_ring_slots() * sizeof(slot));
  l.cell_pools = reserve(schedulers * l.cells * sizeof(cell));
  l.block_pools = reserve(schedulers * l.pool_bytes());
  for (const array_request& request : arrays) {
    distribute(request);
    lay_out(request, program.chares[request.type], m_distributions.back());
  }
  l.heaps = reserve(schedulers * l.heap_bytes);
  l.trace_records = is_traced ? chosen.trace_records : 0;
  l.traces = reserve(schedulers * l.trace_records * sizeof(trace_record));
}

std::uint64_t slab_plan::reserve(std::uint64_t bytes) {
  const std::uint64_t at = m_layout.bytes;
  m_layout.bytes += whole_lines(bytes);
  return at;
}

void slab_plan::distribute(const array_request& request) {
  distribution d;
  d.on_device.resize(m_layout.devices);
  d.of_scheduler.resize(m_layout.all_schedulers());
  for (std::uint32_t i = 0; i < request.scheduler_of.size(); ++i) {
    const std::uint32_t s = request.scheduler_of[i];
    if (s >= m_layout.all_schedulers())
      throw usage_error(
          fmt::format("the map of a resident array puts element {} on scheduler {}: there are {}",
                      i, s, m_layout.all_schedulers()));
    ++d.of_scheduler[s];
    d.on_device[s / m_layout.schedulers].push_back(i);
  }
  for (auto& indices : d.on_device)
    std::ranges::stable_sort(indices, {}, [&](std::uint32_t i) { return request.scheduler_of[i]; });
  m_distributions.push_back(std::move(d));
}

void slab_plan::lay_out(const array_request& request, const chare_description& type,
                        const distribution& d) {
  std::size_t most = 0;
  for (const auto& indices : d.on_device) most = std::max(most, indices.size());
  array_info info;
  info.count = static_cast<std::uint32_t>(request.scheduler_of.size());
  info.type = request.type;
  info.stride = static_cast<std::uint32_t>(whole_lines(type.bytes));
  info.objects = reserve(most * info.stride);
  info.locations = reserve(std::uint64_t(info.count) * sizeof(std::uint64_t));
  info.indices = reserve(most * sizeof(std::uint32_t));
  info.firsts = reserve((m_layout.schedulers + 1) * sizeof(std::uint32_t));
  info.expected = reserve(m_layout.all_schedulers() * sizeof(std::uint32_t));
  info.has_setup = request.has_setup ? 1 : 0;
  info.setup = request.setup;
  info.setup.array = static_cast<std::uint8_t>(m_infos.size());
  m_infos.push_back(info);
}

/// Returns, by scheduler, the number of contributions to a reduction: of its own elements, and of
/// its children in the tree that send partial results.
std::vector<std::uint32_t> slab_plan::expected(const distribution& d) const {
  std::vector<std::uint32_t> result = d.of_scheduler;
  for (std::uint32_t s = m_layout.all_schedulers(); s-- > 1;)
    if (result[s] != 0) ++result[parent_of(s)];
  return result;
}

void slab_plan::write_to(driver& memory) const {
  outgoing_ring fresh;
  fresh.free_blocks =
      m_layout.blocks == 64 ? ~std::uint64_t{0} : (std::uint64_t(1) << m_layout.blocks) - 1;
  const std::vector<outgoing_ring> rings(m_layout.all_schedulers() + 1, fresh);
  const device_range own = memory.own();
  for (std::uint32_t device = own.first; device < own.end(); ++device) {
    write_table(memory, device, m_layout.outgoing, rings);
    write_table(memory, device, m_layout.infos, m_infos);
  }
  for (std::size_t a = 0; a < m_infos.size(); ++a) write_array(memory, a);
}

void slab_plan::write_array(driver& memory, std::size_t number) const {
  const array_info& info = m_infos[number];
  const distribution& d = m_distributions[number];
  const std::vector<std::uint32_t> expected_of = expected(d);
  const std::vector<std::uint64_t> locations = locations_of(number);
  const device_range own = memory.own();
  for (std::uint32_t device = own.first; device < own.end(); ++device) {
    std::vector<std::uint32_t> firsts(1);
    for (std::uint32_t s = 0; s < m_layout.schedulers; ++s)
      firsts.push_back(firsts.back() + d.of_scheduler[device * m_layout.schedulers + s]);
    write_table(memory, device, info.firsts, firsts);
    write_table(memory, device, info.indices, d.on_device[device]);
    write_table(memory, device, info.expected, expected_of);
    write_table(memory, device, info.locations, locations);
  }
}

std::vector<std::uint64_t> slab_plan::locations_of(std::size_t number) const {
  std::vector<std::uint64_t> result(m_infos[number].count);
  for (const auto& there : m_distributions[number].on_device)
    for (std::uint32_t slot = 0; slot < there.size(); ++slot)
      result[there[slot]] = location{(*m_requests)[number].scheduler_of[there[slot]], slot}.bits();
  return result;
}

}  // namespace starling::resident::detail
