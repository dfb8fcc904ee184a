// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <starling/core/error.hpp>

namespace starling::resident::detail {
namespace {

constexpr std::size_t key_bytes = 64;  // after the memory: the owner's process_number()

/// Contents of `memory_name::handle`.
struct origin {
  std::uint64_t bytes;
  std::int64_t process;  // process id
  std::int64_t descriptor;
};
static_assert(sizeof(origin) <= sizeof(memory_name::handle));

[[noreturn]] void refuse(const origin& from, const char* why) {
  throw backend_unavailable(
      fmt::format("memory of process {}, which shares a resident program with this one, cannot be "
                  "mapped: {}. All its ranks must run on one host, as one user, and see each other "
                  "in /proc",
                  from.process, why));
}

/// Returns whether the system grants so much private memory. Memory with a descriptor is refused
/// only when it is touched.
bool is_possible(std::size_t bytes) noexcept {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

}  // namespace

shared_memory::shared_memory(std::size_t bytes)
    : m_bytes(bytes), m_descriptor(memfd_create("starling resident", MFD_CLOEXEC)) {
  const bool is_there = m_descriptor >= 0 && is_possible(bytes) &&
                        ftruncate(m_descriptor, static_cast<off_t>(bytes + key_bytes)) == 0;
  if (is_there) map();
  if (m_data == nullptr) {
    const std::string why = std::strerror(errno);
    release();
    throw out_of_memory(
        fmt::format("no memory for a resident program: {} bytes ({}); take fewer schedulers, "
                    "cells, slots or a smaller heap",
                    bytes, why));
  }
  *key() = process_number();
}

shared_memory::shared_memory(const memory_name& name) {
  origin from;
  std::memcpy(&from, name.handle.data(), sizeof from);
  m_bytes = from.bytes;
  if (name.process == process_number()) {
    m_data = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(name.address));
    return;
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", from.process, from.descriptor);
  m_descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (m_descriptor < 0) refuse(from, std::strerror(errno));
  struct stat found {};
  if (fstat(m_descriptor, &found) == 0 && found.st_size == off_t(m_bytes + key_bytes)) map();
  if (m_data != nullptr && *key() == name.process) return;
  release();
  // For example if `name` is of a process on another host.
  refuse(from, "the memory found there belongs to another process");
}

void shared_memory::map() {
  // Populated now: otherwise schedulers would wait for page faults.
  void* const memory = mmap(nullptr, m_bytes + key_bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_POPULATE, m_descriptor, 0);
  if (memory != MAP_FAILED) m_data = static_cast<std::byte*>(memory);
}

std::uint64_t* shared_memory::key() const noexcept {
  return reinterpret_cast<std::uint64_t*>(m_data + m_bytes);
}

memory_name shared_memory::name() const noexcept {
  memory_name result;
  result.process = process_number();
  result.address = reinterpret_cast<std::uintptr_t>(m_data);
  result.reach = memory_reach::host;
  const origin from{m_bytes, getpid(), m_descriptor};
  std::memcpy(result.handle.data(), &from, sizeof from);
  return result;
}

shared_memory::shared_memory(shared_memory&& other) noexcept { *this = std::move(other); }

shared_memory& shared_memory::operator=(shared_memory&& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_bytes, other.m_bytes);
  std::swap(m_descriptor, other.m_descriptor);
  return *this;
}

shared_memory::~shared_memory() { release(); }

void shared_memory::release() noexcept {
  if (m_descriptor < 0) return;
  if (m_data != nullptr) munmap(m_data, m_bytes + key_bytes);
  close(m_descriptor);
  m_data = nullptr;
  m_descriptor = -1;
}

}  // namespace starling::resident::detail
