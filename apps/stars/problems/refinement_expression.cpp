// SPDX-License-Identifier: Apache-2.0
#include "problems/refinement_expression.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace stars {
namespace {

using product = std::vector<refinement_rule>;
using sum_of_products = std::vector<product>;

constexpr std::string_view measures[] = {"value", "difference", "relative_difference"};

std::string fields() {
  std::string all;
  for (const char* name : field_names) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

class parser {
 public:
  explicit parser(std::string_view text) : m_text(text) { next(); }

  std::vector<refinement_rule> parse() {
    sum_of_products all = expression();
    if (!m_word.empty()) expected("'and', 'or' or the end");
    std::vector<refinement_rule> rules;
    for (const product& p : all)
      for (std::size_t k = 0; k < p.size(); ++k) {
        rules.push_back(p[k]);
        rules.back().joined = k > 0;
      }
    return rules;
  }

 private:
  sum_of_products expression() {
    sum_of_products all = term();
    while (accept("or"))
      for (product& p : term()) all.push_back(std::move(p));
    limit(all);
    return all;
  }
  sum_of_products term() {
    sum_of_products all = factor();
    while (accept("and")) {
      const sum_of_products others = factor();
      sum_of_products both;
      for (const product& a : all)
        for (const product& b : others) {
          both.push_back(a);
          both.back().insert(both.back().end(), b.begin(), b.end());
        }
      all = std::move(both);
      limit(all);
    }
    return all;
  }
  sum_of_products factor() {
    if (accept("(")) {
      if (++m_depth > most_parentheses) fail("too many parentheses inside each other");
      sum_of_products inner = expression();
      --m_depth;
      require(")", "'and', 'or' or ')'");
      return inner;
    }
    return {{test()}};
  }
  refinement_rule test() {
    refinement_rule rule{};
    const auto measure = std::find(std::begin(measures), std::end(measures), m_word);
    if (measure == std::end(measures)) expected("value, difference, relative_difference or '('");
    rule.measure = refinement_measure(measure - std::begin(measures));
    next();
    require("(", "'(' and a field");
    const auto name = std::find(field_names.begin(), field_names.end(), m_word);
    if (name == field_names.end()) expected("a field: " + fields());
    rule.field = int(name - field_names.begin());
    next();
    require(")", "')'");
    rule.below = m_word == "<";
    if (!rule.below && m_word != ">") expected("'>' or '<'");
    next();
    rule.threshold = number();
    return rule;
  }
  double number() {
    double value = 0.0;
    const char* end = m_word.data() + m_word.size();
    const auto [at, error] = std::from_chars(m_word.data(), end, value);
    if (m_word.empty() || error != std::errc{} || at != end || !std::isfinite(value))
      expected("a number");
    next();
    return value;
  }

  /// Reads the next word: a parenthesis, a comparison, or a run of other characters.
  void next() {
    constexpr std::string_view blanks = " \t\n\r", marks = "()<>";
    m_begin = std::min(m_text.find_first_not_of(blanks, m_begin + m_word.size()), m_text.size());
    if (m_begin == m_text.size()) {
      m_word = {};
      return;
    }
    std::size_t end = m_begin + 1;
    if (marks.find(m_text[m_begin]) == marks.npos)
      end = std::min(m_text.find_first_of(" \t\n\r()<>", end), m_text.size());
    m_word = m_text.substr(m_begin, end - m_begin);
  }
  bool accept(std::string_view word) {
    if (m_word != word) return false;
    next();
    return true;
  }
  void require(std::string_view word, const char* what) {
    if (!accept(word)) expected(what);
  }
  [[noreturn]] void expected(const std::string& what) const {
    fail((m_word.empty() ? "the end" : "'" + std::string(m_word) + "'") + ", expected " + what);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("refine: at position " + std::to_string(m_begin + 1) + ": " + what);
  }
  void limit(const sum_of_products& all) const {
    std::size_t count = 0;
    for (const product& p : all) count += p.size();
    if (count > most_refinement_rules)
      fail("more than " + std::to_string(most_refinement_rules) +
           " tests without parentheses; simplify the expression");
  }

  static constexpr int most_parentheses = 100;
  std::string_view m_text, m_word;
  std::size_t m_begin = 0;  ///< of the word
  int m_depth = 0;
};

}  // namespace

std::vector<refinement_rule> parse_refinement(std::string_view text) {
  return parser(text).parse();
}

}  // namespace stars
