// SPDX-License-Identifier: Apache-2.0
// Cancellation: a std::stop_token ends waits, and tasks can poll it to end early.
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>

#include <starling/core.hpp>

using namespace starling;
using namespace std::chrono_literals;

// A task that can end early takes the token as an argument and polls it between its steps.
task<long> count_until_stopped(std::stop_token stop) {
  long steps = 0;
  do {
    ++steps;
    co_await yield();
  } while (!stop.stop_requested());
  co_return steps;
}

// A wait that takes the token throws operation_cancelled if the stop is requested before it ends.
task<std::string> serve(channel<int>& requests, std::stop_token stop) {
  int served = 0;
  try {
    while (co_await requests.receive(stop)) ++served;
  } catch (const operation_cancelled&) {
    co_return "stopped after " + std::to_string(served);
  }
  co_return "closed";
}

task<int> with_deadline(future<int> answer, std::chrono::milliseconds limit, int fallback) {
  std::stop_source deadline;
  post([](std::stop_source s, std::chrono::milliseconds length) -> task<> {
    co_await sleep_for(length);
    s.request_stop();
  }(deadline, limit));
  try {
    co_return co_await cancellable(std::move(answer), deadline.get_token());
  } catch (const operation_cancelled&) {
    co_return fallback;  // the awaited work continues, unless it has the token, too
  }
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  std::stop_source stop;
  channel<int> requests;
  auto counter = rt.spawn(count_until_stopped(stop.get_token()));
  auto server = rt.spawn(serve(requests, stop.get_token()));

  promise<int> late;
  const int answer = rt.sync_wait(with_deadline(late.get_future(), 5ms, -1));
  const int quick = rt.sync_wait(with_deadline(make_ready_future(42), 5ms, -1));

  stop.request_stop();
  const long steps = rt.sync_wait(std::move(counter));
  const std::string said = rt.sync_wait(std::move(server));
  std::printf("answer %d, then %d; counted %ld steps; server %s\n", answer, quick, steps,
              said.c_str());
  return answer == -1 && quick == 42 && steps > 0 && said == "stopped after 0" ? 0 : 1;
}
