#include "base/duration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace berth::base {

std::optional<std::int64_t> parse_duration(std::string_view text) {
  constexpr std::pair<std::string_view, long double> kUnits[] = {
      {"ns", 1.0L}, {"us", 1e3L}, {"\xC2\xB5s", 1e3L}, {"\xCE\xBCs", 1e3L},
      {"ms", 1e6L}, {"s", 1e9L},  {"m", 60e9L},        {"h", 3600e9L}};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  long double total = 0;
  while (!text.empty()) {
    const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
    text.remove_prefix(number.size());
    const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
    text.remove_prefix(name.size());
    const auto unit =
        std::find_if(std::begin(kUnits), std::end(kUnits), [&](auto& known) { return known.first == name; });
    if (unit == std::end(kUnits) || number.find_first_of("0123456789") == std::string_view::npos ||
        std::count(number.begin(), number.end(), '.') > 1)
      return std::nullopt;
    long double value = 0, place = 1;
    bool fraction = false;
    for (const char c : number) {
      if (c == '.') {
        fraction = true;
      } else if (fraction) {
        value += (place /= 10) * static_cast<long double>(c - '0');
      } else {
        value = value * 10 + static_cast<long double>(c - '0');
      }
    }
    total += value * unit->second;
  }
  if (total >= 0x1p63L) return std::nullopt;
  const auto ns = static_cast<std::int64_t>(std::floor(total + 1e-6L));
  return negative ? -ns : ns;
}

}  // namespace berth::base
