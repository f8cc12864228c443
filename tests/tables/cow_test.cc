// CowVector compared with std::vector: every copy keeps its contents while the original changes.
#include "tables/cow.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace berth::tables {
namespace {

template <class V, class Model>
::testing::AssertionResult same(const V& vector, const Model& model) {
  if (vector.size() != model.size())
    return ::testing::AssertionFailure() << "size " << vector.size() << ", not " << model.size();
  for (std::size_t i = 0; i < model.size(); ++i)
    if (!(vector[i] == model[i])) return ::testing::AssertionFailure() << "differs at " << i;
  return ::testing::AssertionSuccess();
}

class CowSizes : public ::testing::TestWithParam<std::size_t> {};

TEST_P(CowSizes, CopiesKeepTheirRows) {
  CowVector<int> vector;
  std::vector<int> model;
  for (std::size_t i = 0; i < GetParam(); ++i)
    vector.push_back(static_cast<int>(i)), model.push_back(static_cast<int>(i));
  EXPECT_TRUE(same(vector, model));
  const CowVector<int> before = vector;
  const std::vector<int> model_before = model;
  vector.push_back(-1), model.push_back(-1);
  for (const std::size_t row : {std::size_t{0}, GetParam() / 2, GetParam()}) vector.edit(row) = -2, model[row] = -2;
  EXPECT_TRUE(same(vector, model));
  EXPECT_TRUE(same(before, model_before));
}

TEST_P(CowSizes, BothSidesOfACopyMayAppend) {
  CowVector<int> left;
  std::vector<int> left_model;
  for (std::size_t i = 0; i < GetParam(); ++i) left.push_back(7), left_model.push_back(7);
  CowVector<int> right = left;
  std::vector<int> right_model = left_model;
  for (int i = 0; i < 300; ++i) {
    left.push_back(i), left_model.push_back(i);
    right.push_back(-i), right_model.push_back(-i);
  }
  EXPECT_TRUE(same(left, left_model));
  EXPECT_TRUE(same(right, right_model));
}

TEST_P(CowSizes, ChunksCoverAllRows) {
  CowVector<int> vector;
  for (std::size_t i = 0; i < GetParam(); ++i) vector.push_back(static_cast<int>(i));
  std::size_t row = 0;
  for (std::size_t chunk = 0; chunk < vector.chunk_count(); ++chunk)
    for (const int value : vector.chunk_at(chunk)) EXPECT_EQ(value, static_cast<int>(row++));
  EXPECT_EQ(row, GetParam());
}

// 256 rows a chunk, 64 chunks a page: one row before, at and after each boundary.
INSTANTIATE_TEST_SUITE_P(Boundaries, CowSizes,
                         ::testing::Values(0, 1, 255, 256, 257, 511, 512, 513, 16'383, 16'384, 16'385, 32'769));

TEST(CowVector, AMovedFromVectorIsEmpty) {
  CowVector<int> a;
  for (int i = 0; i < 10; ++i) a.push_back(i);
  CowVector<int> b = std::move(a);
  EXPECT_EQ(b.size(), 10u);
  EXPECT_EQ(a.size(), 0u);  // NOLINT: what is left is specified
  a.push_back(5);
  b.push_back(10);
  EXPECT_EQ(a[0], 5);
  EXPECT_EQ(b[10], 10);
  EXPECT_EQ(b[0], 0);
}

TEST(CowVector, ObjectsDieWithTheLastHolder) {
  auto counted = std::make_shared<int>(1);
  {
    CowVector<std::shared_ptr<int>> vector;
    for (int i = 0; i < 1000; ++i) vector.push_back(counted);
    const auto copy = vector;
    for (std::size_t i = 0; i < 1000; ++i) vector.edit(i) = nullptr;
    EXPECT_EQ(counted.use_count(), 1001);  // the copy's
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(CowVector, WritesInPlaceWithoutCopies) {
  CowVector<int> vector;
  for (int i = 0; i < 1000; ++i) vector.push_back(i);
  const int* before = &vector[300];
  vector.edit(300) = -1;
  EXPECT_EQ(&vector[300], before);
  {
    const auto copy = vector;
    vector.edit(300) = -2;
    EXPECT_NE(&vector[300], before);
    EXPECT_EQ(copy[300], -1);
    EXPECT_EQ(&vector[600], &copy[600]);  // another chunk is still shared
  }
  const int* own = &vector[300];
  vector.edit(300) = -3;
  EXPECT_EQ(&vector[300], own);
}

TEST(CowVector, AgreesWithAVectorAfterRandomOperations) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    // Two chains of versions: each entry may be copied, appended to, edited or dropped, in any order.
    std::vector<std::pair<CowVector<int, 16>, std::vector<int>>> versions(1);
    for (int step = 0; step < 4000; ++step) {
      const std::size_t at = random() % versions.size();
      switch (random() % 8) {
        case 0:
          if (versions.size() < 24) {
            auto copy = versions[at];
            versions.push_back(std::move(copy));
          }
          break;
        case 1:
          if (versions.size() > 1) {
            std::swap(versions[at], versions.back());
            versions.pop_back();
          }
          break;
        case 2:
          versions[at] = versions[random() % versions.size()];
          break;
        case 3:
        case 4:
          for (std::uint32_t i = random() % 40; i > 0; --i) {
            const int value = static_cast<int>(random());
            versions[at].first.push_back(value);
            versions[at].second.push_back(value);
          }
          break;
        default:
          if (!versions[at].second.empty()) {
            const std::size_t row = random() % versions[at].second.size();
            versions[at].first.edit(row) = versions[at].second[row] = static_cast<int>(random());
          }
      }
      if (step % 100 != 0) continue;
      for (const auto& [vector, model] : versions) ASSERT_TRUE(same(vector, model));
    }
    for (const auto& [vector, model] : versions) ASSERT_TRUE(same(vector, model));
  }
}

}  // namespace
}  // namespace berth::tables
