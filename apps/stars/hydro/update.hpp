// SPDX-License-Identifier: Apache-2.0
/// \file
/// From fluxes to the next state: divergence and sources, Runge-Kutta update, accounting of the
/// outflow from the domain, floors, and the search for unphysical cells.
#pragma once

#include "hydro/gas.hpp"
#include "hydro/scheme.hpp"
#include "mesh/layout.hpp"

namespace stars {

/// Numbers stored with the state, so that a step needs no data from its driver.
namespace clock_entry {
enum : int { time, dt, stop, fastest, fault, count = fault + stage_count };  // one fault a stage
}

/// The cost on the host that a kernel states, if any.
template <class Kernel>
struct cost_of {};
template <class Kernel>
requires requires { Kernel::host_grain; }
struct cost_of<Kernel> {
  static constexpr int host_grain = Kernel::host_grain;
};

/// A kernel that does nothing if the clock holds a fault (a code of find_fault). Steps are queued
/// before the host reads the result of the search; the states then stay as find_fault found them.
template <class Kernel>
struct unless_fault : cost_of<Kernel> {
  Kernel inner;
  const double* clock;

  constexpr extent range() const { return inner.range(); }
  template <class Index>
  constexpr void operator()(Index i) const {
    if (!found()) inner(i);
  }
  template <class V, class Index>
  requires requires(const Kernel& k, Index i) { k.template lanes<V>(i); }
  constexpr void lanes(Index i) const {
    if (!found()) inner.template lanes<V>(i);
  }

 private:
  constexpr bool found() const {
    bool any = false;
    for (int s = 0; s < stage_count; ++s) any = any || clock[clock_entry::fault + s] != 0.0;
    return any;
  }
};

/// Returns whether a wall at the bottom or top exerts the flux of a field: the pressure, and its
/// torque. The remaining fluxes are 0 there. In gravity the states on both sides of a wall are not
/// exactly mirror images, so kernels set these fluxes to 0.
constexpr bool crosses_floor(int f) { return f == field::sz || f == field::lx || f == field::ly; }

/// rate = -div F + sources of the rotating frame and of gravity. Range (512, 1, count).
struct divergence {
  const double* fluxes;         ///< [count][3][15][576]
  const double* u;              ///< [count][15][512], for the sources
  double* rate;                 ///< [count][15][512]
  const subgrid_frame* frames;  ///< [count]
  int count;
  double omega;
  double gravity;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    apply<V>(i.x, i.z);
  }
  template <class V>
  constexpr void apply(int cell, int n) const {
    using o = ops<V>;
    const int x = cell % edge, y = cell / edge % edge, z = cell / (edge * edge);
    const int fx = x + (edge + 1) * (y + edge * z), fy = x + edge * (y + (edge + 1) * z), fz = cell;
    const double* in = fluxes + index_type{n} * flux_block;
    double* out = rate + index_type{n} * compact.block + cell;
    const V inverse_dx = V(frames[n].inverse_dx);
    const bool floor = gravity != 0.0 && z == 0 && frames[n].wall(2, 0);
    const bool ceiling = gravity != 0.0 && z == edge - 1 && frames[n].wall(2, 1);
    V mass = V(0.0);  // the sum of its fluxes through the lower and the upper face
    for (int f = 0; f < field_count; ++f) {
      const double* a = in + f * face_count + fx;
      const double* b = in + (field_count + f) * face_count + fy;
      const double* c = in + (2 * field_count + f) * face_count + fz;
      const V low = floor && !crosses_floor(f) ? V(0.0) : o::load(c);
      const V high = ceiling && !crosses_floor(f) ? V(0.0) : o::load(c + edge * edge);
      const V sum =
          ((o::load(a) - o::load(a + 1)) + (o::load(b) - o::load(b + edge))) + (low - high);
      o::store(out + f * compact.field, sum * inverse_dx);
      if (f == field::rho) mass = low + high;
    }
    const double* here = u + index_type{n} * compact.block + cell;
    if (omega != 0.0) rotate<V>(out, here);
    if (gravity != 0.0) fall<V>(out, o::load(here), mass, frames[n], x, y);
  }

 private:
  /// Adds the force of gravity on the density `rho` and its torque. Its power is that on the mass
  /// that flows through the lower and the upper face, half of each (`mass`: the sum of both
  /// fluxes), so that egas + rho gravity z changes by fluxes alone.
  template <class V>
  constexpr void fall(double* out, V rho, V mass, const subgrid_frame& at, int x, int y) const {
    using o = ops<V>;
    const auto add = [&](int f, V change) {
      double* p = out + f * compact.field;
      o::store(p, o::load(p) + change);
    };
    const V force = V(-gravity) * rho;
    const V rx = (V(2.0) * (V(double(x)) + o::iota()) + V(1.0 + at.lower[0])) * V(at.half_dx);
    const V ry = V((2.0 * y + 1.0 + at.lower[1]) * at.half_dx);
    add(field::sz, force);
    add(field::egas, V(-0.5 * gravity) * mass);
    add(field::lx, ry * force);
    add(field::ly, -(rx * force));
  }
  template <class V>
  constexpr void rotate(double* out, const double* here) const {
    using o = ops<V>;
    for (const int f : {int{field::sx}, int{field::lx}}) {
      double* p = out + f * compact.field;
      const V a = o::load(here + f * compact.field);
      const V b = o::load(here + (f + 1) * compact.field);
      o::store(p, o::load(p) + V(omega) * b);
      o::store(p + compact.field, o::load(p + compact.field) - V(omega) * a);
    }
  }
};

/// Sums the outward flux times face area over the open faces of the domain, for each sub-grid and
/// field; zero if the sub-grid has none. Range (15, 1, count).
struct outflow_rate {
  const double* fluxes;         ///< [count][3][15][576]
  double* leaving;              ///< [leaves of the part][15], in the order of the tree
  const subgrid_frame* frames;  ///< [count]
  int first_leaf;               ///< of the part
  int count;
  double gravity;

  static constexpr int block_size = 32;  ///< few threads with long chains: distribute them

  constexpr extent range() const { return {field_count, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const subgrid_frame& at = frames[i.z];
    const double* in = fluxes + index_type{i.z} * flux_block + i.x * face_count;
    double sum = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      const bool stays = axis == 2 && gravity != 0.0 && !crosses_floor(i.x);
      const double* face = in + axis * field_count * face_count;
      if (at.open(axis, 0) && !(stays && at.wall(axis, 0))) sum -= side(face, axis, 0);
      if (at.open(axis, 1) && !(stays && at.wall(axis, 1))) sum += side(face, axis, edge);
    }
    leaving[index_type{at.number - first_leaf} * field_count + i.x] = sum * (at.dx() * at.dx());
  }

 private:
  static constexpr double side(const double* face, int axis, int at) {
    const int row = axis == 0 ? edge + 1 : edge, plane = row * (axis == 1 ? edge + 1 : edge);
    const int su = axis == 0 ? row : 1, sv = axis == 2 ? row : plane;
    const int start = at * (axis == 0 ? 1 : axis == 1 ? row : plane);
    double sum = 0.0;
    for (int v = 0; v < edge; ++v) {
      for (int u = 0; u < edge; ++u) sum += face[start + u * su + v * sv];
    }
    return sum;
  }
};

/// next <- (1-b) start + b (u + dt rate), except that the last stage sets rho to the sum of its
/// species.
///
/// Two forms with the same bits. One index for each value, range (512, 15, count). Or, with
/// `sweep`, one vector for each sub-grid, range (width, 1, count): the call with x = 0 does all the
/// work.
struct update {
  double* next;         ///< [count][15][512]; may be u or rate
  const double* u;      ///< [count][15][512]: the state of which `rate` is the rate
  const double* start;  ///< [count][15][512]: the state before the step
  const double* rate;   ///< [count][15][512]
  const double* clock;
  int count;
  int stage;
  int sweep = 0;  ///< or the lanes of the vectors that sweep

  /// For sweeps with eight lanes: two sub-grids of 8³ cells.
  static constexpr int host_grain = 16 * 512 / cells_per_subgrid;

  constexpr extent range() const {
    if (sweep > 0) return {sweep, 1, count};
    return {cells_per_subgrid, field_count, count};
  }
  template <class Index>
  constexpr void operator()(Index i) const {
    apply<double>(i.x, i.y, i.z);
  }
  template <class V, class Index>
  [[gnu::flatten]] constexpr void lanes(Index i) const {
    if (sweep == 0) return apply<V>(i.x, i.y, i.z);
    if (i.x != 0) return;
    for (int f = 0; f < field_count; ++f)
      for (int cell = 0; cell < cells_per_subgrid; cell += ops<V>::width) apply<V>(cell, f, i.z);
  }

 private:
  template <class V>
  constexpr void apply(int cell, int f, int n) const {
    using o = ops<V>;
    const index_type at = index_type{n} * compact.block + cell;
    const auto advance = [&](int k) {
      const index_type here = at + k * compact.field;
      const V moved = o::load(u + here) + V(clock[clock_entry::dt]) * o::load(rate + here);
      const V b = V(stage_weight(stage)), a = V(1.0 - stage_weight(stage));
      const V result = stage == 0 ? moved : a * o::load(start + here) + b * moved;
      o::store(next + here, result);
      return result;
    };
    if (stage != stage_count - 1) {
      advance(f);
    } else if (f == field::rho) {  // the index of rho advances its species as well
      const V s0 = advance(field::species), s1 = advance(field::species + 1),
              s2 = advance(field::species + 2), s3 = advance(field::species + 3),
              s4 = advance(field::species + 4);
      o::store(next + at, ((s0 + s1) + (s2 + s3)) + s4);
    } else if (f < field::species) {
      advance(f);
    }
  }
};

/// The same combination for the outflow of a step: O <- b (O + dt rate). Range (15, 1, count).
struct outflow_update {
  double* amount;         ///< [count][15], of this step, in the order of the tree
  const double* leaving;  ///< [count][15] from outflow_rate
  const double* clock;
  int count;
  int stage;

  constexpr extent range() const { return {field_count, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const index_type k = index_type{i.z} * field_count + i.x;
    const double before = stage == 0 ? 0.0 : amount[k];
    amount[k] = stage_weight(stage) * (before + clock[clock_entry::dt] * leaving[k]);
  }
};

/// Adds the step's outflow to the total and advances the clock. Range (15, 1, 1).
struct end_step {
  const double* amount;  ///< [subgrids][15]
  double* total;         ///< [15]
  double* clock;
  int subgrids;

  constexpr extent range() const { return {field_count, 1, 1}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    constexpr int ahead = 32;  // loads in flight during the dependent sums
    const double* own = amount + i.x;
    double sum = 0.0, next[ahead];
    int n = 0;
    for (; n + ahead <= subgrids; n += ahead) {
      for (int k = 0; k < ahead; ++k) next[k] = own[index_type{n + k} * field_count];
      for (int k = 0; k < ahead; ++k) sum += next[k];
    }
    for (; n < subgrids; ++n) sum += own[index_type{n} * field_count];
    total[i.x] += sum;
    if (i.x != 0) return;
    const double left = clock[clock_entry::stop] - clock[clock_entry::time];
    const double dt = clock[clock_entry::dt];
    clock[clock_entry::time] =
        dt == left ? clock[clock_entry::stop] : clock[clock_entry::time] + dt;
  }
};

/// Applies the optional floors. Range (512, 1, count).
struct apply_floors {
  double* u;  ///< [count][15][512]
  int count;
  double gamma;
  floor_values floors;

  constexpr extent range() const { return {cells_per_subgrid, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    double* c = u + index_type{i.z} * compact.block + i.x;
    const int step = compact.field;
    double sum = 0.0;
    for (int s = field::species; s < field_count; ++s) {
      if (!(c[s * step] > 0.0)) c[s * step] = 0.0;
      sum += c[s * step];
    }
    const double rho = c[0] > floors.rho ? c[0] : floors.rho;
    if (sum > 0.0) {
      for (int s = field::species; s < field_count; ++s) c[s * step] *= rho / sum;
    } else {
      c[field::species * step] = rho;
    }
    const double tracer = power(floors.energy, 1.0 / gamma);
    if (c[0] < floors.rho) {
      const double keep = c[0] > 0.0 ? c[0] / floors.rho : 0.0;
      for (int f = field::sx; f < field::species; ++f) c[f * step] *= keep;
      c[field::egas * step] = keep * c[field::egas * step] + (1.0 - keep) * floors.energy;
      c[field::tau * step] = keep * c[field::tau * step] + (1.0 - keep) * tracer;
    }
    if (!(c[field::tau * step] > tracer)) c[field::tau * step] = tracer;
    c[0] = rho;
  }
};

/// Marks rows with a cell whose density is not positive or whose entropy tracer is negative, or in
/// which one of them is NaN: 0 without such a cell, otherwise a number that is largest for the
/// first such cell. Range (64, 1, count).
struct find_fault {
  const double* u;              ///< [count][15][512]
  double* faults;               ///< [count][64]
  const subgrid_frame* frames;  ///< [count]
  std::ptrdiff_t cells;         ///< of the domain
  int count;

  constexpr extent range() const { return {edge * edge, 1, count}; }
  template <class Index>
  constexpr void operator()(Index i) const {
    const double* row = u + index_type{i.z} * compact.block + i.x * edge;
    const std::ptrdiff_t leaf = frames[i.z].number;
    double code = 0.0;
    for (int x = edge - 1; x >= 0; --x) {
      const bool good = row[x] > 0.0 && row[x + field::tau * compact.field] >= 0.0;
      const std::ptrdiff_t cell = leaf * cells_per_subgrid + i.x * edge + x;
      if (!good) code = static_cast<double>(cells - cell);
    }
    faults[index_type{i.z} * (edge * edge) + i.x] = code;
  }
  /// Returns the cell (sub-grid times 512 plus position in it) of a code other than 0, in a domain
  /// of `cells` cells.
  static constexpr std::ptrdiff_t cell_of(std::ptrdiff_t cells, double code) {
    return cells - static_cast<std::ptrdiff_t>(code);
  }
};

}  // namespace stars
