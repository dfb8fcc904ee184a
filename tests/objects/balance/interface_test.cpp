// SPDX-License-Identifier: Apache-2.0
// Names, options, own balancers, and errors of the snapshot.
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include <starling/core/error.hpp>

#include "synthetic_loads.hpp"

namespace {

namespace balance = starling::balance;
using balance::snapshot;
using starling_test::grid_of, starling_test::uneven_grid;

template <class Error, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// A user's balancer with any assignment.
class own_balancer : public balance::balancer {
 public:
  using change = std::function<void(std::vector<std::uint32_t>&)>;
  explicit own_balancer(change how) : m_how(std::move(how)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "own"; }

 protected:
  void assign(const snapshot&, std::vector<std::uint32_t>& worker_of) const override {
    m_how(worker_of);
  }

 private:
  change m_how;
};

TEST(balancer_interface, an_unknown_name_is_refused_with_the_known_names) {
  const std::string text =
      message_of<starling::option_error>([] { (void)balance::make_balancer("gredy"); });
  EXPECT_NE(text.find("no balancer 'gredy'"), std::string::npos) << text;
  EXPECT_NE(text.find("none greedy refine"), std::string::npos) << text;
}

TEST(balancer_interface, wrong_options_are_refused) {
  EXPECT_THROW((void)balance::make_balancer("greedy", {.tolerance = -1}), starling::option_error);
  EXPECT_THROW((void)balance::make_balancer("greedy", {.tolerance = std::nan("")}),
               starling::option_error);
  EXPECT_THROW((void)balance::make_balancer("greedy", {.minimum_gain = -0.1}),
               starling::option_error);
  EXPECT_THROW((void)balance::make_balancer("diffusion", {.rounds = 0}), starling::option_error);
  EXPECT_THROW((void)balance::make_balancer("hierarchical", {.inner = "hierarchical"}),
               starling::option_error);
  EXPECT_THROW((void)balance::make_balancer("hierarchical", {.inner = "x"}),
               starling::option_error);
}

TEST(balancer_interface, an_own_balancer_is_made_by_its_name) {
  balance::register_balancer("to_the_last", [](const balance::balancer_options&) {
    return std::make_unique<own_balancer>([](auto& worker_of) { worker_of[0] = 3; });
  });
  const snapshot s = uneven_grid(8, 4, 1);
  const balance::plan p = balance::make_balancer("to_the_last", {})->balance(s);
  ASSERT_EQ(p.migrations.size(), 1u);
  EXPECT_EQ(p.migrations[0].to, 3u);
  EXPECT_EQ(p.migrations[0].why, balance::reason::host_load);
  EXPECT_EQ(balance::balancer_names().back(), "to_the_last");
  EXPECT_THROW(balance::register_balancer("to_the_last", {}), starling::usage_error);
}

TEST(balancer_interface, an_own_balancer_that_breaks_a_rule_is_named) {
  snapshot s = uneven_grid(8, 4, 1);
  s.elements[1].is_anchored = true;
  const auto text_of = [&](own_balancer::change how) {
    const own_balancer own(std::move(how));
    return message_of<starling::usage_error>([&] { (void)own.balance(s); });
  };
  EXPECT_EQ(text_of([](auto& worker_of) { worker_of[1] = 2; }),
            "balancer 'own' assigned element 1 to another worker, but it is anchored");
  s.elements[3].is_bound_to_rank = true;
  EXPECT_EQ(text_of([](auto& worker_of) { worker_of[3] = 2; }),
            "balancer 'own' assigned element 3 to another worker, but it is anchored");
  EXPECT_EQ(text_of([](auto& worker_of) { worker_of[2] = 4; }),
            "balancer 'own' assigned element 2 to worker 4, which does not exist");
  EXPECT_EQ(text_of([](auto& worker_of) { worker_of.pop_back(); }),
            "balancer 'own' returned an assignment of another number of elements");
  starling_test::add_devices(s, 1, 1);
  s.workers.push_back({4});
  EXPECT_EQ(text_of([](auto& worker_of) { worker_of[2] = 4; }),
            "balancer 'own' assigned element 2, which needs a device, to a worker without one");
  for (auto& d : s.devices) d.memory_bytes = 0;
  const std::string text = text_of([](auto& worker_of) { worker_of[2] = 3; });
  EXPECT_NE(text.find("bytes to device 3, which has 0"), std::string::npos) << text;
}

TEST(balancer_interface, an_assignment_that_is_worse_is_not_used) {
  snapshot s = uneven_grid(8, 4, 1);
  const own_balancer own([](auto& worker_of) { std::ranges::fill(worker_of, 0u); });
  const balance::plan p = own.balance(s);
  EXPECT_EQ(p.decision, balance::verdict::nothing_better);
  EXPECT_TRUE(p.migrations.empty());
}

TEST(balancer_interface, wrong_snapshots_are_refused_with_the_place) {
  const auto text_of = [](const std::function<void(snapshot&)>& spoil) {
    snapshot s = uneven_grid(4, 2, 1);
    spoil(s);
    return message_of<starling::usage_error>(
        [&] { (void)balance::make_balancer("none")->balance(s); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(text_of([](auto&) {}), "no error");
  EXPECT_EQ(text_of([](auto& s) { s.elements[3].worker = 2; }),
            "wrong loads: element 3 is on worker 2, but there are 2 workers");
  EXPECT_EQ(text_of([](auto& s) { s.elements[3].host_seconds = -1; }),
            "wrong loads: element 3 has a load that is negative or not a number");
  EXPECT_EQ(text_of([](auto& s) { s.elements[3].device_seconds = nan; }),
            "wrong loads: element 3 has a load that is negative or not a number");
  EXPECT_EQ(text_of([](auto& s) { s.elements[3].position[1] = nan; }),
            "wrong loads: element 3 has a coordinate that is not a finite number");
  EXPECT_EQ(
      text_of([](auto& s) { s.elements[3].device_bytes = 1; }),
      "wrong loads: element 3 has device load or device memory, but its worker has no device");
  EXPECT_EQ(text_of([](auto& s) { s.elements[3].state_bytes = ~std::uint64_t(0); }),
            "wrong loads: the elements have more than 2^63 bytes");
  EXPECT_EQ(text_of([](auto& s) { s.elements[3].id = 7; }),
            "wrong loads: two elements have the id 7");
  EXPECT_EQ(text_of([](auto& s) { s.workers[1].device = 0; }),
            "wrong loads: worker 1 names device 0, but there are 0 devices");
  EXPECT_EQ(text_of([](auto& s) { s.workers[1].speed = 0; }),
            "wrong loads: worker 1 has a speed that is not above 0");
  EXPECT_EQ(text_of([](auto& s) { s.workers[1].rank = 1u << 24; }),
            "wrong loads: worker 1 has a rank that is not below 2^24");
  EXPECT_EQ(text_of([](auto& s) {
              s.devices = {{1, -1}};
            }),
            "wrong loads: device 0 has a speed that is not above 0");
  EXPECT_EQ(text_of([](auto& s) { s.workers.clear(); }),
            "wrong loads: there are elements, but no workers");
  EXPECT_EQ(text_of([](auto& s) { s.edges[2].to = 16; }),
            "wrong loads: edge 2 names an element beyond the last one");
  EXPECT_EQ(text_of([](auto& s) { s.edges[2].bytes = -1; }),
            "wrong loads: edge 2 has an amount that is negative or not a number");
  EXPECT_EQ(text_of([](auto& s) { s.costs.latency_seconds = nan; }),
            "wrong loads: a cost is negative or not a number");
  EXPECT_EQ(text_of([](auto& s) { s.steps = -1; }), "wrong loads: the number of steps is negative");
}

TEST(balancer_interface, an_estimate_has_the_largest_of_all_loads) {
  snapshot s;
  s.workers = {{0, 0, 2}, {0, 0}, {1, 1}};
  s.devices = {{100, 1}, {50, 4}};
  s.costs = {0, 0, 1000, 0.5};
  s.elements.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) s.elements[i].id = s.elements[i].worker = i;
  s.elements[0].host_seconds = 8;    // 4 s on the fast worker
  s.elements[0].device_seconds = 3;  // shares the device with element 1
  s.elements[1].device_seconds = 2;
  s.elements[2].device_seconds = 12;  // 3 s on the fast device
  s.elements[2].device_bytes = 60;
  s.edges = {{0, 1, 1e9, 1e9}, {1, 2, 2000, 3}, {2, 0, 500, 1}};  // the first stays on a rank
  const balance::estimate e = balance::estimate_step(s, balance::current_workers(s));
  EXPECT_DOUBLE_EQ(e.host_seconds, 4);
  EXPECT_DOUBLE_EQ(e.device_seconds, 5);
  EXPECT_DOUBLE_EQ(e.network_seconds, 2.5 + 4 * 0.5);
  EXPECT_DOUBLE_EQ(e.step_seconds, 5);
  EXPECT_DOUBLE_EQ(e.ideal_seconds, 4);  // element 0; the mean device load is 17 s / 5
  EXPECT_DOUBLE_EQ(e.bytes_between_ranks, 2500);
  EXPECT_EQ(e.overfull_bytes, 10u);
}

TEST(balancer_interface, bytes_of_a_migration_depend_on_ranks_and_devices) {
  snapshot s;
  s.workers = {{0, 0}, {0, 0}, {0, 1}, {1, 1}};
  s.devices.resize(2);
  s.elements.resize(1);
  s.elements[0].state_bytes = 10;
  s.elements[0].device_bytes = 100;
  EXPECT_EQ(balance::bytes_sent(s, 0, 1), 0u);
  EXPECT_EQ(balance::bytes_sent(s, 0, 2), 100u);
  EXPECT_EQ(balance::bytes_sent(s, 0, 3), 110u);
}

TEST(balancer_interface, decisions_are_described_with_figures) {
  snapshot s = uneven_grid(8, 4, 1);
  const balance::plan p = balance::make_balancer("refine")->balance(s);
  const std::string text = balance::describe(s, p);
  EXPECT_NE(text.find(std::to_string(p.migrations.size()) + " migrations"), std::string::npos);
  const std::string one = balance::describe(s, p.migrations[0]);
  EXPECT_NE(one.find("from worker 0 (rank 0)"), std::string::npos) << one;
  EXPECT_NE(one.find("because of host load"), std::string::npos) << one;
}

}  // namespace
