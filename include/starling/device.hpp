// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Umbrella header of the device module: streams, events, kernels and memory of devices.
#include <starling/device/aggregator.hpp>
#include <starling/device/buffer.hpp>
#include <starling/device/device.hpp>
#include <starling/device/device_partition.hpp>
#include <starling/device/event.hpp>
#include <starling/device/graph.hpp>
#include <starling/device/kernel.hpp>
#include <starling/device/recycling_allocator.hpp>
#include <starling/device/stream.hpp>
#include <starling/device/stream_pool.hpp>
#include <starling/device/types.hpp>
