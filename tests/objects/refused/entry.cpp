// SPDX-License-Identifier: Apache-2.0
// Messages that do not compile: each macro enables one of the lines below; without one, none.
#include <span>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace {

using namespace starling;

struct other {
  void work(int) {}
};

struct with_pointer {
  std::vector<double> values;
  std::string name;
};
/// For programs of one rank, where arguments of any type can be sent.
struct local : chare<local> {
  static constexpr bool one_rank = true;
  explicit local(const double*) {}
  void pointer(const double*) {}
  const double* give() const { return nullptr; }
};
struct made_of_pointer : chare<made_of_pointer> {
  explicit made_of_pointer(const double*) {}
};

struct mover : chare<mover> {
  void work(int, const std::string&) {}
  void output(int&) {}
  void list(std::vector<int>) {}
  awaited letter(std::string text);
  awaited number(int reference, double value);
  int plain(int) { return 0; }
  void view(std::span<const double>) {}
  void pointer(const double*) {}
  void hidden(const with_pointer&) {}
  const double* give() const { return nullptr; }
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
#ifdef MESSAGE_WITH_VIEW
  all[0].invoke<&mover::view>(std::span<const double>());
#endif
#ifdef MESSAGE_WITH_POINTER
  all.invoke<&mover::pointer>(nullptr);
#endif
#ifdef MESSAGE_WITH_CLASS
  some.invoke<&mover::hidden>(with_pointer{});
#endif
#ifdef RESULT_POINTER
  static_cast<void>(all[0].call<&mover::give>());
#endif
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

[[maybe_unused]] void make(runtime& rt, const double* p) {
  const auto locals = create_array<local>(rt, 3, placement::block, p);
  locals[0].invoke<&local::pointer>(p);
  static_cast<void>(locals[0].call<&local::give>());
#ifdef CONSTRUCTOR_WITH_POINTER
  static_cast<void>(create_array<made_of_pointer>(rt, 3, placement::block, p));
#endif
#ifdef INSERTION_WITH_POINTER
  create_empty_array<made_of_pointer>(rt, 3, placement::block).insert(1, p);
#endif
#ifdef ASYNC_WITH_CAPTURE
  int n = 3;
  static_cast<void>(async(
      rank(1), [n](int x) { return n + x; }, 4));
#endif
}

}  // namespace
