#include "study/factors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace berth::study {
namespace {

constexpr std::int64_t kValuesMax = 10'000;

/// Splits at commas outside of brackets and quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.emplace_back();
      continue;
    }
    out.back() += c;
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> range_of(const std::string& text, const std::string& command) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dots = std::min(text.find("..", at), text.size());
    const auto number = base::parse_int64(base::trim_space(std::string_view(text).substr(at, dots - at)));
    if (!number) return std::vector<std::string>{};
    numbers.push_back(*number);
    at = dots == text.size() ? text.size() + 1 : dots + 2;
  }
  if (numbers.size() < 2) return std::vector<std::string>{};
  const std::int64_t step = numbers.size() > 2 ? numbers[2] : 1;
  if (numbers.size() > 3 || step < 1 || numbers[1] < numbers[0] ||
      static_cast<double>(numbers[1]) - static_cast<double>(numbers[0]) > static_cast<double>(step) * kValuesMax)
    return tl::unexpected(InputError{command, "", fmt::format("the range '{}' has no values", text.substr(0, 60)),
                                     fmt::format("write FROM..TO or FROM..TO..STEP, at most {} values", kValuesMax)});
  std::vector<std::string> out;
  for (std::int64_t value = numbers[0]; value <= numbers[1]; value += step) {
    out.push_back(std::to_string(value));
    if (value > INT64_MAX - step) break;
  }
  return out;
}

Result<Factor> parse_factor(const std::string& text, const std::string& command) {
  const std::size_t equals = text.find('=');
  const auto bad = [&](std::string problem) {
    return tl::unexpected(
        InputError{command, "", std::move(problem), "write e.g. workers=1,2,4 or cluster.nodes=100..500..100"});
  };
  if (equals == std::string::npos || equals == 0)
    return bad(fmt::format("'{}' is not KEY=VALUE,...", base::shown(text.substr(0, 60))));
  Factor out{std::string(base::trim_space(std::string_view(text).substr(0, equals))), {}};
  for (const std::string& word : split_values(std::string_view(text).substr(equals + 1))) {
    auto range = range_of(word, command);
    if (!range) return tl::unexpected(range.error());
    if (range->empty()) range->push_back(sim::normal_value(word));
    for (std::string& value : *range) {
      if (value.empty()) return bad(fmt::format("'{}' has an empty value", base::shown(text.substr(0, 60))));
      if (std::find(out.values.begin(), out.values.end(), value) != out.values.end())
        return bad(fmt::format("'{}' has the value {} twice", out.key, base::shown(value.substr(0, 40))));
      out.values.push_back(std::move(value));
    }
  }
  return out;
}

std::vector<std::vector<sim::Change>> crossed(const std::vector<Factor>& factors) {
  std::vector<std::vector<sim::Change>> out(1);
  for (const Factor& factor : factors) {
    std::vector<std::vector<sim::Change>> longer;
    for (const auto& before : out)
      for (const std::string& value : factor.values) {
        longer.push_back(before);
        longer.back().push_back({factor.key, value});
      }
    out = std::move(longer);
  }
  return out;
}

}  // namespace berth::study
