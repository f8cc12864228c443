#include "hcl/go_duration.h"

#include "base/duration.h"
#include "base/text.h"

namespace berth::hcl {

tl::expected<std::int64_t, std::string> parse_go_duration(std::string_view text) {
  if (const auto value = base::parse_duration(text)) return *value;
  // Find the error: the first number without a unit, or with an unknown one.
  const auto invalid = [&] { return tl::unexpected("time: invalid duration " + base::go_quote(text)); };
  std::string_view rest = text;
  const auto is_number = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest.empty()) return invalid();
  while (!rest.empty()) {
    if (!is_number(rest[0])) return invalid();
    std::size_t digits = 0;
    std::size_t length = 0;
    std::size_t dots = 0;
    while (length < rest.size() && is_number(rest[length]) && (rest[length] != '.' || dots == 0)) {
      (rest[length] == '.' ? dots : digits) += 1;
      ++length;
    }
    if (digits == 0) return invalid();
    rest.remove_prefix(length);
    std::size_t unit_length = 0;
    while (unit_length < rest.size() && !is_number(rest[unit_length])) ++unit_length;
    const std::string_view unit = rest.substr(0, unit_length);
    if (unit.empty()) return tl::unexpected("time: missing unit in duration " + base::go_quote(text));
    if (unit != "ns" && unit != "us" && unit != "\xC2\xB5s" && unit != "\xCE\xBCs" && unit != "ms" && unit != "s" &&
        unit != "m" && unit != "h") {
      return tl::unexpected("time: unknown unit " + base::go_quote(unit) + " in duration " + base::go_quote(text));
    }
    rest.remove_prefix(unit_length);
  }
  return invalid();  // all parts are valid, but the sum is out of range
}

}  // namespace berth::hcl
