// SPDX-License-Identifier: Apache-2.0
// A rank of a job that ends in the way that DEED names, and whose `main` catches no error:
//     test_end DEED
// error: an entry method of rank 1 throws. busy: the same, while the only worker of the last rank
// computes for ever. left: a message remains unprocessed on rank 1.
#include <cstdio>
#include <stdexcept>
#include <string>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace {

using starling::task;

struct node : starling::chare<node> {
  void fail() { throw std::runtime_error("the density is negative"); }
  void compute(starling::callback<bool> begun) {
    begun.deliver(true);
    for (volatile bool for_ever = true; for_ever;) {
    }
  }
  starling::awaited letter(int number);
  task<> read(int number) { co_await when<&node::letter>(number); }
};

task<int> start(starling::runtime& rt, std::string deed) {
  const auto all = starling::create_rank_group<node>(rt);
  if (deed == "left") {
    all[1].invoke<&node::letter>(2);
    all[1].invoke<&node::letter>(1);
    co_await all[1].call<&node::read>(1);
    co_return 0;
  }
  std::printf("begun\n");  // remains in the buffer of stdout
  if (deed == "busy") {
    auto [begun, told] = starling::make_reply<bool>();
    all[starling::rank_count() - 1].invoke<&node::compute>(begun);
    co_await std::move(told);
  }
  all[1].invoke<&node::fail>();
  starling::promise<> never;
  co_await never.get_future();
  co_return 0;
}

}  // namespace

int main(int, char** argv) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = 1;
  options.bind = starling::binding::none;
  starling::runtime rt(options);
  return starling::run(rt, start(rt, argv[1]));
}
