// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

/// Migrations that chaos mode forces on elements, to test programs and the runtime: option
/// `chaos-migrate`.
namespace starling {
class runtime;
}

namespace starling::detail {

class chare_core;
class object_space;

/// Numbers of departures that chaos mode has forced on elements of a rank. A pair of bound elements
/// counts once.
struct forced_counts {
  std::uint64_t within = 0;   ///< to another worker of the rank
  std::uint64_t between = 0;  ///< to another rank
  template <class Archive>
  void serialize(Archive& ar) {
    ar(within, between);
  }
};

/// The settings and the counts of a runtime. Thread-safe.
class forced_migrations {
 public:
  /// Reads the options of `owner`. @throws option_error
  explicit forced_migrations(const runtime& owner);

  [[nodiscard]] bool are_on() const noexcept { return percent() != 0; }
  /// Probability with which an element migrates when it can, in percent.
  [[nodiscard]] std::uint32_t percent() const noexcept {
    return m_percent.load(std::memory_order_relaxed);
  }
  /// On this rank only: see keep_elements_in_place.
  void turn_off() noexcept { m_percent.store(0, std::memory_order_relaxed); }

  void count(bool leaves_rank) noexcept {
    (leaves_rank ? m_between : m_within).fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] forced_counts counts() const noexcept {
    return {m_within.load(std::memory_order_relaxed), m_between.load(std::memory_order_relaxed)};
  }

  /// Number of times at which an element that can migrate may be forced to.
  static constexpr std::uint8_t chances = 16;

 private:
  // Relaxed: they guard no other data.
  std::atomic<std::uint32_t> m_percent{0};
  std::atomic<std::uint64_t> m_within{0};
  std::atomic<std::uint64_t> m_between{0};
};

/// Forces no migrations of elements of the arrays that this rank makes from now on, on no rank. For
/// tests of behaviour that migration changes. Any thread. @throws std::bad_alloc
void keep_elements_in_place(object_space& space);

/// Lets the migrations of an element begin. On its worker, after it has been made.
void begin_forced_migrations(chare_core& c);

/// Requests the departure of an element to a random worker if it has chances left and no other
/// destination. On its worker.
void offer_forced_migration(chare_core& c);

/// Decides by chance whether an element departs, and chooses another worker: of any rank if the
/// element can leave its rank now. Returns false if the element stays: also while its coroutines
/// cannot migrate, which uses up no chance. On its worker.
[[nodiscard]] bool draw_destination(chare_core& c);

}  // namespace starling::detail
