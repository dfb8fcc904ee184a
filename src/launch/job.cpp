// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "launcher.hpp"

namespace starling::launch {
namespace {

std::string ranks_text(int ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

void say(const std::string& line) { fmt::print(stderr, "starling launch: {}\n", line); }

}  // namespace

int run_job(const options& chosen) {
  job_state job;
  job.before = take_over();
  control requests(::getpid());
  if (chosen.may_restart && !requests.fault().empty())
    say("starling resize will not find this job: " + requests.fault());
  options now = chosen;
  for (int losses = 0;; ++job.starts) {
    launcher one(now, job, requests);
    const int code = one.run();
    const int before = now.ranks;
    switch (one.how_it_ended()) {
      case outcome::ended:
        return code;
      case outcome::resized:
        now.ranks = one.next_ranks();
        job.resized = fmt::format("the job continues on {} from checkpoint {}",
                                  ranks_text(now.ranks), one.checkpoint());
        say(fmt::format("starting the job again on {} from checkpoint {}", ranks_text(now.ranks),
                        one.checkpoint()));
        break;
      case outcome::lost:
        if (losses == chosen.restarts) return code;
        ++losses;
        now.ranks = one.next_ranks();
        job.resized = fmt::format(
            "the job continues on {} from its latest checkpoint, as it has "
            "lost a rank meanwhile",
            ranks_text(now.ranks));
        say(fmt::format("starting the ranks again from their latest checkpoint (restart {} of {})",
                        losses, chosen.restarts));
        if (now.ranks != before) say("the job continues on " + ranks_text(now.ranks));
        break;
    }
  }
}

}  // namespace starling::launch
