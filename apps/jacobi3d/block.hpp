// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "block_memory.hpp"
#include "common/iterations.hpp"
#include "common/progress.hpp"
#include "physics/problems.hpp"
#include "physics/reduction.hpp"
#include "settings.hpp"

namespace jacobi3d {

/// The streams of a block, or of all blocks of a device. Streams that a run does not use are empty,
/// since a device has few queues. Communication has priority over updates. With --overlap so has
/// the update of the cells beside faces, which follows it in `pack`.
struct stream_set {
  stream_set(starling::device& where, const settings& s);
  /// Returns the stream in which blocks unpack: the stream in which they pack, unless blocks share
  /// streams. A shared `pack` waits for the update of each block before it packs; this must not
  /// delay the unpacking of another block.
  [[nodiscard]] starling::stream& unpack() { return own_unpack ? own_unpack : pack; }

  starling::stream compute;  // updates; all kernels if a step is one kernel or one graph
  starling::stream pack;
  starling::stream own_unpack;
  starling::stream to_host;  // transfers of the staged exchange
  starling::stream to_device;
};

/// Data that all blocks read.
struct run_setup {
  settings options;
  decomposition cut;
  problem start;
  std::vector<std::shared_ptr<stream_set>> streams;  // by device; empty: each block has its own
  std::shared_ptr<apps::progress_line> progress;
  bool peer_access = false;  // every device can access the memory of every other device
};

/// Returns the setup of a run on this rank. Connects the devices of this rank.
/// @throws starling::option_error if the grid cannot be cut into the requested blocks
[[nodiscard]] run_setup make_setup(const settings& s, starling::runtime& rt);

using apps::findings;
using apps::run_end;

/// A block of the grid. It is synchronised with its neighbours only: received faces are matched to
/// iterations by the order of the channels.
///
/// A checkpoint has the number of done iterations and the cells. All other members, such as device
/// memory and channels, belong to a run; `prepare` makes them.
class block : public starling::chare<block, starling::index3> {
 public:
  block() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_it, m_stored);
  }

  /// Fills the block with the initial state, or with the state of a checkpoint. Called first.
  starling::task<> prepare(starling::read_only<run_setup> setup, starling::callback<int> done);
  /// Iterates to the end of `part`, or to convergence if that may come earlier.
  starling::task<> run(apps::run_part part, starling::callback<run_end> done);
  /// Copies the cells to host memory, where `serialize` finds them until the next iteration.
  starling::task<> stage(starling::callback<int> done);
  starling::task<> examine(starling::callback<findings> to);
  /// Received when the faces of an iteration are in host memory (--wait work-request).
  starling::awaited transferred(std::int64_t iteration);

 private:
  using channel = starling::chare_channel<double>;
  using incoming_face = starling::borrow_wait<double>;
  using lent_face = starling::borrowed<double>;
  /// Faces lent by the neighbours, copied through device memory to the ghosts. They are kept until
  /// two iterations later, so that the stream that copies them need not wait for the unpack
  /// kernels.
  struct lent_faces {
    per_face<std::optional<lent_face>> faces;
    starling::event unpacked;
  };
  struct step_graph {
    starling::graph recording;
    received_faces received;  // faces that the recording reads
  };

  [[nodiscard]] const settings& options() const { return m_setup->options; }
  void make_members(starling::read_only<run_setup> setup);
  starling::task<> fill(starling::stream& s);
  [[nodiscard]] bool packs_at_once() const { return options().fusion != fusion_kind::none; }
  template <class Visit>
  void for_each_face(Visit visit);
  [[nodiscard]] bool has_neighbours() const;
  /// Requests the faces of this iteration. Each is received in the order of `s`; the faces may
  /// arrive in any order.
  [[nodiscard]] per_face<std::optional<incoming_face>> ask_for_faces(starling::stream& s);
  void offer_faces(starling::stream& s);
  [[nodiscard]] starling::task<> keep_behind();

  starling::task<> step_direct();
  starling::task<> step_in_one_stream();
  starling::task<> step_staged();
  void pack(starling::stream& s, long it);
  void begin_update();
  void end_update();
  void submit_step(starling::stream& s, const received_faces& received);
  void launch_step(starling::stream& s, const received_faces& received);
  void pack_and_send(long it);
  void note_transfer(long it);
  starling::task<> transfer_done();
  starling::task<> tell_transfer(starling::future<void> done, std::int64_t it);
  starling::task<> all_streams_done();
  starling::task<pattern> largest_change();

  const run_setup* m_setup = nullptr;
  starling::device* m_device = nullptr;
  std::shared_ptr<stream_set> m_streams;
  std::optional<block_memory> m_memory;
  per_face<std::optional<channel>> m_channels;
  per_face<starling::buffer<double>> m_staging[2];  // pinned
  lent_faces m_lent[2];
  starling::event m_exterior;     // after the last update of the exterior (--overlap)
  starling::event m_interior[2];  // after the update of the interior, by iteration
  step_graph m_graphs[2];
  std::uint64_t m_captures = 0;
  starling::event m_transfer;     // after the last transfer to the host
  bool m_is_transferred = false;  // the block has waited for that transfer
  apps::run_ahead_limit m_run_ahead;
  long m_it = 0;
  std::vector<double> m_stored;  // cells of a checkpoint, while one is taken or restarted from
};

}  // namespace jacobi3d

/// Each rank makes its own setup from the archived settings.
template <>
struct starling::codec<jacobi3d::run_setup> {
  template <class Archive>
  static void save(Archive& ar, const jacobi3d::run_setup& setup) {
    ar(setup.options);
  }
  static jacobi3d::run_setup load(input_archive& ar) {
    auto s = ar.read<jacobi3d::settings>();
    s.progress = false;
    return jacobi3d::make_setup(s, *runtime::current());
  }
};
