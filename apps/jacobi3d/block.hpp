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

/// The streams of a block, or of all blocks of a device; those that a run does not use are empty,
/// as a device has few queues. Communication goes ahead of updates, and with --overlap what follows
/// it, too: the update of the cells beside faces is in `pack`.
struct stream_set {
  stream_set(starling::device& where, const settings& s);
  /// A block packs and unpacks in one stream. Where blocks share streams, one that unpacks must not
  /// stand behind another's update, for which its packing waits.
  [[nodiscard]] starling::stream& unpack() { return own_unpack ? own_unpack : pack; }

  starling::stream compute;  // updates; everything where a step is one kernel or one graph
  starling::stream pack;
  starling::stream own_unpack;
  starling::stream to_host;  // transfers of the staged exchange
  starling::stream to_device;
};

/// What all blocks read.
struct run_setup {
  settings options;
  decomposition cut;
  problem start;
  std::vector<std::shared_ptr<stream_set>> streams;  // by device; empty: each block has its own
  std::shared_ptr<apps::progress_line> progress;
  bool peer_access = false;  // every device reaches the memory of every other
};

/// That of a run on this rank, whose devices it connects.
/// @throws starling::option_error if the grid cannot be cut so
[[nodiscard]] run_setup make_setup(const settings& s, starling::runtime& rt);

using apps::findings;
using apps::run_end;

/// One block of the grid. Its iterations are in step with its neighbours' only: what comes from
/// them is matched by the order of the channels.
class block : public starling::chare<block, starling::index3> {
 public:
  explicit block(starling::read_only<run_setup> setup);

  /// Fills the block.
  starling::task<> prepare(starling::callback<int> done);
  /// Does `count` iterations, or fewer if `converges` and nothing changes any more.
  starling::task<> run(int count, bool converges, starling::callback<run_end> done);
  starling::task<> examine(starling::callback<findings> to);
  /// The faces of an iteration are in host memory (--wait work-request).
  starling::awaited transferred(std::int64_t iteration);

 private:
  using channel = starling::chare_channel<double>;
  using incoming_face = starling::borrow_wait<double>;
  using lent_face = starling::borrowed<double>;
  /// On their way through device memory to the ghosts; kept until the stream that brings them need
  /// not wait for those who read them.
  struct lent_faces {
    per_face<std::optional<lent_face>> faces;
    starling::event unpacked;
  };
  struct step_graph {
    starling::graph recording;
    received_faces received;  // what it reads
  };

  [[nodiscard]] const settings& options() const { return m_setup->options; }
  [[nodiscard]] bool packs_at_once() const { return options().fusion != fusion_kind::none; }
  template <class Visit>
  void for_each_face(Visit visit);
  [[nodiscard]] bool has_neighbours() const;
  /// Asks for the faces of this iteration: they come in the order of `s`, whichever is first.
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

  starling::read_only<run_setup> m_setup;
  starling::device& m_device;
  std::shared_ptr<stream_set> m_streams;
  block_memory m_memory;
  per_face<std::optional<channel>> m_channels;
  per_face<starling::buffer<double>> m_staging[2];  // pinned
  lent_faces m_lent[2];
  starling::event m_exterior;     // updated last (--overlap)
  starling::event m_interior[2];  // updated, by iteration
  step_graph m_graphs[2];
  std::uint64_t m_captures = 0;
  starling::event m_transfer;  // the last one to the host
  apps::run_ahead_limit m_run_ahead;
  long m_it = 0;
};

}  // namespace jacobi3d

/// Every rank makes its own.
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
