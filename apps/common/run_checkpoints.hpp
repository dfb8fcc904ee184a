// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/checkpoint.hpp>

#include "common/iterative_settings.hpp"

namespace apps {

/// What a run did with checkpoints.
struct checkpoint_record {
  bool is_used = false;         ///< the run may take checkpoints, or restart from one
  std::optional<long> restart;  ///< number of iterations that a restart found done
  int complete = 0;             ///< checkpoints that are complete on disk
  int failed = 0;               ///< checkpoints that could not be written
  double copy_seconds = 0.0;    ///< total pause of the iterations, while states were copied
  double wait_seconds = 0.0;    ///< total pause, while the files before were being written
};

/// Returns the options of the first state: a part of the problem of run_checkpoints.
inline std::string describe_start(const iterative_settings& s) {
  const std::string kind = fmt::format(" --problem {}", name_of(s.problem));
  return s.problem == problem_kind::random ? fmt::format("{} --seed {}", kind, s.seed) : kind;
}

/// The checkpoints of an iterative run, and its restart from one of them. If the settings ask for
/// neither, arrays are created as without this class. On rank 0, by one task at a time.
class run_checkpoints {
 public:
  /// `problem`: a description of all settings that a restart must not change. `s` and `rt` must
  /// outlive this object.
  run_checkpoints(const iterative_settings& s, starling::runtime& rt, std::string problem)
      : m_settings(s), m_runtime(rt), m_problem(std::move(problem)) {}
  run_checkpoints(const run_checkpoints&) = delete;
  run_checkpoints& operator=(const run_checkpoints&) = delete;

  /// Opens the folder and finds the checkpoint of a restart. Called first.
  /// @throws starling::option_error if that checkpoint is of another problem, or has all iterations
  /// of this run; starling::checkpoint_error
  starling::task<> open() {
    const std::string restart = m_runtime.options().get("restart", "none");
    m_record.is_used = m_settings.checkpoint_every > 0 || restart != "none";
    if (!m_record.is_used) co_return;
    const starling::checkpoint_options how(std::size_t(m_settings.checkpoints_kept), m_problem);
    m_saved = co_await starling::checkpoints::open(m_runtime, m_settings.checkpoint_folder, how);
    const std::string mine = m_problem;
    m_saved->add_value("problem", m_problem);  // a restart sets it
    if (!m_saved->is_restart()) co_return;
    require_same_problem(mine);
    begin_restart();
  }

  /// Creates the array whose elements the checkpoints contain, by their constructor without
  /// arguments. After a restart `load` makes them.
  template <class Chare, class Map>
  [[nodiscard]] starling::chare_array<Chare> create_array(
      const char* name, const starling::shape<typename Chare::index_type>& extent, const Map& map) {
    if (m_saved) return m_saved->create_array<Chare>(name, extent, map);
    return starling::create_array<Chare>(m_runtime, extent, map);
  }
  /// Completes a restart. Called once, when the array is created.
  starling::task<> load() {
    if (m_saved) co_await m_saved->load();
  }

  /// Returns the number of iterations that a restart finds done, otherwise 0.
  [[nodiscard]] long first_iteration() const { return m_record.restart.value_or(0); }
  /// Returns the number of iterations after which a checkpoint is due next, at most `until`.
  [[nodiscard]] long next_stop(long done, long until) const {
    const long every = m_settings.checkpoint_every;
    return every == 0 ? until : std::min(until, (done / every + 1) * every);
  }
  [[nodiscard]] bool is_due(long done) const {
    return m_settings.checkpoint_every > 0 && done % m_settings.checkpoint_every == 0;
  }

  /// Takes a checkpoint after `done` iterations. All chares are idle; `team.stage()` prepares their
  /// states. The files of the last checkpoint are complete before; those of this one are written
  /// while the run goes on. A file that cannot be written does not end the run.
  template <class Team>
  starling::task<> take(long done, Team& team) {
    const auto begin = clock::now();
    co_await finish();
    const auto complete = clock::now();
    co_await team.stage();
    m_written = co_await m_saved->take(std::uint64_t(done));
    m_record.wait_seconds += seconds(complete - begin);
    m_record.copy_seconds += seconds(clock::now() - complete);
  }
  /// Waits until the last checkpoint is complete on disk or has failed.
  starling::task<> finish() {
    if (!m_written.valid()) co_return;
    auto written = std::exchange(m_written, {});
    try {
      static_cast<void>(co_await std::move(written));
      ++m_record.complete;
    } catch (const starling::operation_cancelled&) {  // the run has ended
      throw;
    } catch (const std::exception&) {  // the runtime has printed it; older checkpoints remain
      ++m_record.failed;
    }
  }

  [[nodiscard]] const checkpoint_record& record() const { return m_record; }

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] static double seconds(clock::duration d) {
    return std::chrono::duration<double>(d).count();
  }
  [[nodiscard]] std::string stored() const {
    return fmt::format("checkpoint {} in '{}'", m_saved->number(), m_settings.checkpoint_folder);
  }
  void require_same_problem(const std::string& mine) const {
    if (m_problem != mine)
      throw starling::option_error(
          fmt::format("--starling-restart: {} is of another problem: {}; this run: {}", stored(),
                      m_problem, mine));
  }
  void begin_restart() {
    const long done = long(m_saved->step());
    const long total = total_iterations(m_settings);
    if (done >= total)
      throw starling::option_error(
          fmt::format("--iterations {} with --warmup {}: {} has {} iterations already; give more, "
                      "or restart from an earlier one",
                      m_settings.iterations, m_settings.warmup, stored(), done));
    m_record.restart = done;
    fmt::print("restart from {}: {} of {} iterations are done\n", stored(), done, total);
    std::fflush(stdout);  // visible even if the run fails
  }

  const iterative_settings& m_settings;
  starling::runtime& m_runtime;
  std::string m_problem;
  std::optional<starling::checkpoints> m_saved;
  starling::future<std::uint64_t> m_written;  // of the last checkpoint; not valid: it is finished
  checkpoint_record m_record;
};

}  // namespace apps
