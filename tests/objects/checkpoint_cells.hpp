// SPDX-License-Identifier: Apache-2.0
// A program with three arrays of chares whose elements depend on each other, for tests of
// checkpoints.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"

namespace starling_test {

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return a ^ (a >> 31);
}

/// An element of a sparse array.
struct word : starling::chare<word, std::string> {
  explicit word(std::string text = "") : m_text(std::move(text)) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_text);
  }
  std::string text() const { return m_text; }
  void append(const std::string& more) { m_text += more; }

 private:
  std::string m_text;
};

struct constants {
  std::uint64_t factor = 0;
};

/// Sends a value to its neighbour, and a word, in each step.
struct cell : starling::chare<cell, starling::index2> {
  explicit cell(starling::migrated) {}
  cell(const starling::chare_array<word>& words, starling::read_only<constants> c)
      : m_numbers(std::size_t(this_index().x + 1), std::uint64_t(this_index().y)), m_words{words},
        m_constants{c} {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_numbers, m_words, m_next, m_constants, m_in);
  }

  void meet(const starling::element<cell>& next) { m_next = {next}; }
  void advance(int step) {
    const std::uint64_t in = std::exchange(m_in.at(std::size_t(step - 1) % 2), 0);
    for (std::uint64_t& n : m_numbers)
      n = mixed(n + in, std::uint64_t(step) * m_constants.at(0)->factor);
    m_next.at(0).invoke<&cell::take>(step, m_numbers.back());
    if (this_index().x == 0 && this_index().y == 0)
      m_words.at(0)["hub"].invoke<&word::append>(std::to_string(step) + ",");
  }
  void take(int step, std::uint64_t value) { m_in.at(std::size_t(step) % 2) += value; }
  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }
  std::uint64_t digest() const {
    std::uint64_t d = mixed(m_in.at(0), m_in.at(1));
    for (const std::uint64_t n : m_numbers) d = mixed(d, n);
    return d;
  }
  starling::awaited letter(int number, std::string text);
  starling::task<std::string> letters(int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      auto [number, text] = co_await when<&cell::letter>();
      all += std::to_string(number) + text + ";";
    }
    co_return all;
  }

 private:
  std::vector<std::uint64_t> m_numbers;
  std::vector<starling::chare_array<word>> m_words;
  std::vector<starling::element<cell>> m_next;
  std::vector<starling::read_only<constants>> m_constants;
  std::array<std::uint64_t, 2> m_in{};  // received in even and in odd steps
};

/// The arrays and values of the program, new or from a checkpoint.
struct cells_program {
  static constexpr int width = 5;
  static constexpr int height = 4;

  explicit cells_program(starling::checkpoints s) : saved(std::move(s)) {}

  starling::checkpoints saved;
  std::unique_ptr<int> step = std::make_unique<int>(0);
  std::vector<starling::chare_array<word>> words;
  std::vector<starling::chare_array<cell>> cells;

  static starling::task<cells_program> begin(starling::runtime& rt, std::string path,
                                             starling::checkpoint_options options) {
    cells_program p(co_await starling::checkpoints::open(rt, std::move(path), std::move(options)));
    p.create();
    if (p.saved.is_restart()) {
      co_await p.saved.load();
    } else {
      p.introduce();
      // The caller's task may resume on another worker. Messages that it sends from there may
      // arrive before those of `introduce`.
      co_await starling::quiescence();
    }
    co_return p;
  }
  void create() {
    saved.add_value("step", *step);
    words = {saved.create_sparse_array<word>("words")};
    const auto c = saved.make_read_only("constants", constants{41});
    cells = {saved.create_array<cell>("cells", {width, height}, starling::placement::block,
                                      words[0], c)};
  }
  void introduce() {
    words[0].insert("hub", std::string("begun:"));
    for (int i = 0; i < size(); ++i) element(i).invoke<&cell::meet>(element((i * 7 + 3) % size()));
  }
  [[nodiscard]] static int size() { return width * height; }
  [[nodiscard]] starling::element<cell> element(int i) const {
    return cells[0][{i % width, i / width}];
  }
  starling::task<> advance_to(int last) {
    while (*step < last) {
      ++*step;
      cells[0].invoke<&cell::advance>(*step);
      co_await starling::quiescence();
    }
  }
  /// Returns the digest of each cell and the text of the word.
  [[nodiscard]] starling::task<std::vector<std::string>> contents() const {
    std::vector<std::string> all;
    for (int i = 0; i < size(); ++i)
      all.push_back(std::to_string(co_await element(i).call<&cell::digest>()));
    all.push_back(co_await words[0]["hub"].call<&word::text>());
    co_return all;
  }
};

}  // namespace starling_test
