// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Umbrella header of the resident module: message-driven chares on a device, their schedulers.
#include <starling/resident/channel.hpp>
#include <starling/resident/chare.hpp>
#include <starling/resident/context.hpp>
#include <starling/resident/end_report.hpp>
#include <starling/resident/entry.hpp>
#include <starling/resident/error.hpp>
#include <starling/resident/options.hpp>
#include <starling/resident/reduction.hpp>
#include <starling/resident/system.hpp>
