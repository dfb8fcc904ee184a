// SPDX-License-Identifier: Apache-2.0
#include <starling/net/bootstrap.hpp>

#include <cstdlib>

#include <gtest/gtest.h>

#include "core/environment.hpp"
#include "net/bootstrap/implementations.hpp"
#include "net/bootstrap/local/wire.hpp"

namespace {

namespace wire = starling::detail::wire;
using starling::detail::build_differences;

TEST(bootstrap, without_a_launcher_is_rank_0_of_1) {
  const auto ranks = starling::detail::make_alone_bootstrap();
  EXPECT_EQ(ranks->rank(), 0);
  EXPECT_EQ(ranks->size(), 1);
  EXPECT_EQ(ranks->local_rank(), 0);
  EXPECT_EQ(ranks->local_size(), 1);
  EXPECT_STREQ(ranks->name(), "alone");
  ranks->abort(3, "returns");
}

TEST(bootstrap, without_a_launcher_gathers_its_own_value) {
  const auto ranks = starling::detail::make_alone_bootstrap();
  for (const std::size_t size : {0, 1, 1 << 16, 1 << 20}) {
    const std::string mine(size, '\0');
    EXPECT_EQ(ranks->all_gather(mine), std::vector<std::string>{mine});
  }
  EXPECT_THROW((void)ranks->all_gather(std::string((1 << 20) + 1, 'x')), starling::usage_error);
}

TEST(bootstrap, own_build_id_is_one_line_and_stays) {
  const std::string id = starling::detail::own_build_id();
  EXPECT_EQ(id, starling::detail::own_build_id());
  EXPECT_EQ(id.find('\n'), std::string::npos);
  EXPECT_EQ(id.rfind("Starling ", 0), 0U) << id;
  EXPECT_NE(id.find(", program "), std::string::npos) << id;
}

TEST(bootstrap, names_the_ranks_of_another_build) {
  EXPECT_EQ(build_differences({"a"}), "");
  EXPECT_EQ(build_differences({"a", "a", "a"}), "");
  EXPECT_EQ(build_differences({"a", "b", "a", "c", "b"}),
            "  rank 0: a\n  ranks 1, 4: b\n  rank 3: c");
}

TEST(bootstrap, takes_the_timeout_from_the_environment) {
  using starling::detail::bootstrap_timeout;
  const starling_test::variable restored("STARLING_BOOTSTRAP_TIMEOUT", "");
  ::unsetenv("STARLING_BOOTSTRAP_TIMEOUT");
  EXPECT_EQ(bootstrap_timeout(), std::chrono::seconds(60));
  ::setenv("STARLING_BOOTSTRAP_TIMEOUT", "0.5", 1);
  EXPECT_EQ(bootstrap_timeout(), std::chrono::milliseconds(501));
  for (const char* wrong : {"0", "-1", "x", "1s", "1e9", "nan"}) {
    ::setenv("STARLING_BOOTSTRAP_TIMEOUT", wrong, 1);
    EXPECT_THROW((void)bootstrap_timeout(), starling::option_error) << wrong;
  }
}

TEST(wire, returns_the_gathered_values) {
  const std::vector<std::string> all = {"", "a", std::string(1000, '\0')};
  const std::string body = wire::pack_gathered(5, all);
  EXPECT_EQ(wire::unpack_gathered(body, 5, 3), all);
  EXPECT_THROW((void)wire::unpack_gathered(body, 6, 3), wire::bad_message);
  EXPECT_THROW((void)wire::unpack_gathered(body, 5, 2), wire::bad_message);
  EXPECT_THROW((void)wire::unpack_gathered(body, 5, 4), wire::bad_message);
  for (std::size_t length = 0; length < 20; ++length) {
    EXPECT_THROW((void)wire::unpack_gathered(body.substr(0, length), 5, 3), wire::bad_message);
  }
}

TEST(wire, writes_secrets_as_32_digits) {
  wire::secret secret{};
  secret[0] = 0xfe;
  secret[15] = 0x01;
  const std::string text = wire::to_hex(secret);
  EXPECT_EQ(text, "fe000000000000000000000000000001");
  EXPECT_EQ(wire::from_hex(text), secret);
  for (const char* wrong :
       {"", "fe", "fe00000000000000000000000000000g", "fe0000000000000000000000000000011"}) {
    EXPECT_FALSE(wire::from_hex(wrong)) << wrong;
  }
}

}  // namespace
