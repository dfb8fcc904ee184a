// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Umbrella header of the net module: messages and memory between ranks.

#include <starling/net/bootstrap.hpp>
#include <starling/net/loopback.hpp>
#include <starling/net/message.hpp>
#include <starling/net/transport.hpp>
