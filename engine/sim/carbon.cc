#include "sim/carbon.h"

#include "sim/csv_rows.h"

namespace berth::sim {

Result<std::vector<double>> parse_carbon(std::string_view text, const std::string& path) {
  CsvRows rows(text, path, "write the columns hour and grams_per_kwh and one row per hour, 0 to 23");
  const std::size_t hour = rows.column("hour"), grams = rows.column("grams_per_kwh");
  std::vector<double> out;
  while (rows.next()) {
    if (rows.integer(hour, 0, kHoursOfDay - 1) != static_cast<std::int64_t>(out.size()))
      rows.fail("hour", "is out of order", "write the hours 0 to 23, one row each");
    out.push_back(rows.number(grams, 0, 1e6));
  }
  if (!rows.error() && out.size() != kHoursOfDay)
    rows.fail("", fmt::format("has {} hours", out.size()), "write the hours 0 to 23, one row each");
  if (rows.error()) return tl::unexpected(*rows.error());
  return out;
}

}  // namespace berth::sim
