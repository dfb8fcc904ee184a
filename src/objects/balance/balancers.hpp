// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <starling/objects/balance/balancer.hpp>

namespace starling::balance {

[[nodiscard]] std::unique_ptr<balancer> make_none(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_greedy(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_refine(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_curve(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_bisection(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_communication(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_diffusion(const balancer_options& chosen);
[[nodiscard]] std::unique_ptr<balancer> make_hierarchical(const balancer_options& chosen);

}  // namespace starling::balance
