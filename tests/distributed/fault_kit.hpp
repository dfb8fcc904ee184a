// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../benchmarks/common/shared_memory.hpp"
#include "command.hpp"

/// Starts the ranks of a program, waits until a rank reports that it has reached its scene, and
/// injects a fault.
namespace distributed {

using starling::bench::unused_shared_memory, starling::bench::is_tidied_up;

/// Ranks that no launcher has started.
class stray_ranks {
 public:
  /// Returns the beginning of a rank's command line.
  using prefix = std::function<std::vector<std::string>(int rank)>;

  /// Starts `program FOLDER RANK SIZE SCENE` for each rank.
  stray_ranks(const std::string& program, int count, const std::string& scene,
              const variables& environment, const prefix& where = nullptr) {
    for (int rank = 0; rank < count; ++rank) {
      std::vector<std::string> line = where ? where(rank) : std::vector<std::string>();
      line.insert(line.end(),
                  {program, m_folder.path(), std::to_string(rank), std::to_string(count), scene});
      m_all.push_back(std::make_unique<command>(std::move(line), environment));
    }
  }
  [[nodiscard]] command& operator[](int rank) { return *m_all[std::size_t(rank)]; }
  void let_ranks_finish() const { std::ofstream(m_folder.path() + "/enough") << "enough\n"; }

 private:
  starling_test::scratch_folder m_folder;
  std::vector<std::unique_ptr<command>> m_all;
};

/// Returns the number that a program prints after `text`; 0 if it ends before that.
inline long number_behind(command& program, const std::string& text) {
  // The program prints the text, the number and the end of the line at once.
  if (!program.wait_for(text, 1)) return 0;
  const std::string& said = program.output();
  return std::strtol(said.c_str() + said.find(text) + text.size(), nullptr, 10);
}

/// Stops a process and lets it continue, repeatedly: each pause is short, but their sum is long.
/// The pauses are the fault itself; they synchronise nothing.
inline void slow_down(const auto& stop, const auto& go_on) {
  for (int i = 0; i < 10; ++i) {
    stop();
    ::usleep(300'000);
    go_on();
    ::usleep(100'000);
  }
}

}  // namespace distributed
