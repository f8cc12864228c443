#include "tables/held_cores.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace berth::tables {
namespace {

std::vector<std::uint16_t> listed(const HeldCores& held) {
  std::vector<std::uint16_t> out;
  held.each([&](std::uint16_t core) { out.push_back(core); });
  return out;
}

TEST(HeldCores, AreUnknownBeyondTheSize) {
  const struct {
    const char* what;
    std::vector<std::uint16_t> cores;
    bool listed;
  } rows[] = {
      {"none", {}, true},
      {"two cores", {0, 447}, true},
      {"one that is held", {3, 7}, false},
      {"one twice", {5, 5}, false},
      {"an id that is too high", {448}, false},
      {"the highest id", {65'535}, false},
  };
  for (const auto& row : rows) {
    HeldCores held;
    held.add(std::vector<std::uint16_t>{7, 8});
    held.add(row.cores);
    EXPECT_EQ(!held.unlisted, row.listed) << row.what;
    held.remove(row.cores);
    EXPECT_EQ(!held.unlisted, row.listed) << row.what << ": what else is held is not known any more";
    if (row.listed) {
      EXPECT_EQ(listed(held), (std::vector<std::uint16_t>{7, 8})) << row.what;
    }
  }
}

TEST(HeldCores, AgreesWithASet) {
  std::mt19937 random(11);
  HeldCores held;
  std::set<std::uint16_t> taken;
  std::vector<std::vector<std::uint16_t>> allocs;
  for (int step = 0; step < 5'000; ++step) {
    ASSERT_EQ(listed(held), std::vector<std::uint16_t>(taken.begin(), taken.end()));
    for (int i = 0; i < 5; ++i) {
      const auto core = static_cast<std::uint16_t>(random() % 500);
      ASSERT_EQ(held.holds(core), taken.count(core) > 0);
    }
    if (!allocs.empty() && (random() % 2 == 0 || taken.size() > 200)) {
      std::swap(allocs[random() % allocs.size()], allocs.back());
      held.remove(allocs.back());
      for (const std::uint16_t core : allocs.back()) taken.erase(core);
      allocs.pop_back();
      continue;
    }
    std::set<std::uint16_t> cores;
    for (std::size_t i = 1 + random() % 4; i > 0; --i)
      if (const auto core = static_cast<std::uint16_t>(random() % 448); taken.count(core) == 0) cores.insert(core);
    allocs.emplace_back(cores.begin(), cores.end());
    held.add(allocs.back());
    taken.insert(cores.begin(), cores.end());
    ASSERT_FALSE(held.unlisted);
  }
}

}  // namespace
}  // namespace berth::tables
