// SparseColumn compared with std::vector, also after copies; and reports as rows.
#include "tables/sparse_column.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "tables/alloc_table.h"

namespace berth::tables {
namespace {

TEST(SparseColumn, RowsWithoutAnEntryAreDefault) {
  SparseColumn<int> column;
  EXPECT_EQ(column[0], 0);
  EXPECT_EQ(column[1'000'000], 0);
  column.set(7, 7);
  EXPECT_EQ(column[6], 0);
  EXPECT_EQ(column[7], 7);
  EXPECT_EQ(column[8], 0);
}

TEST(SparseColumn, RemovingTheLastEntryOfAChunkFreesItsMemory) {
  SparseColumn<std::shared_ptr<int>> column;
  column.set(70, std::make_shared<int>(1)), column.set(71, std::make_shared<int>(2));
  const std::size_t two = column.bytes();
  column.set(70, nullptr);
  EXPECT_EQ(column.bytes(), two) << "row 71 has an entry still";
  column.set(71, nullptr);
  EXPECT_LT(column.bytes(), two);
  column.set(71, nullptr);  // nothing to remove
  EXPECT_EQ(column[71], nullptr);
}

TEST(SparseColumn, CopiesKeepTheirRows) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::pair<SparseColumn<int>, std::vector<int>>> versions(1);
    versions.back().second.resize(300);
    for (int step = 0; step < 400; ++step) {
      if (random() % 8 == 0) versions.push_back(versions[random() % versions.size()]);
      auto& [column, model] = versions[random() % versions.size()];
      const std::size_t row = random() % model.size();
      const int value = random() % 2 == 0 ? 0 : static_cast<int>(random() % 100);
      if (random() % 4 == 0)
        column.edit(row) = value;
      else
        column.set(row, value);
      model[row] = value;
    }
    for (const auto& [column, model] : versions)
      for (std::size_t row = 0; row < model.size(); ++row) ASSERT_EQ(column[row], model[row]) << row;
  }
}

bool same(const Reported& a, const Reported& b) {
  const auto all = [](const Reported& r) {
    return std::tuple(r.started_at, r.finished_at, r.last_restart, r.event_at, r.health_at, r.health_index,
                      r.alloc_modify_index, r.task, r.restarts, r.state, r.failed, r.description, r.event);
  };
  return all(a) == all(b);
}

TEST(ReportRows, RoundTripReports) {
  std::mt19937 random(1);
  AllocTable allocs;
  for (int i = 0; i < 200; ++i) allocs.id.push_back({});
  const auto time = [&] { return random() % 3 == 0 ? kNoTime : static_cast<std::int64_t>(random() % 4); };
  std::vector<std::optional<Reported>> model(allocs.size());
  for (int step = 0; step < 5000; ++step) {
    const AllocRow row(random() % 200);
    if (random() % 4 == 0) {
      allocs.clear_report(row);
      model[row].reset();
      continue;
    }
    Reported said;
    said.started_at = time(), said.finished_at = time(), said.last_restart = time(), said.event_at = time();
    said.health_at = static_cast<std::int64_t>(random() % 2), said.health_index = random() % 2;
    said.alloc_modify_index = random(), said.task = random() % 3, said.restarts = static_cast<std::uint16_t>(random());
    said.state = static_cast<TaskState>(random() % 3), said.failed = random() % 2 == 0;
    said.description = static_cast<ClientDescription>(random() % 8);
    said.event = static_cast<TaskEvent>(random() % 14);
    allocs.set_report(row, said);
    model[row] = said;
  }
  for (AllocRow row = 0; row < model.size(); ++row) {
    ASSERT_EQ(allocs.has_report(row), model[row].has_value()) << row;
    if (model[row]) {
      ASSERT_TRUE(same(*allocs.report_of(row), *model[row])) << row;
    }
  }
}

}  // namespace
}  // namespace berth::tables
