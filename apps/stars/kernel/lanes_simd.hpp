// SPDX-License-Identifier: Apache-2.0
/// \file
/// The vector form of the operations in lanes.hpp. Included where the `lanes` of kernels are
/// instantiated.
#pragma once

// GCC 12's own AVX-512 header causes a false warning when it is inlined here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <experimental/simd>
#pragma GCC diagnostic pop

#include <cstring>
#include <utility>

#include "kernel/lanes.hpp"

namespace stars {

template <class Abi>
struct ops<std::experimental::simd<double, Abi>> {
  using V = std::experimental::simd<double, Abi>;
  using mask = typename V::mask_type;
  static constexpr int width = static_cast<int>(V::size());
#ifdef __clang__
  /// False because libstdc++, compiled by Clang for AVX-512, assigns all lanes or none
  /// (`_S_blend_avx512` in experimental/bits/simd_x86.h).
  static constexpr bool assigns_by_mask = false;
#else
  static constexpr bool assigns_by_mask = true;
#endif

  [[gnu::always_inline]] static V load(const double* p) {
    return V(p, std::experimental::element_aligned);
  }
  [[gnu::always_inline]] static V load(const row_pairs& p) {
    static_assert(width == 4 || width == 8);
    const auto at = [&p](int k) { return pair_at(p.base + p.offsets[k]); };
    if constexpr (width == 4)
      return of_vector(__builtin_shufflevector(at(0), at(1), 0, 1, 2, 3));
    else
      return of_vector(__builtin_shufflevector(__builtin_shufflevector(at(0), at(1), 0, 1, 2, 3),
                                               __builtin_shufflevector(at(2), at(3), 0, 1, 2, 3), 0,
                                               1, 2, 3, 4, 5, 6, 7));
  }
  /// Loads the lower and the upper half of a vector.
  [[gnu::always_inline]] static V load_halves(const double* low, const double* high) {
    using half = double __attribute__((vector_size(4 * sizeof(double))));
    static_assert(width == 8);
    half a, b;
    std::memcpy(&a, low, sizeof a);
    std::memcpy(&b, high, sizeof b);
    return of_vector(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7));
  }
  /// Stores the pairs of a vector, or the first cells alone, at their offsets from `to`.
  [[gnu::always_inline]] static void store_pairs(double* to, const short* offsets, bool both,
                                                 const V& v) {
    vector x;
    copy(v, x);
    [&]<int... K>(std::integer_sequence<int, K...>) {
      const auto put = [&](double* cell, const pair& values) {
        if (both)
          std::memcpy(cell, &values, sizeof values);
        else
          *cell = values[0];
      };
      (put(to + offsets[K], __builtin_shufflevector(x, x, 2 * K, 2 * K + 1)), ...);
    }
    (std::make_integer_sequence<int, width / 2>());
  }
  [[gnu::always_inline]] static void store(double* p, const V& v) {
    v.copy_to(p, std::experimental::element_aligned);
  }
  [[gnu::always_inline]] static V load(const double* p, int stride) {
    if (stride == 1) return load(p);
    return V([p, stride](auto lane) { return p[stride * static_cast<int>(lane)]; });
  }
  [[gnu::always_inline]] static void store(double* p, int stride, const V& v) {
    if (stride == 1) return store(p, v);
    for (int k = 0; k < width; ++k) p[stride * k] = v[static_cast<std::size_t>(k)];
  }
  [[gnu::always_inline]] static mask lanes_between(int lo, int hi) {
    const V lane = iota();
    return lane >= V(lo) && lane < V(hi);
  }
  [[gnu::always_inline]] static void store_where(const mask& m, double* p, const V& v) {
    std::experimental::where(m, v).copy_to(p, std::experimental::element_aligned);
  }
  [[gnu::always_inline]] static V iota() {
    return V([](auto lane) { return static_cast<double>(lane); });
  }
  [[gnu::always_inline]] static V select(const mask& m, const V& a, const V& b) {
    if constexpr (assigns_by_mask) {
      V r = b;
      std::experimental::where(m, r) = a;
      return r;
    } else {
      alignas(64) double r[width];
      b.copy_to(r, std::experimental::vector_aligned);
      std::experimental::where(m, a).copy_to(r, std::experimental::vector_aligned);
      return V(r, std::experimental::vector_aligned);
    }
  }
  [[gnu::always_inline]] static bool any(const mask& m) { return std::experimental::any_of(m); }
  // Not the functions of std::experimental: they are compiled as if there were no NaN and no signed
  // zero. `select` takes two instructions; a comparison of the compiler's own vectors takes one.
  [[gnu::always_inline]] static V min(const V& a, const V& b) {
    vector x, y;
    copy(a, x);
    copy(b, y);
    return of_vector(x < y ? x : y);
  }
  [[gnu::always_inline]] static V max(const V& a, const V& b) {
    vector x, y;
    copy(a, x);
    copy(b, y);
    return of_vector(x > y ? x : y);
  }
  [[gnu::always_inline]] static V abs(const V& a) { return std::experimental::abs(a); }
  [[gnu::always_inline]] static V sqrt(const V& a) { return std::experimental::sqrt(a); }
  [[gnu::always_inline]] static V exponent(const V& a) {
    return each(a, a, [](double x, double) { return ops<double>::exponent(x); });
  }
  [[gnu::always_inline]] static V mantissa(const V& a) {
    return each(a, a, [](double x, double) { return ops<double>::mantissa(x); });
  }
  [[gnu::always_inline]] static V scaled(const V& a, const V& n) {
    return each(a, n, [](double x, double e) { return ops<double>::scaled(x, e); });
  }

 private:
  using vector [[gnu::vector_size(sizeof(V))]] = double;
  using pair [[gnu::vector_size(2 * sizeof(double))]] = double;
  [[gnu::always_inline]] static pair pair_at(const double* p) {
    pair result;
    std::memcpy(&result, p, sizeof result);
    return result;
  }
  // Not std::bit_cast, as `fixed_size_simd` is not trivially copyable. By reference, since how a
  // function returns a vector depends on the processor.
  [[gnu::always_inline]] static void copy(const V& from, vector& to) {
    from.copy_to(reinterpret_cast<double*>(&to), std::experimental::vector_aligned);
  }
  [[gnu::always_inline]] static V of_vector(const vector& v) {
    return V(reinterpret_cast<const double*>(&v), std::experimental::vector_aligned);
  }

  /// Applies f to each lane, for operations on bits, which the vector type lacks; compilers
  /// vectorise this loop.
  template <class F>
  [[gnu::always_inline]] static V each(const V& a, const V& b, F f) {
    alignas(64) double x[width], y[width];
    a.copy_to(x, std::experimental::vector_aligned);
    b.copy_to(y, std::experimental::vector_aligned);
    for (int i = 0; i < width; ++i) x[i] = f(x[i], y[i]);
    return V(x, std::experimental::vector_aligned);
  }
};

}  // namespace stars
