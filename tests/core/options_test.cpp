// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <unistd.h>

#include <starling/core/detail/module_options.hpp>

#include "environment.hpp"
#include "support.hpp"

namespace {

using namespace starling;
using namespace starling_test;

/// Options of two modules above core, registered against the order of the modules' names.
constexpr detail::option_entry boats[] = {
    {"oars", "boats", "NUMBER", "16", "how many oars a boat has"}};
constexpr detail::option_entry animals[] = {
    {"gait", "animals", "NAME", "walk", "how an animal moves"},
    {"hay-bales", "animals", "NUMBER", "1", "how much it gets"}};
detail::module_options of_boats(boats), of_animals(animals);

/// A command line, and its remaining words after parsing.
class command_line {
 public:
  explicit command_line(std::vector<std::string> words) : m_words(std::move(words)) {
    m_words.insert(m_words.begin(), "program");
    for (std::string& w : m_words) m_argv.push_back(w.data());
    m_argv.push_back(nullptr);
    m_argc = int(m_words.size());
  }
  runtime_options parse() { return runtime_options::parse(m_argc, m_argv.data()); }
  [[nodiscard]] std::vector<std::string> rest() const {
    EXPECT_EQ(m_argv[std::size_t(m_argc)], nullptr);
    return {m_argv.begin() + 1, m_argv.begin() + m_argc};
  }

 private:
  std::vector<std::string> m_words;
  std::vector<char*> m_argv;
  int m_argc = 0;
};

std::string refusal_of(std::vector<std::string> words) {
  return message_of<option_error>([&] { command_line(std::move(words)).parse(); });
}

TEST(an_option, has_a_default) {
  // An empty variable counts as not set.
  const variable workers("STARLING_WORKERS", ""), bind("STARLING_BIND", ""),
      hang("STARLING_HANG_DIAGNOSIS", ""), summary("STARLING_SUMMARY", ""),
      trace("STARLING_TRACE", ""), gait("STARLING_GAIT", "");
  const runtime_options o = command_line({}).parse();
  EXPECT_EQ(o.workers, 0u);
  EXPECT_EQ(o.bind, binding::automatic);
  EXPECT_TRUE(o.hang_diagnosis);
  EXPECT_FALSE(o.summary);
  EXPECT_TRUE(o.trace_file.empty());
  EXPECT_EQ(o.get("gait", "walk"), "walk");
}

TEST(an_option, is_read_from_a_flag_with_either_separator) {
  EXPECT_EQ(command_line({"--starling-workers", "3"}).parse().workers, 3u);
  EXPECT_EQ(command_line({"--starling-workers=4"}).parse().workers, 4u);
  EXPECT_EQ(command_line({"--starling-bind=none"}).parse().bind, binding::none);
  EXPECT_EQ(command_line({"--starling-bind", "core"}).parse().bind, binding::core);
  EXPECT_EQ(command_line({"--starling-spin=0"}).parse().spin_us, 0u);
  EXPECT_EQ(command_line({"--starling-chaos=0x10"}).parse().chaos, 16u);
  EXPECT_EQ(command_line({"--starling-trace=a b.json"}).parse().trace_file, "a b.json");
}

TEST(an_option, that_is_a_switch_needs_no_value) {
  command_line line({"--starling-summary", "input.txt"});
  EXPECT_TRUE(line.parse().summary);
  EXPECT_EQ(line.rest(), std::vector<std::string>{"input.txt"});
  EXPECT_FALSE(command_line({"--starling-summary=false"}).parse().summary);
  EXPECT_FALSE(command_line({"--starling-hang-diagnosis=off"}).parse().hang_diagnosis);
  EXPECT_FALSE(command_line({"--starling-no-hang-diagnosis"}).parse().hang_diagnosis);
}

TEST(an_option, is_read_from_a_variable) {
  const variable workers("STARLING_WORKERS", "5");
  const variable summary("STARLING_SUMMARY", "1");
  const variable hang("STARLING_HANG_DIAGNOSIS", "false");
  const runtime_options o = runtime_options::from_environment();
  EXPECT_EQ(o.workers, 5u);
  EXPECT_TRUE(o.summary);
  EXPECT_FALSE(o.hang_diagnosis);
}

TEST(an_option, on_the_command_line_beats_the_variable) {
  const variable workers("STARLING_WORKERS", "5");
  EXPECT_EQ(command_line({"--starling-workers=2"}).parse().workers, 2u);
  EXPECT_EQ(command_line({"--starling-workers=2", "--starling-workers=3"}).parse().workers, 3u);
}

TEST(an_option, in_an_empty_variable_is_not_given) {
  const variable chaos("STARLING_CHAOS", "");
  EXPECT_FALSE(runtime_options::from_environment().chaos.has_value());
}

TEST(an_option, of_another_module_is_carried_along) {
  const variable oars("STARLING_OARS", "8");
  const variable bales("STARLING_HAY_BALES", "");
  const runtime_options o = command_line({"--starling-gait=trot"}).parse();
  EXPECT_EQ(o.get("gait", ""), "trot");
  EXPECT_EQ(o.get("oars", ""), "8");
  EXPECT_EQ(o.get("hay-bales", "none"), "none");
  EXPECT_EQ(command_line({"--starling-hay-bales", "2"}).parse().get("hay-bales", ""), "2");
}

TEST(an_option, with_a_bad_value_is_refused_by_name_value_and_remedy) {
  const std::string said = refusal_of({"--starling-workers=many"});
  EXPECT_NE(said.find("--starling-workers"), said.npos) << said;
  EXPECT_NE(said.find("STARLING_WORKERS"), said.npos) << said;
  EXPECT_NE(said.find("'many'"), said.npos) << said;
  EXPECT_NE(said.find("0 to 4096"), said.npos) << said;
  EXPECT_NE(refusal_of({"--starling-bind=some"}).find("auto, core, none"), said.npos);
  EXPECT_NE(refusal_of({"--starling-workers=5000"}).find("5000"), said.npos);
  EXPECT_NE(refusal_of({"--starling-workers=-1"}).find("-1"), said.npos);
  EXPECT_NE(refusal_of({"--starling-workers=3x"}).find("3x"), said.npos);
  EXPECT_NE(refusal_of({"--starling-chaos=seed"}).find("seed"), said.npos);
  EXPECT_NE(refusal_of({"--starling-summary=maybe"}).find("maybe"), said.npos);
  EXPECT_NE(refusal_of({"--starling-workers"}).find("--starling-workers"), said.npos);
}

TEST(an_option, with_a_bad_value_in_a_variable_names_the_variable) {
  const variable workers("STARLING_WORKERS", "lots");
  const std::string said =
      message_of<option_error>([] { static_cast<void>(runtime_options::from_environment()); });
  EXPECT_NE(said.find("STARLING_WORKERS"), said.npos) << said;
  EXPECT_NE(said.find("lots"), said.npos) << said;
}

TEST(an_option, that_is_unknown_is_refused) {
  const std::string said = refusal_of({"--starling-wrokers=3"});
  EXPECT_NE(said.find("--starling-wrokers"), said.npos) << said;
  EXPECT_NE(said.find("--starling-help"), said.npos) << said;
}

TEST(arguments, of_the_program_reach_it_untouched) {
  command_line line({"-h", "--help", "in put", "--starling-workers", "2", "--x=--starling-y", "-v",
                     "--", "--starling-workers", "9", ""});
  EXPECT_EQ(line.parse().workers, 2u);
  EXPECT_EQ(line.rest(), (std::vector<std::string>{"-h", "--help", "in put", "--x=--starling-y",
                                                   "-v", "--", "--starling-workers", "9", ""}));
}

TEST(arguments, may_be_missing_altogether) {
  int none = 0;
  char* nothing[] = {nullptr};
  static_cast<void>(runtime_options::parse(none, nothing));
  EXPECT_EQ(none, 0);
}

TEST(help, lists_options_with_types_and_defaults_by_module_and_ends_the_program_well) {
  EXPECT_EXIT(
      {
        dup2(2, 1);  // the death test reads stderr
        command_line({"--starling-help"}).parse();
      },
      testing::ExitedWithCode(0),
      // CLI11 writes a default as "=0" or, from 2.2 on, as " [0]".
      "program .*--starling-workers NUMBER( \\[|=)0.*--starling-trace FILE.*animals.*"
      "--starling-gait NAME( \\[|=)walk.*--starling-hay-bales NUMBER( \\[|=)1.*"
      "boats.*--starling-oars NUMBER( \\[|=)16");
}

TEST(a_runtime_from_the_command_line, takes_its_options_from_there) {
  std::vector<std::string> words{"program", "--starling-workers=2", "mine"};
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = 3;
  const runtime rt(argc, argv.data());
  EXPECT_EQ(rt.worker_count(), 2u);
  EXPECT_EQ(argc, 2);
  EXPECT_STREQ(argv[1], "mine");
}

}  // namespace
