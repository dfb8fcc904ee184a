// SPDX-License-Identifier: Apache-2.0
/// \file
/// Moments of masses, expansions of their potential, and the four operations between both
/// (README.md). G = 1: the caller multiplies by G.
#pragma once

#include <array>

#include "kernel/lanes.hpp"
#include "kernel/unrolled.hpp"

namespace stars {

/// The terms of a polynomial of three variables up to the third order, by order.
namespace term {
enum : int {
  one,
  x,
  y,
  z,
  xx,
  xy,
  xz,
  yy,
  yz,
  zz,
  xxx,
  xxy,
  xxz,
  xyy,
  xyz,
  xzz,
  yyy,
  yyz,
  yzz,
  zzz,
  count
};
}
inline constexpr int highest_order = 3;

/// The exponents of x, y and z in each term.
inline constexpr int exponents[term::count][3] = {
    {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1},
    {0, 2, 0}, {0, 1, 1}, {0, 0, 2}, {3, 0, 0}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0},
    {1, 1, 1}, {1, 0, 2}, {0, 3, 0}, {0, 2, 1}, {0, 1, 2}, {0, 0, 3}};

constexpr int order_of(int t) { return exponents[t][0] + exponents[t][1] + exponents[t][2]; }
/// Returns the term with the product of two terms, -1 if its order is higher than the third.
constexpr int product(int a, int b) {
  for (int t = 0; t < term::count; ++t) {
    bool equal = true;
    for (int k = 0; k < 3; ++k)
      equal = equal && exponents[t][k] == exponents[a][k] + exponents[b][k];
    if (equal) return t;
  }
  return -1;
}
inline constexpr auto products = [] {
  std::array<std::array<int, term::count>, term::count> table{};
  for (int a = 0; a < term::count; ++a)
    for (int b = 0; b < term::count; ++b) table[std::size_t(a)][std::size_t(b)] = product(a, b);
  return table;
}();

/// 20 coefficients, one for each term. As *moments* of masses m about a centre: Σ m d^a / a!, with
/// the distances d from the centre and a! the product of the factorials of the exponents. As an
/// *expansion*: the derivatives of the potential at its centre.
template <class V>
struct series {
  V at[term::count] = {};
};

/// Three numbers, one for each axis.
template <class V>
struct vector3 {
  V x = V(0.0), y = V(0.0), z = V(0.0);

  friend constexpr vector3 operator+(const vector3& a, const vector3& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  friend constexpr vector3 operator-(const vector3& a, const vector3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend constexpr vector3 operator*(const V& a, const vector3& b) {
    return {a * b.x, a * b.y, a * b.z};
  }
};

/// Returns d^a / a! for each term a.
template <class V>
constexpr series<V> powers(const vector3<V>& d) {
  const V half = V(0.5), third = V(1.0 / 3.0);
  series<V> p;
  p.at[term::one] = V(1.0);
  p.at[term::x] = d.x;
  p.at[term::y] = d.y;
  p.at[term::z] = d.z;
  p.at[term::xx] = half * (d.x * d.x);
  p.at[term::xy] = d.x * d.y;
  p.at[term::xz] = d.x * d.z;
  p.at[term::yy] = half * (d.y * d.y);
  p.at[term::yz] = d.y * d.z;
  p.at[term::zz] = half * (d.z * d.z);
  p.at[term::xxx] = third * (p.at[term::xx] * d.x);
  p.at[term::xxy] = p.at[term::xx] * d.y;
  p.at[term::xxz] = p.at[term::xx] * d.z;
  p.at[term::xyy] = p.at[term::yy] * d.x;
  p.at[term::xyz] = p.at[term::xy] * d.z;
  p.at[term::xzz] = p.at[term::zz] * d.x;
  p.at[term::yyy] = third * (p.at[term::yy] * d.y);
  p.at[term::yyz] = p.at[term::yy] * d.z;
  p.at[term::yzz] = p.at[term::zz] * d.y;
  p.at[term::zzz] = third * (p.at[term::zz] * d.z);
  return p;
}

/// Adds moments to those about a centre from which theirs is at the distance d.
template <class V>
constexpr void add_moments(const series<V>& m, const vector3<V>& d, series<V>& sum) {
  const series<V> p = powers(d);
  unrolled<0, term::count>([&](auto a) __attribute__((always_inline)) {
    unrolled<0, term::count>([&](auto b) __attribute__((always_inline)) {
      constexpr int t = products[std::size_t(a)][std::size_t(b)];
      if constexpr (t >= 0) sum.at[t] = sum.at[t] + m.at[a] * p.at[b];
    });
  });
}

/// Adds an expansion to the one about a centre at the distance d from its own.
template <class V>
constexpr void add_expansion(const series<V>& e, const vector3<V>& d, series<V>& sum) {
  const series<V> p = powers(d);
  unrolled<0, term::count>([&](auto a) __attribute__((always_inline)) {
    unrolled<0, term::count>([&](auto b) __attribute__((always_inline)) {
      constexpr int t = products[std::size_t(a)][std::size_t(b)];
      if constexpr (t >= 0) sum.at[a] = sum.at[a] + e.at[t] * p.at[b];
    });
  });
}

/// -1/r and its derivatives: those of the k-th order contain the factors d[k].
template <class V>
struct inverse_distance {
  vector3<V> x;  ///< from the source to the receiver, not 0
  V d[highest_order + 1];

  constexpr explicit inverse_distance(const vector3<V>& from) : x(from) {
    const V r2 = (x.x * x.x + x.y * x.y) + x.z * x.z;
    const V over_r2 = V(1.0) / r2;
    d[0] = -ops<V>::sqrt(over_r2);
    d[1] = -(d[0] * over_r2);
    d[2] = V(-3.0) * (d[1] * over_r2);
    d[3] = V(-5.0) * (d[2] * over_r2);
  }
  /// Returns the derivatives.
  [[nodiscard]] constexpr series<V> derivatives() const {
    series<V> s;
    const V xx = x.x * x.x, xy = x.x * x.y, xz = x.x * x.z;
    const V yy = x.y * x.y, yz = x.y * x.z, zz = x.z * x.z;
    const V three = V(3.0);
    const vector3<V> once = d[2] * x;
    s.at[term::one] = d[0];
    s.at[term::x] = d[1] * x.x;
    s.at[term::y] = d[1] * x.y;
    s.at[term::z] = d[1] * x.z;
    s.at[term::xx] = d[2] * xx + d[1];
    s.at[term::xy] = d[2] * xy;
    s.at[term::xz] = d[2] * xz;
    s.at[term::yy] = d[2] * yy + d[1];
    s.at[term::yz] = d[2] * yz;
    s.at[term::zz] = d[2] * zz + d[1];
    s.at[term::xxx] = (d[3] * xx) * x.x + three * once.x;
    s.at[term::xxy] = (d[3] * xx) * x.y + once.y;
    s.at[term::xxz] = (d[3] * xx) * x.z + once.z;
    s.at[term::xyy] = (d[3] * yy) * x.x + once.x;
    s.at[term::xyz] = (d[3] * xy) * x.z;
    s.at[term::xzz] = (d[3] * zz) * x.x + once.x;
    s.at[term::yyy] = (d[3] * yy) * x.y + three * once.y;
    s.at[term::yyz] = (d[3] * yy) * x.z + once.z;
    s.at[term::yzz] = (d[3] * zz) * x.y + once.y;
    s.at[term::zzz] = (d[3] * zz) * x.z + three * once.z;
    return s;
  }
};

/// Adds the potential of moments to the expansion of a receiver: terms up to the third order in
/// both together, so that receiver and source exert opposite forces. `Dipole` is false if the
/// first moments are 0 (about a centre of mass), `Highest` the order of the expansion that is
/// needed.
template <bool Dipole, int Highest, class V>
constexpr void add_potential(const series<V>& m, const series<V>& d, series<V>& sum) {
  unrolled<0, term::count>([&](auto a) __attribute__((always_inline)) {
    if constexpr (order_of(a) <= Highest) {
      V value = m.at[term::one] * d.at[a];
      unrolled<term::x, term::count>([&](auto b) __attribute__((always_inline)) {
        constexpr int t = products[std::size_t(a)][std::size_t(b)], order = order_of(b);
        if constexpr (t >= 0 && order == 2)
          value = value + m.at[b] * d.at[t];
        else if constexpr (t >= 0 && (Dipole || order == 3))
          value = value - m.at[b] * d.at[t];
      });
      sum.at[a] = sum.at[a] + value;
    }
  });
}

/// Adds the acceleration that removes the torque of the truncated expansions, to its negative like
/// the first derivatives. `third` are the third moments of the source minus those of the receiver
/// times the mass of the source over that of the receiver.
template <class V>
constexpr void add_correction(const series<V>& third, const inverse_distance<V>& from,
                              vector3<V>& sum) {
  const V* n = third.at;
  const vector3<V>& x = from.x;
  const V two = V(2.0), three = V(3.0);
  const V xx = x.x * x.x, xy = x.x * x.y, xz = x.x * x.z;
  const V yy = x.y * x.y, yz = x.y * x.z, zz = x.z * x.z;
  // Half the contraction with x twice, which is a derivative of Σ n x^a, and half the trace.
  const vector3<V> s = {(three * (n[term::xxx] * xx) + (n[term::xyy] * yy + n[term::xzz] * zz)) +
                            (two * (n[term::xxy] * xy + n[term::xxz] * xz) + n[term::xyz] * yz),
                        (three * (n[term::yyy] * yy) + (n[term::xxy] * xx + n[term::yzz] * zz)) +
                            (two * (n[term::xyy] * xy + n[term::yyz] * yz) + n[term::xyz] * xz),
                        (three * (n[term::zzz] * zz) + (n[term::xxz] * xx + n[term::yyz] * yy)) +
                            (two * (n[term::xzz] * xz + n[term::yzz] * yz) + n[term::xyz] * xy)};
  const vector3<V> t = {three * n[term::xxx] + (n[term::xyy] + n[term::xzz]),
                        three * n[term::yyy] + (n[term::xxy] + n[term::yzz]),
                        three * n[term::zzz] + (n[term::xxz] + n[term::yyz])};
  const V along = (x.x * t.x + x.y * t.y) + x.z * t.z;
  sum = sum - (from.d[3] * (s + along * x) + from.d[2] * t);
}

}  // namespace stars
