// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

/// The host's side of memory that devices of other processes reach, but do not map.
namespace starling::resident::detail {

/// Those who are to reach each other's memory, and what they agree on for it.
struct far_meeting {
  std::uint64_t number = 0;              ///< that no other meeting has
  std::vector<std::uint64_t> processes;  ///< their `process_number`s, in order
  std::vector<std::byte> key;            ///< of who has called it
  std::uint64_t bytes = 0;               ///< of memory in each

  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, processes, key, bytes);
  }
};

/// A process's piece of such memory, from which programs get theirs; for as long as the process
/// lives. Thread-safe. `device` is the PCI address of the one that has the memory.
///
/// To meet blocks until all are there. So all are asked before: each prepares itself for one
/// meeting, or refuses, and is called when all have.
class far_memory {
 public:
  far_memory() = default;
  virtual ~far_memory() = default;
  far_memory(const far_memory&) = delete;
  far_memory& operator=(const far_memory&) = delete;

  /// That of a program which has code for it; or null.
  static constinit inline std::atomic<far_memory*> of_process{nullptr};

  /// Whether these have met, so that nobody need call them.
  /// @throws usage_error where others have met, or are about to; what the device is refused by
  [[nodiscard]] bool prepare(const far_meeting& all, const std::string& device);
  /// There will be no such meeting.
  void forget(std::uint64_t meeting) noexcept;
  /// One of those who meet makes what all are given. @throws backend_unavailable
  void add_key(far_meeting& all) { all.key = make_key(all.bytes); }
  /// Blocks until all are there; not more than once in a process.
  /// @throws backend_unavailable, out_of_memory: to all ranks of this process, which does not try
  /// again
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
  /// @throws backend_unavailable where it cannot be that device
  virtual void check(const std::string& device) = 0;
  [[nodiscard]] virtual std::vector<std::byte> make_key(std::uint64_t bytes) = 0;
  /// All call it, once, and get memory.
  [[nodiscard]] virtual std::span<std::byte> begin(const far_meeting& all, std::uint32_t place,
                                                   const std::string& device) = 0;

 private:
  enum class state : std::uint8_t { fresh, prepared, met, broken };

  void require_same(const far_meeting& all, const std::string& device) const;

  std::mutex m_mutex;
  state m_state = state::fresh;
  std::exception_ptr m_failure;  // that broke it
  far_meeting m_meeting;         // that is prepared, or was held
  std::string m_device;
  std::uint32_t m_place = 0;
  std::span<std::byte> m_memory;
  std::map<std::uint64_t, std::uint64_t> m_used;  // ends by beginnings
};

}  // namespace starling::resident::detail
