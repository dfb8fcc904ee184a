// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Umbrella header of the objects module: message-driven chare arrays.
#include <starling/objects/archive.hpp>
#include <starling/objects/bound.hpp>
#include <starling/objects/channel.hpp>
#include <starling/objects/chare.hpp>
#include <starling/objects/checkpoint.hpp>
#include <starling/objects/codec.hpp>
#include <starling/objects/create.hpp>
#include <starling/objects/device_state.hpp>
#include <starling/objects/entry.hpp>
#include <starling/objects/error.hpp>
#include <starling/objects/exit.hpp>
#include <starling/objects/index.hpp>
#include <starling/objects/load.hpp>
#include <starling/objects/offer.hpp>
#include <starling/objects/on_demand.hpp>
#include <starling/objects/proxy.hpp>
#include <starling/objects/quiescence.hpp>
#include <starling/objects/ranks.hpp>
#include <starling/objects/read_only.hpp>
#include <starling/objects/section.hpp>
#include <starling/objects/shared_buffer.hpp>
