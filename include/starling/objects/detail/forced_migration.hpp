// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Migrations that chaos mode forces on elements, to test programs and the runtime: option
/// `chaos-migrate`.
namespace starling {
class runtime;
}

namespace starling::detail {

class chare_core;

/// The settings of a runtime. Thread-safe, except `turn_off`.
class forced_migrations {
 public:
  /// Reads the options of `owner`. @throws option_error
  explicit forced_migrations(const runtime& owner);

  [[nodiscard]] bool are_on() const noexcept { return m_percent != 0; }
  /// Probability with which an element migrates when it can, in percent.
  [[nodiscard]] std::uint32_t percent() const noexcept { return m_percent; }
  /// For tests of behaviour that migration changes. Called before arrays are made.
  void turn_off() noexcept { m_percent = 0; }

  /// Number of times at which an element that can migrate may be forced to.
  static constexpr std::uint8_t chances = 16;

 private:
  std::uint32_t m_percent = 0;
};

/// Lets the migrations of an element begin. On its worker, after it has been made.
void begin_forced_migrations(chare_core& c);

/// Requests the departure of an element to a random worker if it has chances left and no other
/// destination. On its worker.
void offer_forced_migration(chare_core& c);

/// Decides by chance whether an element departs, and chooses another worker. Returns false if the
/// element stays: also while its coroutines cannot migrate, which uses up no chance. On its worker.
[[nodiscard]] bool draw_destination(chare_core& c);

}  // namespace starling::detail
