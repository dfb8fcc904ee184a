// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

/// The host's side of memory that devices of other processes reach, but do not map.
namespace starling::resident::detail {

/// What processes agree on before they reach each other's memory.
struct far_meeting {
  std::vector<std::uint64_t> processes;  ///< their `process_number`s, by their places
  std::vector<std::byte> key;            ///< of who has called it
  std::uint64_t bytes = 0;               ///< of memory in each

  template <class Archive>
  void serialize(Archive& ar) {
    ar(processes, key, bytes);
  }
};

/// A process's piece of such memory, from which programs get theirs; for as long as the process
/// lives. Thread-safe.
class far_memory {
 public:
  far_memory() = default;
  virtual ~far_memory() = default;
  far_memory(const far_memory&) = delete;
  far_memory& operator=(const far_memory&) = delete;

  /// Whether these have met, so that nobody need call them. @throws usage_error where others have
  [[nodiscard]] bool have_met(const std::vector<std::uint64_t>& processes);
  /// One of those who meet makes what all are given.
  [[nodiscard]] far_meeting call(std::vector<std::uint64_t> processes, std::uint64_t bytes);
  /// Blocks until all are there; not more than once. `device`: PCI address of the one that has the
  /// memory. @throws usage_error where this process has met others; backend_unavailable
  void meet(const far_meeting& all, const std::string& device);

  /// This process's place among those who have met.
  [[nodiscard]] std::uint32_t place() const noexcept { return m_place; }
  /// 128-byte aligned. @throws out_of_memory
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes);
  void give_back(std::byte* memory) noexcept;
  /// Places in the memory of any of them by their distance from its beginning.
  [[nodiscard]] std::uint64_t offset_of(const std::byte* memory) const noexcept {
    return static_cast<std::uint64_t>(memory - m_memory.data());
  }
  /// What this process writes for a place in another one's.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept {
    return m_memory.data() + offset;
  }

 protected:
  [[nodiscard]] virtual std::vector<std::byte> make_key() = 0;
  /// All call it, and get memory.
  [[nodiscard]] virtual std::span<std::byte> begin(const far_meeting& all, std::uint32_t place,
                                                   const std::string& device) = 0;

 private:
  void require_same(const std::vector<std::uint64_t>& processes) const;

  std::mutex m_mutex;
  std::vector<std::uint64_t> m_processes;  // empty: nobody has met
  std::uint32_t m_place = 0;
  std::span<std::byte> m_memory;
  std::map<std::uint64_t, std::uint64_t> m_used;  // ends by beginnings
};

}  // namespace starling::resident::detail
