// SPDX-License-Identifier: Apache-2.0
// A rank of a job that checks the order of broadcasts among all other messages of their senders:
//     test_broadcast COUNT
#include <cstdlib>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "../objects/broadcast_order.hpp"

int main(int argc, char** argv) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = 1;
  options.bind = starling::binding::none;
  starling::runtime rt(options);
  try {
    return starling::run(rt, broadcast_order::play(rt, argc > 1 ? std::atoi(argv[1]) : 1));
  } catch (const starling::backend_unavailable&) {
    return 77;
  }
}
