// SPDX-License-Identifier: Apache-2.0
//
// Jacobi's method with threads alone: one block per thread, one barrier per step. See README.md.
#include <cstring>
#include <memory>
#include <new>

#include "bulk_synchronous.hpp"
#include "team.hpp"

namespace overlap {
namespace {

using clock = std::chrono::steady_clock;

/// Uninitialised numbers: pages are placed near the thread that first writes them.
class raw_array {
 public:
  explicit raw_array(offset size)
      : m_data(static_cast<double*>(
            ::operator new(std::size_t(size) * sizeof(double), std::align_val_t(alignment)))) {}
  [[nodiscard]] double* get() const { return m_data.get(); }

 private:
  static constexpr std::size_t alignment = 4096;
  struct release {
    void operator()(double* p) const { ::operator delete(p, std::align_val_t(alignment)); }
  };
  std::unique_ptr<double, release> m_data;
};

/// A thread's block of the grid.
struct block {
  block(triple n, triple first)
      : shape(n), origin(first), arrays{raw_array(shape.size()), raw_array(shape.size())} {}

  /// Returns the state after `steps` steps: two arrays alternate.
  [[nodiscard]] double* state(long steps) const { return arrays[steps % 2].get(); }

  void fill(const jacobi3d::problem& start) {
    const jacobi3d::initial_values value = start.values();
    for (int z = -1; z <= shape.n.z; ++z)
      for (int y = -1; y <= shape.n.y; ++y)
        for (int x = -1; x <= shape.n.x; ++x)
          state(0)[shape.at(x, y, z)] = state(1)[shape.at(x, y, z)] =
              value(origin.x + x, origin.y + y, origin.z + z);
  }
  /// Copies the neighbour's cells beside the face to the ghost cells beyond it.
  void take(face f, const block& neighbour, long step) {
    const auto to = jacobi3d::layer::ghosts(shape, f);
    const auto from = jacobi3d::layer::own(neighbour.shape, opposite(f));
    double* mine = state(step) + to.origin;
    const double* theirs = neighbour.state(step) + from.origin;
    for (int v = 0; v < to.height; ++v, mine += to.row, theirs += from.row) {
      if (to.step == 1)
        std::memcpy(mine, theirs, std::size_t(to.width) * sizeof(double));
      else
        for (int u = 0; u < to.width; ++u) mine[u * to.step] = theirs[u * from.step];
    }
  }
  void update(long step) {
    const double* now = state(step);
    double* next = state(step + 1);
    constexpr int rows = 64;  // three planes of so many rows of 256 cells fit into a core's cache
    for (int first = 0; first < shape.n.y; first += rows)
      for (int z = 0; z < shape.n.z; ++z)
        for (int y = first; y < std::min(first + rows, shape.n.y); ++y)
          update_row(next + shape.at(0, y, z), now + shape.at(0, y, z), shape.n.x, shape.pitch,
                     shape.plane);
  }
  static void update_row(double* __restrict to, const double* from, int cells, offset row,
                         offset plane) {
    // As in Jacobi3D: only the plane above comes from memory, and its next row is prefetched.
    constexpr int cache_line = 8;
    for (int x = 0; x < cells; x += cache_line) __builtin_prefetch(from + plane + row + x);
    for (int x = 0; x < cells; ++x)
      to[x] = (from[x] + from[x - 1] + from[x + 1] + from[x - row] + from[x + row] +
               from[x - plane] + from[x + plane]) *
              (1.0 / 7.0);
  }
  void copy(long step) {
    for (int z = 0; z < shape.n.z; ++z)
      for (int y = 0; y < shape.n.y; ++y) {
        const double* from = state(step) + shape.at(0, y, z);
        double* to = state(step + 1) + shape.at(0, y, z);
        for (int x = 0; x < shape.n.x; ++x) to[x] = from[x];
      }
  }

  block_layout shape;
  triple origin;
  raw_array arrays[2];
};

/// Runs all steps of one thread; returns the time of those after the warm-up.
template <class Step>
double timed_steps(const settings& chosen, team& all, Step step) {
  clock::time_point begin;
  for (long i = 0; i < chosen.steps(); ++i) {
    if (i == chosen.warmup) {
      all.meet();
      begin = clock::now();
    }
    step(i);
    all.meet();
  }
  return std::chrono::duration<double>(clock::now() - begin).count();
}

outcome solve(const settings& chosen, const jacobi3d::problem& start) {
  const decomposition cut = jacobi3d::decompose(start.grid(), chosen.common.workers);
  std::vector<std::unique_ptr<block>> blocks(std::size_t(cut.count()));
  std::vector<outcome> outcomes(blocks.size());
  team all(cut.count());
  all.run([&](int number) {
    const triple place = cut.place(number);
    auto& mine = blocks[std::size_t(number)];
    mine = std::make_unique<block>(cut.extent(place), cut.origin(place));
    mine->fill(start);
    all.meet();
    // A step writes the next state and the ghost cells of its own block, and reads the states of
    // neighbours: the barrier at its end separates both.
    outcome& o = outcomes[std::size_t(number)];
    o.seconds = timed_steps(chosen, all, [&](long step) {
      for (int f = 0; f < face_count; ++f)
        if (const auto n = cut.neighbour(place, face_of(f)))
          mine->take(face_of(f), *blocks[std::size_t(cut.number(*n))], step);
      mine->update(step);
    });
    o.found =
        answer_of(mine->shape, mine->origin, mine->state(chosen.steps()), start, chosen.steps());
  });
  outcome total;
  for (const outcome& o : outcomes) {
    total.seconds = std::max(total.seconds, o.seconds);
    total.found.add(o.found);
  }
  return total;
}

/// Measures the floor: the same memory traffic without neighbours or arithmetic.
double copy_seconds(const settings& chosen, const jacobi3d::problem& start) {
  const decomposition cut = jacobi3d::decompose(start.grid(), chosen.common.workers);
  std::vector<double> seconds(std::size_t(cut.count()));
  team all(cut.count());
  all.run([&](int number) {
    block mine(cut.extent(cut.place(number)), cut.origin(cut.place(number)));
    mine.fill(start);
    seconds[std::size_t(number)] = timed_steps(chosen, all, [&](long step) { mine.copy(step); });
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

void run(const settings& chosen, bench::report& out) {
  std::vector<double> copies;
  measure(chosen, "step", out, [&](const jacobi3d::problem& start) {
    copies.push_back(copy_seconds(chosen, start) / chosen.iterations);
    return solve(chosen, start);
  });
  const double bytes = 16e-9 * static_cast<double>(jacobi3d::volume(chosen.extent()));
  const double rate = bytes / bench::median(copies);
  out.metric("copy_gb_per_s", rate);
  fmt::print("{:>32.1f} GB/s copied between the runs\n", rate);
}

}  // namespace
}  // namespace overlap

int main(int argc, char** argv) {
  overlap::settings chosen;
  CLI::App app("Jacobi's method by hand: threads, a block each, one barrier a step");
  overlap::add_options(app, chosen);
  app.add_option("--threads", chosen.common.workers, "The same as --workers")
      ->check(CLI::Range(1, 4096));
  return overlap::main_of(argc, argv, "threads", app, chosen, {"step"},
                          [&](auto& out) { overlap::run(chosen, out); });
}
