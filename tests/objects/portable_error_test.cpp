// SPDX-License-Identifier: Apache-2.0
// Exceptions that are sent to another rank.
#include <starling/objects/detail/portable_error.hpp>

#include <stdexcept>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "core/support.hpp"

namespace starling {
namespace {

using detail::portable_error;
using starling_test::message_of;

template <class E>
std::exception_ptr sent(const E& error) {
  const auto bytes = pack(portable_error::of(std::make_exception_ptr(error)));
  return std::get<0>(unpack<std::tuple<portable_error>>(bytes)).revive(3);
}

template <class E>
std::string arrives_as(const std::exception_ptr& error) {
  return message_of<E>([&] { std::rethrow_exception(error); });
}

TEST(portable_errors, keep_known_types) {
  EXPECT_EQ(arrives_as<std::out_of_range>(sent(std::out_of_range("too far"))), "too far");
  EXPECT_EQ(arrives_as<usage_error>(sent(usage_error("not so"))), "not so");
  EXPECT_EQ(arrives_as<no_such_element>(sent(no_such_element("block[3]"))), "block[3]");
  EXPECT_EQ(arrives_as<broken_promise>(sent(broken_promise())), broken_promise().what());
}

TEST(portable_errors, keep_their_data) {
  try {
    std::rethrow_exception(sent(run_exited(7)));
  } catch (const run_exited& e) {
    EXPECT_EQ(e.status(), 7);
  }
  try {
    std::rethrow_exception(sent(rank_failure("rank 2 has gone", 2)));
  } catch (const rank_failure& e) {
    EXPECT_EQ(e.rank(), 2);
    EXPECT_STREQ(e.what(), "rank 2 has gone");
  }
}

struct own_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(portable_errors, name_the_type_and_rank_of_unknown_errors) {
  const std::string text = arrives_as<remote_error>(sent(own_error("mine")));
  EXPECT_NE(text.find("on rank 3: "), std::string::npos) << text;
  EXPECT_NE(text.find("own_error: mine"), std::string::npos) << text;
  const std::string number = arrives_as<remote_error>(sent(42));
  EXPECT_NE(number.find("no std::exception"), std::string::npos) << number;
}

TEST(portable_errors, of_entry_methods_name_the_rank) {
  const entry_error original("block[3].run: no", std::make_exception_ptr(own_error("no")));
  EXPECT_EQ(arrives_as<entry_error>(sent(original)), "on rank 3: block[3].run: no");
}

}  // namespace
}  // namespace starling
