// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "common/iterations.hpp"
#include "common/progress.hpp"
#include "physics/problems.hpp"
#include "physics/reduction.hpp"
#include "settings.hpp"
#include "strip_memory.hpp"

namespace jacobi2d {

/// Data that all strips read.
struct run_setup {
  settings options;
  decomposition cut;
  problem start;
  std::shared_ptr<apps::progress_line> progress;
};

/// Returns the setup of a run on this rank. Connects the devices of this rank.
/// @throws starling::option_error if the grid cannot be cut into the requested strips
[[nodiscard]] run_setup make_setup(const settings& s, starling::runtime& rt);

using apps::findings;
using apps::run_end;

/// A strip of rows. It is synchronised with its neighbours only: received rows are matched to
/// iterations by the order of the channels.
///
/// A checkpoint has the number of done iterations and the cells. All other members, such as device
/// memory and channels, belong to a run; `prepare` makes them.
class strip : public starling::chare<strip> {
 public:
  strip() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_it, m_stored);
  }

  /// Fills the strip with the initial state, or with the state of a checkpoint. Called first.
  starling::task<> prepare(starling::read_only<run_setup> setup, starling::callback<int> done);
  /// Iterates to the end of `part`, or to convergence if that may come earlier.
  starling::task<> run(apps::run_part part, starling::callback<run_end> done);
  /// Copies the cells to host memory, where `serialize` finds them until the next iteration.
  starling::task<> stage(starling::callback<int> done);
  starling::task<> examine(starling::callback<findings> to);

 private:
  using channel = starling::chare_channel<float>;
  struct step_graph {
    starling::graph recording;
    rows_beside beside;  // rows that the recording reads
  };

  [[nodiscard]] const settings& options() const { return m_setup->options; }
  [[nodiscard]] bool is_staged() const { return options().exchange == exchange_kind::staged; }

  void make_members(starling::read_only<run_setup> setup);
  starling::task<> fill();
  starling::task<> step_direct();
  starling::task<> step_staged();
  void launch_step(const rows_beside& beside);
  void start_transfer(long it);
  starling::task<> all_streams_done();
  starling::task<pattern> largest_change();

  const run_setup* m_setup = nullptr;
  starling::device* m_device = nullptr;
  starling::stream m_compute;
  starling::stream m_to_host;  // staged exchange, with priority over updates; otherwise empty
  starling::stream m_to_device;
  std::optional<strip_memory> m_memory;
  per_side<std::optional<channel>> m_channels;
  per_side<starling::buffer<float>> m_staging[2];  // pinned
  step_graph m_graphs[2];
  std::uint64_t m_captures = 0;
  apps::run_ahead_limit m_run_ahead;
  long m_it = 0;
  std::vector<float> m_stored;  // cells of a checkpoint, while one is taken or restarted from
};

}  // namespace jacobi2d

/// Each rank makes its own setup from the archived settings.
template <>
struct starling::codec<jacobi2d::run_setup> {
  template <class Archive>
  static void save(Archive& ar, const jacobi2d::run_setup& setup) {
    ar(setup.options);
  }
  static jacobi2d::run_setup load(input_archive& ar) {
    auto s = ar.read<jacobi2d::settings>();
    s.progress = false;
    return jacobi2d::make_setup(s, *runtime::current());
  }
};
