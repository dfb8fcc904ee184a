// SPDX-License-Identifier: Apache-2.0
// Messages that do not compile: one of the lines below per macro, none without.
#include <starling/objects.hpp>

namespace {

using namespace starling;

struct other {
  void work(int) {}
};

struct mover : chare<mover> {
  void work(int, const std::string&) {}
  void output(int&) {}
  void list(std::vector<int>) {}
  awaited letter(std::string text);
  awaited number(int reference, double value);
  int plain(int) { return 0; }
  task<> wait() {
#ifdef WHEN_PLAIN
    co_await when<&mover::plain>();
#endif
#ifdef WHEN_BY_TEXT
    co_await when<&mover::letter>(3);
#endif
    co_return;
  }
};

[[maybe_unused]] void send(const chare_array<mover>& all, const section<mover>& some) {
  all[0].invoke<&mover::work>(1, "text");
  all.invoke<&mover::number>(1, 2.0);
  some.invoke<&mover::list>(std::vector<int>{1});
#ifdef OTHER_CLASS
  all[0].invoke<&other::work>(1);
#endif
#ifdef WRONG_ARGUMENT
  all[0].invoke<&mover::work>("one", "text");
#endif
#ifdef TOO_FEW
  static_cast<void>(all[0].call<&mover::work>(1));
#endif
#ifdef BROADCAST_TOO_MANY
  all.invoke<&mover::plain>(1, 2);
#endif
#ifdef SECTION_WRONG_ARGUMENT
  some.invoke<&mover::plain>("text");
#endif
#ifdef OUTPUT
  int n = 0;
  all[0].invoke<&mover::output>(n);
#endif
#ifdef EXPLICIT_CONVERSION
  all[0].invoke<&mover::list>(3);
#endif
#ifdef CALL_AWAITED
  static_cast<void>(all[0].call<&mover::number>(1, 2.0));
#endif
}

}  // namespace
