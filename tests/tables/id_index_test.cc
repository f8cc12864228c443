// IdIndex compared with a map: rows that are added, removed and reused under other IDs.
#include "tables/id_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tables/cow.h"

namespace berth::tables {
namespace {

using Ids = CowVector<base::Uuid, 1024>;
using Index = IdIndex<base::AllocRow, Ids>;

TEST(IdIndex, FindsInsertedIds) {
  Ids ids;
  Index index(ids);
  EXPECT_EQ(index.find({1, 1}), base::kNoRow);
  for (const std::uint64_t rows : {1, 2, 3, 63, 64, 65, 4096, 4097, 10'000}) {
    SCOPED_TRACE(rows);
    while (ids.size() < rows) ids.push_back({ids.size() + 1, 7});
    for (std::uint32_t row = 0; row < rows; ++row) ASSERT_EQ(index.find(ids[row]), row);
    EXPECT_EQ(index.find({rows + 1, 7}), base::kNoRow);
    EXPECT_EQ(index.find({1, 8}), base::kNoRow);
  }
}

TEST(IdIndex, GrowsByAChunkAtATime) {
  Ids ids;
  Index index(ids);
  std::size_t before = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    ids.push_back({i, 7});
    (void)index.find({0, 0});
    ASSERT_LE(index.bytes(), before + 2 * 4096 * sizeof(std::uint32_t)) << "row " << i;
    before = index.bytes();
  }
}

TEST(IdIndex, AgreesWithAMapAfterRandomChanges) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Ids ids;
    Index index(ids);
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> known;
    std::vector<std::uint32_t> free_rows;
    std::vector<base::Uuid> gone;
    for (int step = 0; step < 3000; ++step) {
      switch (random() % 4) {
        case 0:
        case 1: {
          const base::Uuid id{random(), random() % 3};
          if (!free_rows.empty() && random() % 2 == 0) {
            const std::uint32_t row = free_rows.back();
            free_rows.pop_back();
            ids.edit(row) = id;
            index.reused(row);
            known[{id.hi, id.lo}] = row;
          } else {
            known[{id.hi, id.lo}] = static_cast<std::uint32_t>(ids.size());
            ids.push_back(id);
          }
          break;
        }
        case 2: {
          if (known.empty()) break;
          const auto out = std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
          index.forget(out->second);
          free_rows.push_back(out->second);
          gone.push_back({out->first.first, out->first.second});
          known.erase(out);
          break;
        }
        default:
          for (int look = 0; look < 5 && !known.empty(); ++look) {
            const auto one = std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
            ASSERT_EQ(index.find({one->first.first, one->first.second}), one->second) << "step " << step;
          }
          if (!gone.empty()) {
            const base::Uuid id = gone[random() % gone.size()];
            ASSERT_EQ(index.find(id), base::kNoRow) << "step " << step;
          }
      }
    }
    for (const auto& [id, row] : known) ASSERT_EQ(index.find({id.first, id.second}), row);
  }
}

}  // namespace
}  // namespace berth::tables
