// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Load balancers as pure functions of measured loads. These headers and their library use no
/// runtime: a test, a tool or a simulation calls them as a program does.
#include <starling/objects/balance/balancer.hpp>
#include <starling/objects/balance/cost_meter.hpp>
#include <starling/objects/balance/diffusion.hpp>
#include <starling/objects/balance/plan.hpp>
#include <starling/objects/balance/schedule.hpp>
#include <starling/objects/balance/snapshot.hpp>
