// SPDX-License-Identifier: Apache-2.0
#include "plain_cuda.hpp"

#include <bit>
#include <chrono>
#include <vector>

#include "../common/plain_cuda.cuh"
#include "plain_cuda_kernels.cuh"
#include "team.hpp"

namespace overlap {
namespace {

using starling::bench::check, starling::bench::device_array, starling::bench::event,
    starling::bench::on_device, starling::bench::on_host, starling::bench::pinned_array,
    starling::bench::stream;

constexpr int no_neighbour = -1;

unsigned pieces(offset n, int of) { return static_cast<unsigned>((n + of - 1) / of); }

/// A device's block of the grid. It has two sets of messages that alternate: while one set is
/// unpacked, neighbours may send the next.
class block {
 public:
  block(int device, const decomposition& cut, bool staged)
      : m_device(device), m_shape(cut.extent(cut.place(device))),
        m_origin(cut.origin(cut.place(device))), m_states{on_device<double>(m_shape.size()),
                                                          on_device<double>(m_shape.size())} {
    for (int f = 0; f < face_count; ++f) {
      const auto place = cut.neighbour(cut.place(device), face_of(f));
      m_neighbours.of[f] = place ? cut.number(*place) : no_neighbour;
      m_has_neighbour.of[f] = place.has_value();
      if (!place) continue;
      const int size = jacobi3d::face_size(m_shape, face_of(f));
      for (messages& m : m_messages) {
        m.sent.of[f] = on_device<double>(size);
        m.received.of[f] = on_device<double>(size);
        if (staged) m.pinned.of[f] = on_host<double>(size);
      }
      allow_peer(m_neighbours.of[f]);
    }
  }

  void fill(const jacobi3d::problem& start) {
    const std::vector<double>& tables = start.tables();
    m_tables = on_device<double>(static_cast<offset>(tables.size()));
    check(cudaMemcpyAsync(m_tables.get(), tables.data(), tables.size() * sizeof(double),
                          cudaMemcpyHostToDevice, m_compute.get()),
          "cudaMemcpyAsync");
    code::fill<<<row_blocks, code::line_threads, 0, m_compute.get()>>>(
        m_shape, m_origin, start.with(m_tables.get()), state(0), state(1));
    check(cudaGetLastError(), "fill");
  }

  [[nodiscard]] bool has_neighbours() const {
    return std::any_of(std::begin(m_neighbours.of), std::end(m_neighbours.of),
                       [](int n) { return n != no_neighbour; });
  }
  void pack(long step) {
    jacobi3d::sent_faces to;
    for (int f = 0; f < face_count; ++f) to.of[f] = m_messages[step % 2].sent.of[f].get();
    code::pack_all<<<face_blocks(), code::line_threads, 0, m_compute.get()>>>(m_shape, state(step),
                                                                              to);
    check(cudaGetLastError(), "pack_all");
    m_packed.order(m_compute, m_transfer);
  }
  /// Sends the faces to the neighbours' devices, or to the host, where the neighbours `fetch` them.
  void send(long step, const std::vector<std::unique_ptr<block>>& all, bool staged) {
    messages& mine = m_messages[step % 2];
    for (int i = 0; i < face_count; ++i) {
      if (m_neighbours.of[i] == no_neighbour) continue;
      const face f = face_of(i);
      const block& there = *all[static_cast<std::size_t>(m_neighbours[f])];
      if (staged)
        check(cudaMemcpyAsync(mine.pinned[f].get(), mine.sent[f].get(), bytes(f),
                              cudaMemcpyDeviceToHost, m_transfer.get()),
              "cudaMemcpyAsync");
      else
        check(cudaMemcpyPeerAsync(there.m_messages[step % 2].received[opposite(f)].get(),
                                  there.m_device, mine.sent[f].get(), m_device, bytes(f),
                                  m_transfer.get()),
              "cudaMemcpyPeerAsync");
    }
  }
  void wait_until_sent() const {
    check(cudaStreamSynchronize(m_transfer.get()), "cudaStreamSynchronize");
  }
  void fetch(long step, const std::vector<std::unique_ptr<block>>& all) {
    for (int i = 0; i < face_count; ++i) {
      if (m_neighbours.of[i] == no_neighbour) continue;
      const face f = face_of(i);
      const block& there = *all[static_cast<std::size_t>(m_neighbours[f])];
      check(cudaMemcpyAsync(m_messages[step % 2].received[f].get(),
                            there.m_messages[step % 2].pinned[opposite(f)].get(), bytes(f),
                            cudaMemcpyHostToDevice, m_transfer.get()),
            "cudaMemcpyAsync");
    }
    m_fetched.order(m_transfer, m_compute);
  }
  void unpack(long step) {
    jacobi3d::received_faces from;
    for (int f = 0; f < face_count; ++f) from.of[f] = m_messages[step % 2].received.of[f].get();
    code::unpack_all<<<face_blocks(), code::line_threads, 0, m_compute.get()>>>(m_shape,
                                                                                state(step), from);
    check(cudaGetLastError(), "unpack_all");
  }

  void update_whole(long step) { update(step, whole(m_shape)); }
  void update_interior(long step) {
    update(step, jacobi3d::divided_cells(m_shape, m_has_neighbour).interior);
  }
  void update_exterior(long step) {
    code::update_faces<<<face_blocks(), code::line_threads, 0, m_compute.get()>>>(
        m_shape, state(step), state(step + 1), m_has_neighbour);
    check(cudaGetLastError(), "update_faces");
  }

  static void wait() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

  [[nodiscard]] answer judged(const jacobi3d::problem& start, long steps) {
    const device_array<code::findings> found = on_device<code::findings>(1);
    check(cudaMemsetAsync(found.get(), 0, sizeof(code::findings), m_compute.get()),
          "cudaMemsetAsync");
    code::judge_cells<<<row_blocks, code::line_threads, 0, m_compute.get()>>>(
        m_shape, m_origin, start.with(m_tables.get()), start.amplitude(steps), state(steps),
        found.get());
    check(cudaGetLastError(), "judge_cells");
    wait();
    code::findings result{};
    check(cudaMemcpy(&result, found.get(), sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return {result.checksum, std::bit_cast<double>(result.error)};
  }

 private:
  static constexpr unsigned row_blocks = 2048;

  struct messages {
    jacobi3d::per_face<device_array<double>> sent, received;
    jacobi3d::per_face<pinned_array<double>> pinned;
  };

  void update(long step, const jacobi3d::box& cells) {
    if (cells.empty()) return;
    const auto cut = jacobi3d::tiling::for_many(cells.extent());
    const triple n = cut.tiles(cells.extent());
    const dim3 blocks(unsigned(n.x), unsigned(n.y), unsigned(n.z));
    code::update_cells<code::threads_of_block>
        <<<blocks, jacobi3d::update::group_size, 0, m_compute.get()>>>(
            {m_shape, state(step), state(step + 1)}, cells, cut);
    check(cudaGetLastError(), "update_cells");
  }
  void allow_peer(int device) const {
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, m_device, device), "cudaDeviceCanAccessPeer");
    if (possible == 0) return;  // copies then pass through the host
    const cudaError_t code = cudaDeviceEnablePeerAccess(device, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());  // enabled by another face or an earlier run
    else
      check(code, "cudaDeviceEnablePeerAccess");
  }
  /// Returns the state after `steps` steps: two arrays alternate.
  [[nodiscard]] double* state(long steps) const { return m_states[steps % 2].get(); }
  [[nodiscard]] unsigned face_blocks() const {
    return pieces(jacobi3d::largest_face(m_shape), code::line_threads);
  }
  [[nodiscard]] std::size_t bytes(face f) const {
    return static_cast<std::size_t>(jacobi3d::face_size(m_shape, f)) * sizeof(double);
  }

  int m_device;
  block_layout m_shape;
  triple m_origin;
  jacobi3d::per_face<int> m_neighbours;
  jacobi3d::per_face<bool> m_has_neighbour;
  device_array<double> m_states[2];
  device_array<double> m_tables;
  messages m_messages[2];
  stream m_compute{0}, m_transfer{-1};  // transfers have priority
  event m_packed, m_fetched;
};

/// Runs a step as in the thesis' figure 5.1b. The steps of two devices differ by at most one.
void advance(block& mine, const std::vector<std::unique_ptr<block>>& all, const cuda_run& run,
             long step, team& threads) {
  if (!mine.has_neighbours()) return mine.update_whole(step);  // the only block
  mine.pack(step);
  mine.send(step, all, run.staged);
  if (run.overlap) mine.update_interior(step);
  mine.wait_until_sent();
  threads.meet();
  if (run.staged) mine.fetch(step, all);
  mine.unpack(step);
  if (run.overlap)
    mine.update_exterior(step);
  else
    mine.update_whole(step);
}

double timed_steps(block& mine, const std::vector<std::unique_ptr<block>>& all, const cuda_run& run,
                   team& threads) {
  using clock = std::chrono::steady_clock;
  const auto meet = [&] {
    block::wait();
    threads.meet();
    return clock::now();
  };
  clock::time_point begin;
  for (long i = 0; i < run.steps; ++i) {
    if (i == run.warmup) begin = meet();
    advance(mine, all, run, i, threads);
  }
  return std::chrono::duration<double>(meet() - begin).count();
}

}  // namespace

int device_count() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

outcome solve_on_devices(const cuda_run& run, const jacobi3d::problem& start) {
  const decomposition cut = jacobi3d::decompose(start.grid(), run.gpus);
  std::vector<std::unique_ptr<block>> all(static_cast<std::size_t>(run.gpus));
  std::vector<outcome> outcomes(all.size());
  team threads(run.gpus);
  threads.run([&](int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    const auto number = static_cast<std::size_t>(device);
    all[number] = std::make_unique<block>(device, cut, run.staged);
    all[number]->fill(start);
    block::wait();
    threads.meet();
    outcome& mine = outcomes[number];
    mine.seconds = timed_steps(*all[number], all, run, threads);
    mine.found = all[number]->judged(start, run.steps);
  });
  outcome total;
  for (const outcome& o : outcomes) {
    total.seconds = std::max(total.seconds, o.seconds);
    total.found.add(o.found);
  }
  return total;
}

}  // namespace overlap
