// SPDX-License-Identifier: Apache-2.0
// Errors of elements that have migrated.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::message_of;
using starling_test::options_with;

struct faulty : chare<faulty> {
  void go(int to) { migrate_to(std::size_t(to)); }
  void fail() { throw std::runtime_error("on purpose"); }
};

TEST(errors_of_migrated_elements, name_the_element_and_the_position_of_its_type) {
  runtime rt(options_with(2));
  const auto one = create_array<faulty>(rt, 1, placement::block);  // none on worker 1
  const std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](chare_array<faulty> a) -> task<> {
      a[0].invoke<&faulty::go>(1);
      co_await quiescence();
      a[0].invoke<&faulty::fail>();
      co_await quiescence();
    }(one));
  });
  EXPECT_NE(text.find("faulty[0].fail: on purpose"), std::string::npos) << text;
  EXPECT_NE(text.find("is defined at"), std::string::npos) << text;
  EXPECT_NE(text.find("migration_error_test.cpp:"), std::string::npos) << text;
}

}  // namespace
}  // namespace starling
