// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

/// An array with imbalance, for tests of what a balancing leaves behind.
namespace starling_test {

inline nlohmann::json parsed(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

inline constexpr int blocks = 8;

/// Calls load_balance(); the first quarter of the elements is eight times as heavy.
struct block : starling::chare<block> {
  block() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_left, m_end);
  }
  double load() const { return this_index() < blocks / 4 ? 8e-3 : 1e-3; }
  void begin(int calls, starling::callback<int> end) {
    m_left = calls;
    m_end = std::move(end);
    this_element().template invoke<&block::run>();
  }
  starling::task<> run() {
    while (m_left > 0) {
      --m_left;
      co_await load_balance();
    }
    contribute(1, starling::reduction::sum(), m_end);
  }
  starling::task<> resumed() { return run(); }
  void go(int to) { migrate_to(std::size_t(to)); }
  int place() { return int(this_worker()); }

 private:
  int m_left = 0;
  starling::callback<int> m_end;
};

inline starling::task<> balance_once(starling::chare_array<block> all) {
  auto [end, done] = starling::make_reply<int>();
  all.invoke<&block::begin>(1, end);
  EXPECT_EQ(co_await std::move(done), blocks);
}

inline starling::chare_array<block> make_blocks(starling::runtime& rt,
                                                const char* balancer = "greedy") {
  const auto all = starling::create_array<block>(rt, blocks, starling::placement::block);
  all.balance_by(starling::balance::make_balancer(balancer), 1);
  return all;
}

}  // namespace starling_test
