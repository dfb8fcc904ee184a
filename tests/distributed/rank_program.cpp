// SPDX-License-Identifier: Apache-2.0
// The program that tests of launchers start: one deed for each way in which a rank can behave.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <starling/core/error.hpp>
#include <starling/net/bootstrap.hpp>

namespace {

using arguments = std::vector<std::string>;

[[noreturn]] void wait_for_the_end() {
  for (;;) ::pause();
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

/// Returns bytes that differ for each rank and round.
std::string gift(int rank, int round, std::size_t size) {
  std::string text(size, '\0');
  unsigned state = static_cast<unsigned>(rank * 7919 + round * 104729 + 1);
  for (char& byte : text) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return text;
}

/// gather SIZE ROUNDS: all ranks gather and check the result
int gather(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  const std::size_t size = std::stoul(given.at(0));
  const int rounds = std::stoi(given.at(1));
  for (int round = 0; round < rounds; ++round) {
    // In every third round each rank contributes a different length.
    const auto size_of = [&](int rank) {
      return round % 3 == 2
                 ? size * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks->size())
                 : size;
    };
    const auto all = ranks->all_gather(gift(ranks->rank(), round, size_of(ranks->rank())));
    if (all.size() != static_cast<std::size_t>(ranks->size())) return 21;
    for (int rank = 0; rank < ranks->size(); ++rank) {
      if (all[static_cast<std::size_t>(rank)] != gift(rank, round, size_of(rank))) return 22;
    }
  }
  say("rank " + std::to_string(ranks->rank()) + " of " + std::to_string(ranks->size()) +
      ", local " + std::to_string(ranks->local_rank()) + " of " +
      std::to_string(ranks->local_size()) + ", " + ranks->name());
  return 0;
}

/// too_much: gathers one byte more than is allowed, then an allowed size
int too_much(const arguments&) {
  const auto ranks = starling::make_bootstrap();
  try {
    (void)ranks->all_gather(std::string((1 << 20) + 1, 'x'));
    return 23;
  } catch (const starling::usage_error& fault) {
    if (std::strstr(fault.what(), "1 MiB") == nullptr) return 24;
  }
  return ranks->all_gather("").size() == static_cast<std::size_t>(ranks->size()) ? 0 : 25;
}

/// twice: a second bootstrap in the same process, during and after the life of the first
int twice(const arguments&) {
  auto first = starling::make_bootstrap();
  const auto second = starling::make_bootstrap();
  if (first->all_gather("a") != second->all_gather("a")) return 26;
  first.reset();
  const auto size = static_cast<std::size_t>(second->size());
  return second->all_gather("b") == std::vector<std::string>(size, "b") ? 0 : 27;
}

/// again: a second bootstrap after the end of the first
int again(const arguments&) {
  for (const char* what : {"a", "b", "c"}) {
    const auto ranks = starling::make_bootstrap();
    const auto size = static_cast<std::size_t>(ranks->size());
    if (ranks->all_gather(what) != std::vector<std::string>(size, what)) return 28;
  }
  return 0;
}

/// exit CODE RANK: that rank exits with CODE, the remaining ranks wait
int exit_with(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  (void)ranks->all_gather("");
  if (ranks->rank() == std::stoi(given.at(1))) return std::stoi(given.at(0));
  wait_for_the_end();
}

/// last_words RANK: that rank exits with code 3; the remaining ranks report it after a while
int last_words(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  (void)ranks->all_gather("");
  if (ranks->rank() == std::stoi(given.at(0))) return 3;
  try {
    (void)ranks->all_gather("");
  } catch (const starling::bootstrap_error&) {
    ::usleep(300'000);  // emulates a slow program; synchronises nothing
    say("last words of rank " + std::to_string(ranks->rank()));
  }
  return 4;
}

/// die SIGNAL RANK: that rank ends by the signal, the remaining ranks wait
int die(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  (void)ranks->all_gather("");
  if (ranks->rank() == std::stoi(given.at(1))) {
    std::signal(std::stoi(given.at(0)), SIG_DFL);
    ::prctl(PR_SET_DUMPABLE, 0);
    (void)std::raise(std::stoi(given.at(0)));
  }
  wait_for_the_end();
}

/// crash RANK: that rank is killed while the remaining ranks gather
int crash(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  if (ranks->rank() == std::stoi(given.at(0))) (void)std::raise(SIGKILL);
  (void)ranks->all_gather("");
  return 0;
}

/// abort CODE RANK WHY: that rank ends the job
int abort_job(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  if (ranks->rank() == std::stoi(given.at(1))) ranks->abort(std::stoi(given.at(0)), given.at(2));
  wait_for_the_end();
}

/// gives_up CODE RANK: the remaining ranks gather without that rank and end the job when that fails
int gives_up(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  if (ranks->rank() == std::stoi(given.at(1))) wait_for_the_end();
  try {
    (void)ranks->all_gather("");
  } catch (const starling::bootstrap_error&) {
    ranks->abort(std::stoi(given.at(0)), "gave up");
  }
  wait_for_the_end();
}

/// abort_and_exit CODE RANK: ends the job with CODE and exits at once with a different code
int abort_and_exit(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  if (ranks->rank() != std::stoi(given.at(1))) wait_for_the_end();
  ranks->abort(std::stoi(given.at(0)), "first");
  std::_Exit(9);
}

/// wait: until a signal; `stubborn` ignores SIGTERM and SIGINT, `forks` has a child that ignores
/// them, `moves` joins the launcher's process group
int wait_for_signal(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  for (const std::string& manner : given) {
    if (manner == "moves") {
      if (::setpgid(0, ::getpgid(::getppid())) != 0) return 29;
      continue;
    }
    if (manner == "forks" && ::fork() > 0) break;
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
  }
  std::signal(SIGUSR1, [](int) { (void)!::write(1, "usr1\n", 5); });
  say("ready");
  wait_for_the_end();
}

/// missing RANK: that rank never connects
int missing(const arguments& given) {
  for (const char* variable : {"STARLING_LAUNCH_RANK", "PMIX_RANK"}) {
    const char* rank = std::getenv(variable);
    if (rank != nullptr && rank == given.at(0)) wait_for_the_end();
  }
  (void)starling::make_bootstrap();
  return 0;
}

/// leaves RANK: that rank exits with 0 while the remaining ranks gather once more
int leaves(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  if (ranks->rank() != std::stoi(given.at(0))) (void)ranks->all_gather("");
  return 0;
}

/// leaves_child: exits with 0, but a process of its group continues
int leaves_child(const arguments&) {
  (void)starling::make_bootstrap();
  if (::fork() > 0) return 0;
  wait_for_the_end();
}

/// leaves_group: exits with 0; a process continues that leaves the group on SIGTERM
int leaves_group(const arguments&) {
  (void)starling::make_bootstrap();
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGTERM);
  sigprocmask(SIG_BLOCK, &told, nullptr);
  if (::fork() > 0) return 0;
  int signal = 0;
  if (sigwait(&told, &signal) != 0) return 29;
  ::setsid();
  for (const int fd : {0, 1, 2}) ::close(fd);
  ::alarm(20);
  wait_for_the_end();
}

/// child_exits: a child of the rank exits through the exit handlers, as a whole program does
int child_exits(const arguments&) {
  const auto ranks = starling::make_bootstrap();
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  int status = -1;
  if (::waitpid(child, &status, 0) != child || status != 0) return 30;
  const auto size = static_cast<std::size_t>(ranks->size());
  return ranks->all_gather("a") == std::vector<std::string>(size, "a") ? 0 : 31;
}

/// lines COUNT: writes lines in pieces to both outputs, the last line without an end
int lines(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  const std::string who = std::to_string(ranks->rank());
  for (int i = 0; i < std::stoi(given.at(0)); ++i) {
    const std::string piece = "<" + who + "." + std::to_string(i);
    (void)!::write(1, piece.data(), piece.size());
    (void)!::write(1, ">\n", 2);
    if (i % 16 == 0) (void)!::write(2, ("(" + who + ")\n").c_str(), who.size() + 3);
  }
  (void)!::write(1, "end", 3);
  return 0;
}

/// shows: prints the processors, signals, variables and input that the launcher passes on
int shows(const arguments& given) {
  const auto ranks = starling::make_bootstrap();
  cpu_set_t usable;
  CPU_ZERO(&usable);
  ::sched_getaffinity(0, sizeof usable, &usable);
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  std::string text = "processors:";
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &usable)) text += " " + std::to_string(i);
  }
  text += ::sigismember(&blocked, SIGINT) != 0 ? "; SIGINT blocked" : "";
  for (const int number : {SIGPIPE, SIGCHLD, SIGHUP}) {
    if (std::signal(number, SIG_DFL) == SIG_IGN) {
      text += std::string("; SIG") + ::sigabbrev_np(number) + " ignored";
    }
  }
  for (const std::string& name : given) {
    const char* value = std::getenv(name.c_str());
    text += "; " + name + "=" + (value != nullptr ? value : "(none)");
  }
  std::string input;
  for (int c = 0; (c = std::getchar()) != EOF;) input += static_cast<char>(c);
  say("rank " + std::to_string(ranks->rank()) + " " + text + "; input '" + input + "'");
  return 0;
}

const std::map<std::string_view, int (*)(const arguments&)> deeds = {
    {"gather", gather},
    {"too_much", too_much},
    {"twice", twice},
    {"again", again},
    {"exit", exit_with},
    {"last_words", last_words},
    {"die", die},
    {"abort", abort_job},
    {"crash", crash},
    {"wait", wait_for_signal},
    {"missing", missing},
    {"leaves", leaves},
    {"leaves_child", leaves_child},
    {"lines", lines},
    {"shows", shows},
    {"abort_and_exit", abort_and_exit},
    {"gives_up", gives_up},
    {"leaves_group", leaves_group},
    {"child_exits", child_exits}};

}  // namespace

/// Read by the sanitizers: leaks and races within PMIx and its libraries are not errors of
/// Starling.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "leak:libpmix\nleak:libevent\nleak:libhwloc\nleak:mca_\n";
}
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "called_from_lib:libpmix.so\ncalled_from_lib:libevent_core\ncalled_from_lib:libevent_"
         "pthreads\n";
}

int main(int argc, char** argv) {
  const arguments all(argv + 1, argv + argc);
  try {
    return deeds.at(all.at(0))(arguments(all.begin() + 1, all.end()));
  } catch (const starling::error& fault) {
    std::fprintf(stderr, "error: %s\n", fault.what());
    return 33;
  }
}
