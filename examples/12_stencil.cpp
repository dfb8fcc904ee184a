// SPDX-License-Identifier: Apache-2.0
// A one-dimensional stencil: pieces of a rod exchange their end cells while heat flows, until the
// largest change is small. The final values fall linearly from 1 on the left to 0 on the right.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

struct piece : chare<piece> {
  explicit piece(int cells) : m_now(std::size_t(cells) + 2), m_next(m_now) {
    if (is_first()) m_now.front() = m_next.front() = 1.0;
  }
  awaited from_left(int step, double value);
  awaited from_right(int step, double value);

  task<int> run(double tolerance) {
    for (int step = 1;; ++step) {
      if (!is_first()) this_array()[this_index() - 1].invoke<&piece::from_right>(step, m_now[1]);
      if (!is_last())
        this_array()[this_index() + 1].invoke<&piece::from_left>(step, m_now[m_now.size() - 2]);
      if (!is_first()) m_now.front() = co_await when<&piece::from_left>(step);
      if (!is_last()) m_now.back() = co_await when<&piece::from_right>(step);
      double change = 0.0;
      for (std::size_t i = 1; i + 1 < m_now.size(); ++i) {
        m_next[i] = 0.5 * (m_now[i - 1] + m_now[i + 1]);
        change = std::max(change, std::abs(m_next[i] - m_now[i]));
      }
      std::swap(m_now, m_next);
      if (step % 100 == 0 && co_await reduce(change, reduction::max{}) < tolerance) co_return step;
    }
  }
  double error() const {
    const double cells = double(m_now.size() - 2), all = cells * extent();
    double worst = 0.0;
    for (std::size_t i = 1; i + 1 < m_now.size(); ++i)
      worst = std::max(worst,
                       std::abs(m_now[i] - (1.0 - (this_index() * cells + double(i)) / (all + 1))));
    return worst;
  }

 private:
  int extent() const { return m_pieces; }
  bool is_first() const { return this_index() == 0; }
  bool is_last() const { return this_index() == m_pieces - 1; }
  int m_pieces = this_array().extent().extent();
  std::vector<double> m_now, m_next;
};

task<int> flow(runtime& rt) {
  constexpr int pieces = 8;
  const auto rod = create_array<piece>(rt, pieces, placement::block, 8);
  std::vector<future<int>> ends;
  for (int i = 0; i < pieces; ++i) ends.push_back(rod[i].call<&piece::run>(1e-9));
  const int steps = (co_await when_all(std::move(ends))).front();
  double worst = 0.0;
  for (int i = 0; i < pieces; ++i) worst = std::max(worst, co_await rod[i].call<&piece::error>());
  std::printf("%d pieces, %d steps: largest error %.1e\n", pieces, steps, worst);
  co_return worst < 1e-5 ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, flow(rt));
}
