// SPDX-License-Identifier: Apache-2.0
// Steps made of kernels, in each form and fusion, give the bits of the serial solver.
#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jacobi3d::test {
namespace {

const fusion fusions[] = {fusion::none, fusion::a, fusion::b, fusion::c};

template <class Form>
struct stepping : testing::Test {
  Form run;

  void expect_serial_bits(triple grid, int blocks, int steps) {
    const problem start(problem_kind::random, grid, 7);
    serial_solver reference(start);
    for (int i = 0; i < steps; ++i) reference.step();
    for (const fusion how : fusions) {
      block_grid<Form> all(start, blocks, run);
      for (int i = 0; i < steps; ++i) all.step(how);
      EXPECT_TRUE(all.matches(reference)) << blocks << " blocks, fusion " << int(how);
      EXPECT_EQ(all.checksum(), reference.checksum());
      EXPECT_EQ(all.change(), reference.change());
    }
    block_grid<Form> all(start, blocks, run);
    for (int i = 0; i < steps; ++i) all.step_overlapped();
    EXPECT_TRUE(all.matches(reference)) << blocks << " blocks, overlapped";
  }
};
using forms = testing::Types<one_thread, many_threads, on_stream>;
TYPED_TEST_SUITE(stepping, forms);

TYPED_TEST(stepping, one_block_has_the_bits_of_the_serial_solver) {
  for (const triple grid : {triple{1, 1, 1}, triple{1, 6, 5}, triple{5, 1, 4}, triple{6, 5, 1},
                            triple{2, 2, 2}, triple{33, 9, 6}, triple{64, 16, 8}})
    this->expect_serial_bits(grid, 1, 3);
}

TYPED_TEST(stepping, any_decomposition_has_the_serial_bits) {
  for (const int blocks : {2, 3, 4, 8, 12, 27}) this->expect_serial_bits({19, 13, 11}, blocks, 4);
}

TYPED_TEST(stepping, blocks_of_one_cell_and_of_one_layer_have_the_serial_bits) {
  this->expect_serial_bits({3, 3, 3}, 27, 5);
  this->expect_serial_bits({4, 1, 1}, 4, 5);
  this->expect_serial_bits({1, 5, 1}, 5, 5);
  this->expect_serial_bits({9, 8, 7}, 7, 3);
}

TYPED_TEST(stepping, blocks_that_are_no_multiple_of_a_tile_have_the_serial_bits) {
  this->expect_serial_bits({71, 35, 13}, 1, 2);
  this->expect_serial_bits({71, 35, 13}, 2, 2);
}

TEST(fused_step, has_the_same_bits_for_every_cut_and_number_of_threads) {
  const problem start(problem_kind::random, {70, 37, 9}, 3);
  const block_layout s(start.grid());
  std::vector<double> first(std::size_t(s.size()));
  one_thread()(fill_initial{s, {}, start.values(), first.data()});
  received_faces in;
  std::vector<double> message(std::size_t(largest_face(s)), 0.125);
  for (int f = 0; f < face_count; f += 2) in.of[f] = message.data();
  struct written {
    std::vector<double> to, faces;
    bool operator==(const written&) const = default;
  };
  const auto after = [&](const tiling& cut, auto run) {
    std::vector<double> from = first;
    const auto face_cells = std::size_t(largest_face(s));
    written w{first, std::vector<double>(face_count * face_cells, -3.0)};
    sent_faces out;
    for (std::size_t f = 0; f < face_count; ++f) out.of[f] = w.faces.data() + f * face_cells;
    run(fused_step{s, from.data(), w.to.data(), in, out, cut});
    return w;
  };
  const written right = after({9, 4, 2, 1}, one_thread());
  EXPECT_NE(right.to, first);
  EXPECT_EQ(after({32, 8, 4, 2}, many_threads()), right);
  EXPECT_EQ(after({64, 16, 5, 1}, many_threads()), right);
  EXPECT_EQ(after({70, 10, 4, 1}, many_threads()),
            right);  // rows that are no multiple of a thread's columns
  for (const int threads : {2, 3, 8})
    EXPECT_EQ(after({32, 16, 6, 2}, [&](const auto& k) { run_with_threads(k, threads); }), right);
}

TEST(update, writes_its_own_cells_only) {
  for (const bool many : {false, true}) {
    const block_layout s({21, 10, 7});
    std::vector<double> from(std::size_t(s.size()), 1.0), to(from.size(), -3.0);
    const update k{s, from.data(), to.data(), box{{2, 3, 1}, {20, 9, 6}},
                   many ? tiling{32, 16, 3, 2} : tiling{7, 2, 2, 1}};
    if (many)
      many_threads()(k);
    else
      one_thread()(k);
    offset written = 0;
    for (const double v : to) written += v != -3.0;
    EXPECT_EQ(written, volume(k.cells.extent()));
    EXPECT_EQ(to[std::size_t(s.at(2, 3, 1))], 7.0 * (1.0 / 7.0));
    EXPECT_EQ(to[std::size_t(s.at(19, 8, 5))], 7.0 * (1.0 / 7.0));
  }
}

TEST(update, of_no_cells_is_no_work) {
  const block_layout s({2, 5, 5});
  const box interior = divided_cells(s, {true, true, true, true, true, true}).interior;
  const update k{s, nullptr, nullptr, interior, tiling::for_one(s.n)};
  EXPECT_EQ(volume(k.range()), 0);
}

TEST(unpack, writes_ghosts_only_and_pack_reads_the_cells_that_the_neighbour_unpacks) {
  const block_layout s({7, 5, 4});
  for (int i = 0; i < face_count; ++i) {
    std::vector<double> block(std::size_t(s.size()), 0.0);
    std::vector<double> message(std::size_t(face_size(s, face_of(i))));
    for (std::size_t k = 0; k < message.size(); ++k) message[k] = double(k) + 1.0;
    many_threads()(unpack{s, face_of(i), block.data(), message.data()});
    const layer l = layer::ghosts(s, face_of(i));
    offset written = 0;
    for (const double v : block) written += v != 0.0;
    EXPECT_EQ(written, offset(message.size()));
    EXPECT_EQ(block[std::size_t(l.origin + l.step)], 2.0);
    EXPECT_EQ(block[std::size_t(l.origin + l.row)], double(l.width) + 1.0);
  }
}

}  // namespace
}  // namespace jacobi3d::test
