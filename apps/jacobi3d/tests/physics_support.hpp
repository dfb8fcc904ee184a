// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the physics tests: a grid of blocks, stepped by kernels.
#pragma once

#include <vector>

#include "common/tests/kernel_runs.hpp"
#include "physics/decomposition.hpp"
#include "physics/halo.hpp"
#include "physics/initial.hpp"
#include "physics/reduction.hpp"
#include "physics/serial.hpp"
#include "physics/update.hpp"

namespace jacobi3d::test {

using apps::test::for_each_group;
using apps::test::run_with_threads;

struct one_thread : apps::test::one_thread {
  static tiling cut(triple n) { return tiling::for_one(n); }
};
struct many_threads : apps::test::many_threads {
  static tiling cut(triple n) { return tiling::for_many(n); }
};
struct on_stream : apps::test::on_stream {
  static tiling cut(triple n) { return tiling::for_one(n); }
};

/// How a step is made of kernels: separate kernels, fused packs (A), fused unpacks as well (B), one
/// kernel (C).
enum class fusion { none, a, b, c };

/// A decomposed grid whose blocks exchange their faces, stepped by kernels that `Run` runs.
template <class Run>
class block_grid {
 public:
  block_grid(const problem& start, int blocks, Run run = {})
      : m_cut(decompose(start.grid(), blocks)), m_run(std::move(run)) {
    for (int b = 0; b < m_cut.count(); ++b) {
      const triple place = m_cut.place(b);
      m_blocks.emplace_back(block_layout(m_cut.extent(place)), m_cut.origin(place));
      block& here = m_blocks.back();
      for (int f = 0; f < face_count; ++f)
        if (m_cut.neighbour(place, face_of(f)))
          for (std::vector<double>* m : {&here.sent.of[f], &here.received.of[f]})
            m->resize(std::size_t(face_size(here.shape, face_of(f))), -1.0);
      for (std::vector<double>* a : {&here.now, &here.next})
        m_run(fill_initial{here.shape, here.origin, start.values(), a->data()});
    }
  }

  struct block {
    block(block_layout s, triple first)
        : shape(s), origin(first), now(std::size_t(s.size()), -2.0), next(now) {}
    block_layout shape;
    triple origin;
    std::vector<double> now, next;
    per_face<std::vector<double>> sent, received;
  };

  void step(fusion how) {
    if (m_steps++ == 0 || how != fusion::c) pack_all(how);
    exchange();
    for (block& b : m_blocks) {
      if (how == fusion::c) {
        m_run(fused_step{b.shape, b.now.data(), b.next.data(), received(b), sent(b),
                         Run::cut(b.shape.n)});
      } else {
        unpack_all(b, how);
        m_run(update{b.shape, b.now.data(), b.next.data(), whole(b.shape), Run::cut(b.shape.n)});
      }
      b.now.swap(b.next);
    }
  }
  /// Does a step in which the interior is updated before the faces arrive.
  void step_overlapped() {
    pack_all(fusion::a);
    for (block& b : m_blocks) {
      const box cells = divided(b).interior;
      m_run(update{b.shape, b.now.data(), b.next.data(), cells, Run::cut(cells.extent())});
    }
    exchange();
    for (block& b : m_blocks) {
      unpack_all(b, fusion::b);
      m_run(update_faces{b.shape, b.now.data(), b.next.data(), divided(b).exterior});
      b.now.swap(b.next);
    }
  }

  [[nodiscard]] std::uint64_t checksum() const {
    return reduced<sum>([&](const block& b) {
      return checksum_of_cell{b.now.data(), m_cut.grid, b.origin};
    });
  }
  [[nodiscard]] double change() const {
    return norm_of(reduced<largest>([](const block& b) {
      return change_of_cell{b.next.data(), b.now.data()};
    }));
  }
  [[nodiscard]] double error(const problem& start, long steps) const {
    return norm_of(reduced<largest>([&](const block& b) {
      return error_of_cell{b.now.data(), start.values(), b.origin, start.amplitude(steps)};
    }));
  }
  /// Returns whether every cell equals the serial solver's cell bit by bit.
  [[nodiscard]] bool matches(const serial_solver& reference) const {
    for (const block& b : m_blocks)
      for (int z = 0; z < b.shape.n.z; ++z)
        for (int y = 0; y < b.shape.n.y; ++y)
          for (int x = 0; x < b.shape.n.x; ++x)
            if (std::bit_cast<pattern>(b.now[std::size_t(b.shape.at(x, y, z))]) !=
                std::bit_cast<pattern>(
                    reference.at(b.origin.x + x, b.origin.y + y, b.origin.z + z)))
              return false;
    return true;
  }

  [[nodiscard]] const decomposition& cut() const { return m_cut; }
  [[nodiscard]] block& at(int number) { return m_blocks[std::size_t(number)]; }
  /// Makes a block lose the messages of face `f` from now on.
  void lose(int number, face f) { m_lost = {number, f}; }

 private:
  static sent_faces sent(block& b) {
    sent_faces all;
    for (int f = 0; f < face_count; ++f)
      all.of[f] = b.sent.of[f].empty() ? nullptr : b.sent.of[f].data();
    return all;
  }
  static divided_cells divided(const block& b) {
    per_face<bool> there;
    for (int f = 0; f < face_count; ++f) there.of[f] = !b.received.of[f].empty();
    return {b.shape, there};
  }
  static received_faces received(const block& b) {
    received_faces all;
    for (int f = 0; f < face_count; ++f)
      all.of[f] = b.received.of[f].empty() ? nullptr : b.received.of[f].data();
    return all;
  }
  void pack_all(fusion how) {
    for (block& b : m_blocks) {
      if (how != fusion::none) {
        m_run(pack_faces{b.shape, b.now.data(), sent(b)});
        continue;
      }
      for (int f = 0; f < face_count; ++f)
        if (!b.sent.of[f].empty())
          m_run(pack{b.shape, face_of(f), b.now.data(), b.sent.of[f].data()});
    }
  }
  void unpack_all(block& b, fusion how) {
    if (how == fusion::b) return m_run(unpack_faces{b.shape, b.now.data(), received(b)});
    for (int f = 0; f < face_count; ++f)
      if (!b.received.of[f].empty())
        m_run(unpack{b.shape, face_of(f), b.now.data(), b.received.of[f].data()});
  }
  void exchange() {
    for (int b = 0; b < m_cut.count(); ++b)
      for (int f = 0; f < face_count; ++f) {
        const auto from = m_cut.neighbour(m_cut.place(b), face_of(f));
        if (!from || (b == m_lost.block && face_of(f) == m_lost.which)) continue;
        at(b).received.of[f] = at(m_cut.number(*from)).sent[opposite(face_of(f))];
      }
  }
  template <class Combine, class MakeCell>
  [[nodiscard]] pattern reduced(MakeCell make_cell) const {
    pattern all = 0;
    for (const block& b : m_blocks) {
      using reduction = reduce_block<decltype(make_cell(b))>;
      std::vector<pattern> partial(std::size_t(reduction::groups(b.shape)), ~pattern{0});
      pattern result = ~pattern{0};
      one_thread()(reduction{b.shape, make_cell(b), partial.data()});
      one_thread()(reduce_partials<Combine>{partial.data(), int(partial.size()), &result});
      all = Combine{}(all, result);
    }
    return all;
  }

  struct {
    int block = -1;
    face which = face::west;
  } m_lost;
  decomposition m_cut;
  Run m_run;
  std::vector<block> m_blocks;
  long m_steps = 0;
};

}  // namespace jacobi3d::test
