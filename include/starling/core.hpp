// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/channel.hpp>
#include <starling/core/error.hpp>
#include <starling/core/executor.hpp>
#include <starling/core/future.hpp>
#include <starling/core/options.hpp>
#include <starling/core/poller.hpp>
#include <starling/core/runtime.hpp>
#include <starling/core/shared_future.hpp>
#include <starling/core/task.hpp>
#include <starling/core/timer.hpp>
#include <starling/core/trace.hpp>
#include <starling/core/when_all.hpp>
#include <starling/core/yield.hpp>
