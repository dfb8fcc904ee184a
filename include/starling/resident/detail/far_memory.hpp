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

/// The host's side of memory that devices of other processes access but do not map.
namespace starling::resident::detail {

/// The processes that set up such memory together, and the data that they agree on.
struct far_meeting {
  std::uint64_t number = 0;              ///< unique number of the meeting
  std::vector<std::uint64_t> processes;  ///< their `process_number`s, in order
  std::vector<std::byte> key;            ///< made by the process that called the meeting
  std::uint64_t bytes = 0;               ///< size of the memory in each process

  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, processes, key, bytes);
  }
};

/// The memory of a process from which its resident programs allocate; it lasts as long as the
/// process. Thread-safe. `device` is the PCI address of the device that has the memory.
///
/// `meet` blocks until all processes have called it. So each process is asked before: its `prepare`
/// accepts one meeting or throws, and `meet` is called when all processes have accepted.
class far_memory {
 public:
  far_memory() = default;
  virtual ~far_memory() = default;
  far_memory(const far_memory&) = delete;
  far_memory& operator=(const far_memory&) = delete;

  /// The only object of the process, set by code for such memory; null: the process has no such
  /// code.
  static constinit inline std::atomic<far_memory*> of_process{nullptr};

  /// Prepares this process for a meeting. Returns true if these processes have met already and need
  /// no meeting. @throws usage_error where other processes have met or are about to, or a meeting
  /// failed; errors of `check` for the device
  [[nodiscard]] bool prepare(const far_meeting& all, const std::string& device);
  /// Cancels the preparation for a meeting.
  void forget(std::uint64_t meeting) noexcept;
  /// Adds the key to a meeting; called by one of its processes. @throws backend_unavailable
  void add_key(far_meeting& all) { all.key = make_key(all.bytes); }
  /// Blocks until all processes have called it; happens at most once in a process. @throws
  /// backend_unavailable, out_of_memory: to all ranks of this process, which does not try again;
  /// usage_error where this process is not part of the meeting
  void meet(const far_meeting& all, const std::string& device);

  /// Returns the position of this process among the processes that have met.
  [[nodiscard]] std::uint32_t position() const noexcept { return m_position; }
  /// Returns 128-byte aligned memory. @throws out_of_memory
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes);
  void give_back(std::byte* memory) noexcept;
  /// Returns the offset of `memory` in this process's memory: processes exchange addresses as such
  /// offsets.
  [[nodiscard]] std::uint64_t offset_of(const std::byte* memory) const noexcept {
    return static_cast<std::uint64_t>(memory - m_memory.data());
  }
  /// Returns the address by which this process refers to that offset in another process's memory.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept {
    return m_memory.data() + offset;
  }

 protected:
  /// @throws backend_unavailable where the memory cannot be on that device
  virtual void check(const std::string& device) = 0;
  [[nodiscard]] virtual std::vector<std::byte> make_key(std::uint64_t bytes) = 0;
  /// Sets up the memory of this process; all processes call it, once.
  [[nodiscard]] virtual std::span<std::byte> begin(const far_meeting& all, std::uint32_t position,
                                                   const std::string& device) = 0;

 private:
  enum class state : std::uint8_t { fresh, prepared, met, broken };

  void require_same(const far_meeting& all, const std::string& device) const;

  // Guards the state; `m_position` and `m_memory` are constant after the meeting.
  std::mutex m_mutex;
  state m_state = state::fresh;
  std::exception_ptr m_failure;  // the error of `begin`
  far_meeting m_meeting;         // the meeting that this process has prepared or held
  std::string m_device;
  std::uint32_t m_position = 0;
  std::span<std::byte> m_memory;
  std::map<std::uint64_t, std::uint64_t> m_used;  // allocated ranges: end by beginning
};

}  // namespace starling::resident::detail
