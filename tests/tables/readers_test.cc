// Readers on other threads than the writer's: of the state, of a worker's view, of the log of rows and of symbols.
// These are the tests of the tables that the thread sanitizer runs.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "support/cluster_objects.h"
#include "support/sanitized.h"
#include "tables/check.h"
#include "tables/commit.h"
#include "tables/row_log.h"
#include "tables/symbols.h"
#include "tables/worker_view.h"

namespace berth::tables {
namespace {

base::Uuid uuid(std::uint64_t kind, std::uint64_t number) { return {kind << 32, number * 0x9e3779b97f4a7c15ULL + 1}; }

model::Node gpu_node(std::uint64_t number) {
  model::Node node =
      testing::make_node({.id = base::to_text(uuid(1, number)), .name = "node-" + std::to_string(number), .mhz = 0});
  testing::add_gpus(node, 4);
  return node;
}

TEST(StateStore, ReadersNeverSeeHalfACommit) {
  StateStore store;
  for (std::uint64_t i = 0; i < 600; ++i) store.begin_commit().upsert_node(gpu_node(i));
  const VersionRow version = store.upsert_job(testing::make_job(), true);
  constexpr std::uint64_t kCommits = 300, kPerCommit = 7;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&] {
      std::uint64_t last = 0;
      while (!done.load(std::memory_order_acquire)) {
        const SnapshotRef state = store.snapshot();
        // Every commit inserts seven and ends the seven of the commit before.
        ASSERT_EQ(state->allocs.size() % kPerCommit, 0u);
        ASSERT_EQ(state->allocs.size() / kPerCommit, state->index);
        ASSERT_GE(state->index, last);
        last = state->index;
        std::int64_t cpu = 0;
        for (NodeRow row = 0; row < state->nodes.size(); ++row) cpu += state->nodes.use[row].cpu_mhz;
        ASSERT_EQ(cpu, state->index == 0 ? 0 : static_cast<std::int64_t>(kPerCommit) * 100);
        std::uint64_t live = 0;
        for (AllocRow row = 0; row < state->allocs.size(); ++row) live += !client_terminal(state->allocs.client[row]);
        ASSERT_EQ(live, state->index == 0 ? 0 : kPerCommit);
      }
    });
  std::mt19937 random(1);
  for (std::uint64_t c = 1; c <= kCommits; ++c) {
    Commit commit = store.begin_commit(c);
    const auto first = static_cast<AllocRow>(commit.current().allocs.size());
    for (std::uint64_t i = 0; i < kPerCommit; ++i) {
      if (c > 1) commit.set_client_status(static_cast<AllocRow>(first - kPerCommit + i), Client::complete);
      PlainAlloc alloc;
      alloc.id = uuid(2, first + i);
      alloc.node = NodeRow(random() % 600);
      alloc.job = version;
      commit.insert_plain(alloc);
    }
  }
  done.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  for (const std::string& problem : check_tables(store)) ADD_FAILURE() << problem;
}

TEST(WorkerView, ShowsWholeCommitsDuringWrites) {
  StateStore store;
  constexpr std::uint64_t kNodes = 300, kCommits = 400, kPerCommit = 7;
  for (std::uint64_t i = 0; i < kNodes; ++i) store.begin_commit().upsert_node(gpu_node(i));
  const VersionRow version = store.upsert_job(testing::make_job(), true);
  std::atomic<bool> done{false};
  std::vector<std::thread> workers;
  for (int w = 0; w < 3; ++w)
    workers.emplace_back([&] {
      WorkerView view;
      std::uint64_t last = 0;
      while (!done.load(std::memory_order_acquire)) {
        ASSERT_TRUE(store.bring_up(view));
        const Snapshot& state = view.state();
        ASSERT_EQ(state.allocs.size(), kPerCommit * state.index);
        ASSERT_GE(state.index, last);
        last = state.index;
        std::int64_t cpu = 0;
        for (NodeRow row = 0; row < kNodes; ++row) cpu += state.nodes.use[row].cpu_mhz;
        ASSERT_EQ(cpu, state.index == 0 ? 0 : static_cast<std::int64_t>(kPerCommit) * 100);
        view.release();
      }
    });
  std::mt19937 random(1);
  for (std::uint64_t c = 1; c <= kCommits; ++c) {
    Commit commit = store.begin_commit(c);
    const auto first = static_cast<AllocRow>(commit.current().allocs.size());
    for (std::uint64_t i = 0; i < kPerCommit; ++i) {
      if (c > 1) commit.set_client_status(static_cast<AllocRow>(first - kPerCommit + i), Client::complete);
      PlainAlloc alloc;
      alloc.id = uuid(2, first + i), alloc.node = NodeRow(random() % kNodes), alloc.job = version;
      commit.insert_plain(alloc);
    }
  }
  done.store(true, std::memory_order_release);
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(store.use_chunks_copied(), 0U);
}

TEST(RowLog, ReadersNeverSeeEntriesOfALaterRound) {
  RowLog log(64, 0);
  const std::uint64_t entries = testing::rounds(200'000);
  std::jthread writer([&] {
    for (std::uint64_t i = 0; i < entries; ++i) log.append(base::NodeRow(i));
  });
  std::vector<base::NodeRow> out;
  for (std::uint64_t at = 0; at < entries;) {
    const std::uint64_t end = log.end();
    const std::uint64_t from = std::max(at, end - std::min<std::uint64_t>(end, 48));
    out.clear();
    if (log.read(from, end, out)) {
      ASSERT_EQ(out.size(), end - from);
      for (std::uint64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], from + i);
    }
    at = end;
  }
}

TEST(SymbolTable, ReadersCanResolveEverySymbol) {
  SymbolTable table;
  std::atomic<Symbol> newest{0};
  std::thread reader([&] {
    for (Symbol seen = 0; seen < 5'000;) {
      seen = newest.load(std::memory_order_acquire);  // pairs with the release store below
      if (seen > 0) {
        ASSERT_EQ(table.text(seen), std::to_string(seen));
      }
    }
  });
  for (Symbol i = 1; i <= 5'000; ++i) newest.store(table.intern(std::to_string(i)), std::memory_order_release);
  reader.join();
}

}  // namespace
}  // namespace berth::tables
