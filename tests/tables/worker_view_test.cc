// Views of workers equal the state after every step of random commits, however many steps they are behind. No commit
// copies a chunk because of a view.
#include "tables/worker_view.h"

#include <gtest/gtest.h>

#include <random>

#include "support/cluster_objects.h"
#include "tables/check.h"
#include "tables/commit.h"

namespace berth::tables {
namespace {

base::Uuid view_uuid(std::uint64_t kind, std::uint64_t number) {
  return {kind << 32, number * 0x9e3779b97f4a7c15ULL + 1};
}

/// Has different devices each time it registers.
model::Node gpu_node(std::uint64_t number, std::uint32_t devices = 4) {
  model::Node node = testing::make_node(
      {.id = base::to_text(view_uuid(1, number)), .name = "node-" + std::to_string(number), .mhz = 0});
  testing::add_gpus(node, devices);
  return node;
}

std::shared_ptr<model::Job> job_of_priority(std::uint32_t number) {
  return testing::make_job({.id = "job-" + std::to_string(number),
                            .type = "batch",
                            .priority = 10 + 10 * (number % 5),
                            .datacenter = "*",
                            .groups = {{.mhz = 100 + number}}});
}

/// An allocation that holds a port, a core, a device, or none of these.
model::Allocation any_holder(std::uint64_t number, const std::string& node_id, const std::shared_ptr<model::Job>& job) {
  model::Allocation alloc = testing::make_alloc({.id = base::to_text(view_uuid(2, number)),
                                                 .job = job,
                                                 .node_id = node_id,
                                                 .client = number % 7 == 0 ? "complete" : "running"});
  auto& task = alloc.allocated_resources->tasks["t"];
  task.cpu.cpu_shares = 100, task.memory.memory_mb = 10;
  if (number % 4 == 1) {
    model::AllocatedPort& port = alloc.allocated_resources->shared.ports.emplace_back();
    port.label = "http", port.value = static_cast<std::int64_t>(20'000 + number % 40), port.host_ip = "10.0.0.1";
  }
  if (number % 4 == 2) task.cpu.reserved_cores = {static_cast<std::uint16_t>(number % 16)};
  if (number % 4 == 3) task.devices.push_back({"nvidia", "gpu", "t4", {"gpu-" + std::to_string(number % 4)}});
  return alloc;
}

/// One random change of the state; together they write every column that views copy.
class RandomChanges {
 public:
  RandomChanges(StateStore& store, std::uint32_t seed) : store_(store), random_(seed) {
    for (std::uint64_t i = 0; i < 5; ++i) store_.begin_commit().upsert_node(gpu_node(i));
  }
  void step() {
    Commit commit = store_.begin_commit(store_.index() + 1);
    for (std::uint32_t changes = random_() % 4 + 1; changes > 0; --changes) change(commit);
  }

 private:
  void change(Commit& commit) {
    const Snapshot& state = commit.current();
    const auto allocs = static_cast<AllocRow>(state.allocs.size());
    const NodeRow node(random_() % state.nodes.size());
    const AllocRow row = allocs == 0 ? kNoRow : static_cast<AllocRow>(random_() % allocs);
    const bool exists = row != kNoRow && state.allocs.exists(row);
    switch (random_() % 10) {
      case 0:
        if (random_() % 4 == 0) commit.upsert_node(gpu_node(random_() % 300, random_() % 5));
        return;
      case 1:
        if (state.nodes.exists(node)) commit.set_node_state(node, NodeStatus::ready, random_() % 2 != 0, false);
        return;
      case 2: {
        model::SchedulerConfiguration config;
        config.preemption_config.batch_scheduler_enabled = random_() % 2 != 0;
        if (random_() % 8 == 0) commit.set_scheduler_config(config);
        return;
      }
      case 3:
      case 4:
        if (exists) commit.set_client_status(row, static_cast<Client>(random_() % 6));
        return;
      case 5:
        if (exists) commit.remove_alloc(row);  // including ended ones
        return;
      case 6:
        if (exists && state.allocs.cold[row]) {
          auto object = std::make_shared<model::Allocation>(commit.to_alloc(row));
          object->client_status = random_() % 2 != 0 ? "running" : "failed";
          object->allocated_resources->tasks["t"].cpu.cpu_shares = static_cast<std::int64_t>(random_() % 500);
          commit.replace_alloc(row, object);
        }
        return;
      case 7:
      case 8: {
        const auto job = random_() % 6 == 0 ? nullptr : job_of_priority(random_() % 9);
        commit.insert_alloc(any_holder(next_++, base::to_text(state.nodes.id(node)), job));
        return;
      }
      default: {
        PlainAlloc alloc;
        alloc.id = view_uuid(2, next_++), alloc.node = node;
        alloc.job = commit.upsert_job(job_of_priority(random_() % 9), true);
        commit.insert_plain(alloc);
      }
    }
  }
  StateStore& store_;
  std::mt19937 random_;
  std::uint64_t next_ = 0;
};

void expect_same(const WorkerView& view, const StateStore& store) {
  const Snapshot &own = view.state(), &now = store.current();
  for (const std::string& problem : view_differences(own, now)) ADD_FAILURE() << problem;
  EXPECT_EQ(own.index, now.index);
  EXPECT_EQ(own.nodes.epoch, now.nodes.epoch);
  EXPECT_EQ(own.allocs.size(), now.allocs.size());
  EXPECT_EQ(own.jobs.versions.size(), now.jobs.versions.size());
  for (const std::string& problem : check_tables(own)) ADD_FAILURE() << problem;
}

class WorkerViews : public ::testing::TestWithParam<bool> {};  // parameter: with a history, so that rows are reused

TEST_P(WorkerViews, EqualTheStateAfterAnyNumberOfCommits) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StateStore store;
    if (GetParam()) store.keep_history();
    RandomChanges changes(store, seed);
    WorkerView each, fourth, rarely;
    for (int step = 1; step <= 240; ++step) {
      changes.step();
      const std::pair<WorkerView*, int> all[] = {{&each, 1}, {&fourth, 4}, {&rarely, 50}};
      for (const auto& [view, every] : all) {
        if (step % every != 0) continue;
        if (step % (3 * every) == 0) view->keep();
        ASSERT_TRUE(store.bring_up(*view));
        expect_same(*view, store);
        if (step % 2 == 0) view->release();
      }
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(each.rows_copied(), 100U);
    for (const std::string& problem : check_tables(store)) ADD_FAILURE() << problem;
    EXPECT_EQ(store.use_chunks_copied(), 0U);
  }
}
INSTANTIATE_TEST_SUITE_P(Stores, WorkerViews, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "History" : "Plain"); });

TEST(WorkerView, CommitsCopyForSnapshotsAndNotForViews) {
  StateStore store;
  RandomChanges changes(store, 1);
  WorkerView view;
  for (int i = 0; i < 50; ++i) changes.step(), static_cast<void>(store.bring_up(view));
  EXPECT_EQ(store.use_chunks_copied(), 0U);
  const std::uint64_t columns = view.columns_copied();
  const SnapshotRef held = store.snapshot();
  for (int i = 0; i < 50; ++i) changes.step();
  EXPECT_GT(store.use_chunks_copied(), 0U);
  EXPECT_GE(view.columns_copied(), columns);
  for (const std::string& problem : check_tables(*held)) ADD_FAILURE() << problem;  // stays valid
}

TEST(WorkerView, CopiesEverythingIfItIsBehindTheLog) {
  StateStore store;
  const NodeRow node = store.begin_commit().upsert_node(gpu_node(1));
  const VersionRow job = store.upsert_job(job_of_priority(1), true);
  PlainAlloc alloc;
  alloc.id = view_uuid(2, 1), alloc.node = node, alloc.job = job;
  const AllocRow row = store.insert_plain(alloc, 1);
  WorkerView view;
  ASSERT_TRUE(store.bring_up(view));
  const std::uint64_t columns = view.columns_copied();
  for (std::uint64_t i = 0; i <= store.current().nodes.fixed->use_log->size(); ++i)
    store.set_client_status(row, i % 2 == 0 ? Client::complete : Client::running, 2 + i);
  ASSERT_TRUE(store.bring_up(view));
  expect_same(view, store);
  EXPECT_GT(view.columns_copied(), columns);
}

TEST(WorkerView, RefusesTooManyNodes) {
  StateStore store;
  RandomChanges changes(store, 1);
  WorkerView view;
  ASSERT_TRUE(store.bring_up(view, view_bytes(store.current().nodes)));
  EXPECT_FALSE(store.bring_up(view, view_bytes(store.current().nodes) - 1));
  EXPECT_EQ(view.state().nodes.size(), 0U);
  ASSERT_TRUE(store.bring_up(view));
  expect_same(view, store);
}

}  // namespace
}  // namespace berth::tables
