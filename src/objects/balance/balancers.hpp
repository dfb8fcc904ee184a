// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <starling/objects/balance/balancer.hpp>

namespace starling::balance {

/// Returns whether a load, a cost or a number of bytes is finite and not negative.
[[nodiscard]] bool is_amount(double value) noexcept;

/// Returns the decision on `p`, which has `migrations` migrations. `steps`: until the next
/// balancing.
[[nodiscard]] verdict judge(const plan& p, std::size_t migrations, double steps,
                            double minimum_gain);

[[nodiscard]] std::unique_ptr<balancer> make_none(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_greedy(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_refine(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_curve(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_bisection(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_communication(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_diffusion(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_hierarchical(const balancer_options& chosen);

}  // namespace starling::balance
