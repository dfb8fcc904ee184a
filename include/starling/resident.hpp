// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Message-driven chares that live on a device, with their schedulers.
#include <starling/resident/channel.hpp>
#include <starling/resident/chare.hpp>
#include <starling/resident/context.hpp>
#include <starling/resident/entry.hpp>
#include <starling/resident/error.hpp>
#include <starling/resident/reduction.hpp>
#include <starling/resident/system.hpp>
