#include "base/row_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/rows.h"

namespace berth::base {
namespace {

using Map = RowMap<EvalRow, std::string>;

/// The entries in the order of their rows.
std::map<EvalRow, std::string> sorted(const Map& map) { return {map.begin(), map.end()}; }

TEST(RowMap, AgreesWithTheStandardMap) {
  std::uint64_t seed = 1;
  const auto draw = [&](std::uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(seed >> 33) % below;
  };
  Map map;
  std::map<EvalRow, std::string> expected;
  for (int step = 0; step < 20'000; ++step) {
    const EvalRow row{draw(40)};
    const std::string value = std::to_string(step);
    switch (draw(8)) {
      case 0:
      case 1:
        map.insert_or_assign(row, value), expected.insert_or_assign(row, value);
        break;
      case 2:
        map[row] += "x", expected[row] += "x";
        break;
      case 3:
        EXPECT_EQ(map.erase(row), expected.erase(row) == 1);
        break;
      case 4:
        if (const auto at = map.find(row); at != map.end()) {
          EXPECT_EQ(at->second, expected.at(row));
          map.erase(at), expected.erase(row);
        } else {
          EXPECT_FALSE(expected.contains(row));
        }
        break;
      case 5:
        if (expected.contains(row)) {
          EXPECT_EQ(map.at(row), expected.at(row));
        } else {
          EXPECT_FALSE(map.contains(row));
        }
        break;
      case 6: {
        const std::uint32_t every = 2 + draw(5);
        map.erase_if([&](const auto& entry) { return entry.first % every == 0; });
        std::erase_if(expected, [&](const auto& entry) { return entry.first % every == 0; });
        break;
      }
      default:
        if (draw(50) == 0) map.clear(), expected.clear();
    }
    ASSERT_EQ(map.size(), expected.size()) << "step " << step;
    ASSERT_EQ(sorted(map), expected) << "step " << step;
  }
}

TEST(RowMap, IteratingWhileErasingVisitsEveryEntryOnce) {
  Map map;
  for (std::uint32_t row = 0; row < 100; ++row) map.insert_or_assign(EvalRow{row}, std::to_string(row));
  std::map<EvalRow, int> seen;
  for (auto entry = map.begin(); entry != map.end();) {
    ++seen[entry->first];
    entry = entry->first % 3 == 0 ? map.erase(entry) : entry + 1;
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& each) { return each.second == 1; }));
  EXPECT_EQ(map.size(), 66u);
}

}  // namespace
}  // namespace berth::base
